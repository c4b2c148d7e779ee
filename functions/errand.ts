import { z } from 'zod';
import type { Aside, Fault, Hint, Reading } from '../fencing/hint.ts';
import { inHierarchy } from '../fencing/errors.ts';
import type { MachineId } from '../fencing/machine.ts';
import type { Policy } from '../fencing/policy.ts';
import { jsonIn } from '../fencing/json-text.ts';
import { lookAgain } from './look-again.ts';

/** One machine that a message wants looked at. */
export interface Errand {
  readonly machine: MachineId;
  readonly event: string | null;
  /** When the event says that it happened (epoch ms). */
  readonly eventAt: number | null;
  /** How often it was sent again. */
  readonly hops: number;
  readonly account: string | null;
  readonly region: string | null;
  /** Its message wants a dry run. */
  readonly dryRun: boolean;
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

const errandOf = ({ machine, eventId, time, account, region, dryRun }: Hint): Errand => ({ machine, event: eventId, eventAt: time, hops: 0, account, region, dryRun: dryRun === true });

/** A reader that breaks over one message breaks over nothing else: the message is one that cannot be read. */
const readOrFault = (readEvent: () => Reading): Reading => {
  try {
    return readEvent();
  } catch (caught) {
    const { message } = inHierarchy(caught);
    return { hints: [], faults: [{ what: message, where: '$', mend: 'the reader is at fault, not the sender: report it with this message', excerpt: '' }], asides: [], dryRun: 'unclear' };
  }
};

/** A dry run, be it that its message wants one or that nothing else is done here. */
export const isDry = ({ dryRun }: Pick<Errand, 'dryRun'>, policy: Pick<Policy, 'dryRun'>): boolean => policy.dryRun || dryRun;

const keyOf = (errand: Errand, policy: Policy): string => `${errand.machine} ${isDry(errand, policy)}`;

/** Of several errands about one machine the one that speaks for all, for dry runs and in earnest: the one that was sent again least often, of equals the first. */
export const leadingErrands = (errands: readonly Errand[], policy: Policy): ReadonlySet<Errand> => {
  const leading = new Map<string, Errand>();
  for (const errand of errands) {
    const before = leading.get(keyOf(errand, policy));
    if (!before || errand.hops < before.hops) leading.set(keyOf(errand, policy), errand);
  }
  return new Set(leading.values());
};

/** A message of our own has this key, whatever else it says. */
const ownMessage = z.looseObject({ cloudfence: z.unknown() });

export const isOwnMessage = (body: string): boolean => {
  const read = ownMessage.safeParse(jsonIn(body));
  return read.success && 'cloudfence' in read.data;
};

export const notByThisDoor: Fault = {
  what: "this is a message of Cloudfence's own, and those come by its own queue only",
  where: '$.cloudfence',
  mend: 'send the event, or name the machine',
  excerpt: '',
};

/**
 * A message of our own, or anything that the provider can read. Nobody vouches for who wrote it into the queue: one of our own
 * is a hint like any other, with a count. Without a queue (null for its id) there is none of our own.
 */
export const deliveryOf = (messageId: string | null, body: string, readEvent: () => Reading): Delivery => {
  if (messageId === null && isOwnMessage(body)) return { messageId, body, errands: [], faults: [notByThisDoor], asides: [] };
  const again = lookAgain.safeParse(jsonIn(body));
  const { hints, faults, asides, dryRun: wish } = readOrFault(readEvent);
  if (again.success && wish !== 'unclear') {
    const { machine, event, eventAt, hops, dryRun } = again.data;
    return { messageId, body, errands: [{ machine, event, eventAt, hops, account: null, region: null, dryRun: dryRun || wish === 'wanted' }], faults: [], asides: [] };
  }
  return { messageId, body, errands: hints.map(errandOf), faults, asides };
};

export const inWords = ({ what, where, mend }: Fault): string => `${what} (at ${where}): ${mend}`;
