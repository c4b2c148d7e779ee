import type { Aside, Fault, Hint, Reading } from '../fencing/hint.ts';
import { inHierarchy } from '../fencing/errors.ts';
import type { MachineId } from '../fencing/machine.ts';
import type { FenceRecord } from '../fencing/record.ts';
import { jsonIn } from '../fencing/json-text.ts';
import { lookAgain } from './look-again.ts';

/** One machine that a message wants looked at. */
export interface Errand {
  readonly machine: MachineId;
  readonly event: string | null;
  /** When the event says that it happened (epoch ms). */
  readonly eventAt: number | null;
  readonly hops: number;
  readonly record: FenceRecord | null;
  readonly account: string | null;
  readonly region: string | null;
}

/** One delivery: a message of a queue, or an event that came without one. */
export interface Delivery {
  /** Null when there is no queue to give it back to. */
  readonly messageId: string | null;
  readonly body: string;
  readonly errands: readonly Errand[];
  readonly faults: readonly Fault[];
  readonly asides: readonly Aside[];
}

const errandOf = ({ machine, eventId, time, account, region }: Hint): Errand => ({ machine, event: eventId, eventAt: time, hops: 0, record: null, account, region });

/** A reader that breaks over one message breaks over nothing else: the message is one that cannot be read. */
const readOrFault = (readEvent: () => Reading): Reading => {
  try {
    return readEvent();
  } catch (caught) {
    const { message } = inHierarchy(caught);
    return { hints: [], faults: [{ what: message, where: '$', mend: 'the reader is at fault, not the sender: report it with this message', excerpt: '' }], asides: [] };
  }
};

/** A message of our own, or anything that the provider can read. */
export const deliveryOf = (messageId: string | null, body: string, readEvent: () => Reading): Delivery => {
  const again = lookAgain.safeParse(jsonIn(body));
  if (again.success) {
    const { machine, event, eventAt, hops, record } = again.data;
    return { messageId, body, errands: [{ machine, event, eventAt, hops, record, account: null, region: null }], faults: [], asides: [] };
  }
  const { hints, faults, asides } = readOrFault(readEvent);
  return { messageId, body, errands: hints.map(errandOf), faults, asides };
};
