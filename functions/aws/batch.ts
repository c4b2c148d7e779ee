import { z } from 'zod';
import type { Aside, Fault, Hint } from '../../fencing/hint.ts';
import type { MachineId } from '../../fencing/machine.ts';
import type { FenceRecord } from '../../fencing/record.ts';
import { readHints } from '../../providers/aws/events/read-hints.ts';
import { jsonIn } from '../../wiring/json-in.ts';
import { lookAgain } from './look-again.ts';

/** https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html: body and messageId are all that is needed of a record. */
const sqsRecord = z.looseObject({ messageId: z.string(), body: z.string() });
const sqsBatch = z.object({ Records: z.array(sqsRecord).min(1) });

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

/** One delivery: an SQS record, or an event that came without a queue. */
export interface Delivery {
  /** Null when there is no queue to give it back to. */
  readonly messageId: string | null;
  readonly body: string;
  readonly errands: readonly Errand[];
  readonly faults: readonly Fault[];
  readonly asides: readonly Aside[];
}

const errandOf = ({ machine, eventId, time, account, region }: Hint): Errand => ({ machine, event: eventId, eventAt: time, hops: 0, record: null, account, region });

/** A message of our own, or anything that the provider can read. */
const read = (messageId: string | null, body: string, raw: unknown): Delivery => {
  const again = lookAgain.safeParse(jsonIn(body));
  if (again.success) {
    const { machine, event, eventAt, hops, record } = again.data;
    return { messageId, body, errands: [{ machine, event, eventAt, hops, record, account: null, region: null }], faults: [], asides: [] };
  }
  const { hints, faults, asides } = readHints(raw);
  return { messageId, body, errands: hints.map(errandOf), faults, asides };
};

export const deliveriesIn = (event: unknown): readonly Delivery[] => {
  const batch = sqsBatch.safeParse(event);
  if (!batch.success) return [read(null, JSON.stringify(event) ?? '', event)];
  return batch.data.Records.map((record) => read(record.messageId, record.body, record));
};
