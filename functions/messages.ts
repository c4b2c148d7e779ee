import { isUtf8 } from 'node:buffer';
import { inspect } from 'node:util';
import { z } from 'zod';
import { maxLength, minLength } from '../fencing/model/foreign-text.ts';
import { asCloudfenceError } from '../fencing/model/errors.ts';
import type { IgnoredEvent, Fault, Hint, ParsedEvent } from '../fencing/model/cloud.ts';
import type { Clock } from '../fencing/loop/ports.ts';
import { jsonOrNull, parseJsonOrNull } from '../fencing/model/json-text.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { fenceRecord } from '../fencing/model/record.ts';
import type { ObjectStore } from '../incidents/store.ts';
import { TEST_DETAIL_TYPE, TEST_SOURCE } from '../providers/plugin.ts';
import { messageLine } from './decision-log.ts';
import { logDecision } from './metrics.ts';

/**
 * Reads the machines in a message, as one work item each, or the reason why the message cannot be read. Also confirms
 * the doctor's test events, which name no machine.
 */

/** One machine that a message names. */
export interface WorkItem {
  readonly machine: MachineId;
  readonly event: string | null;
  /** The content of the event, such as `state-change-stopped`. Null if it is no longer known. */
  readonly says: string | null;
  /** When the event says that it happened (epoch ms). */
  readonly eventAt: number | null;
  /** How many times the item was sent again. */
  readonly attempts: number;
  readonly account: string | null;
  readonly region: string | null;
  /** Whether its message requests a dry run. */
  readonly dryRun: boolean;
}

/** A message from a queue, or an event that arrived without one. */
export interface Message {
  /** Null if there is no queue that could deliver it again. */
  readonly messageId: string | null;
  readonly body: string;
  readonly items: readonly WorkItem[];
  readonly faults: readonly Fault[];
  readonly ignored: readonly IgnoredEvent[];
}

const workItemOf = ({ machine, eventId, because, time, account, region, dryRun }: Hint): WorkItem => ({
  machine,
  event: eventId,
  says: because,
  eventAt: time,
  attempts: 0,
  account,
  region,
  dryRun: dryRun === true,
});

/**
 * Reads the event. If the reader throws, only this message becomes a fault, so that one message cannot affect the
 * others.
 */
const readOrFault = (readEvent: () => ParsedEvent): ParsedEvent => {
  try {
    return readEvent();
  } catch (caught) {
    const { message } = asCloudfenceError(caught);
    return {
      hints: [],
      faults: [
        {
          what: message,
          where: '$',
          remedy: 'report this bug of Cloudfence together with the message; the sender is not the cause',
        },
      ],
      ignored: [],
      dryRun: 'unclear',
    };
  }
};

/** Reports whether the item runs dry, because its message or the whole request asks for it. */
export const isDryRun = ({ dryRun }: Pick<WorkItem, 'dryRun'>, policy: Pick<Policy, 'dryRun'>): boolean =>
  policy.dryRun || dryRun;

const keyOf = (item: WorkItem, policy: Policy): string => `${item.machine} ${isDryRun(item, policy)}`;

/**
 * For each machine and kind of run (dry or not), returns the item that was sent again least often, or the first of
 * several.
 */
export const onePerMachine = (items: readonly WorkItem[], policy: Policy): ReadonlySet<WorkItem> => {
  const leading = new Map<string, WorkItem>();
  for (const item of items) {
    const before = leading.get(keyOf(item, policy));
    if (!before || item.attempts < before.attempts) leading.set(keyOf(item, policy), item);
  }
  return new Set(leading.values());
};

/** Cloudfence's own messages have this key, whatever else they contain. */
const ownMessage = z.looseObject({ cloudfence: z.unknown() });

export const isOwnMessage = (body: string): boolean => {
  const read = ownMessage.safeParse(parseJsonOrNull(body));
  return read.success && 'cloudfence' in read.data;
};

export const ownMessageRejected: Fault = {
  what: 'this is an internal message of Cloudfence, which is valid only in its own queue',
  where: '$.cloudfence',
  remedy: 'send the event, or name the machine',
};

/**
 * Reads one of Cloudfence's own messages, or anything that the provider can read. The queue does not prove who wrote a
 * message, so a message of Cloudfence's own is only a hint with a count. Input without a queue (its id is null) cannot
 * be one of Cloudfence's own messages.
 */
export const parseMessage = (messageId: string | null, body: string, readEvent: () => ParsedEvent): Message => {
  if (messageId === null && isOwnMessage(body))
    return { messageId, body, items: [], faults: [ownMessageRejected], ignored: [] };
  const again = lookAgain.safeParse(parseJsonOrNull(body));
  const { hints, faults, ignored, dryRun: asked } = readOrFault(readEvent);
  if (again.success && asked !== 'unclear') {
    const { machine, event, says, eventAt, hops: attempts, dryRun } = again.data;
    return {
      messageId,
      body,
      items: [
        { machine, event, says, eventAt, attempts, account: null, region: null, dryRun: dryRun || asked === 'wanted' },
      ],
      faults: [],
      ignored: [],
    };
  }
  return { messageId, body, items: hints.map(workItemOf), faults, ignored };
};

export const describeFault = ({ what, where, remedy }: Fault): string => `${what} (at ${where}): ${remedy}`;

/** Longer than any id of Cloudfence or of a cloud (characters). */
const LONGEST = 1_000;

/**
 * A waiting work item, which is sent to the queue again with a delay. The queue serves as the timer. It has its own
 * count, because the queue's receive count is for errors. It only contains the machine to look at. The next look
 * derives everything else again, even if the Node is gone.
 */
const lookAgain = z
  .object({
    cloudfence: z.literal('look-again'),
    machine: z.string().check(minLength(1), maxLength(LONGEST)),
    /** How many times the item was sent again. */
    hops: z.int().min(1),
    because: z.string().check(maxLength(LONGEST)),
    event: z.string().check(maxLength(LONGEST)).nullable(),
    says: z.string().check(maxLength(LONGEST)).nullable().default(null),
    eventAt: z.number().nullable(),
    /**
     * Information for people who find the message in the dead-letter queue. No run uses it, because anyone who can
     * write to the queue could have written it.
     */
    record: fenceRecord.nullable().catch(null),
    /** Whether it stays a dry run: an item that began as a dry run never becomes a real run. */
    dryRun: z.boolean().default(false),
  })
  .readonly();

export type LookAgain = z.infer<typeof lookAgain>;

const MOST_LEVELS = 8;

/** Returns the bytes as UTF-8 text, or as base64 if they are not text, such as a zip. Readers understand both. */
const textOfBytes = (bytes: Uint8Array): string => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? buffer.toString('utf8') : buffer.toString('base64');
};

/**
 * Returns the text of the input before a platform parsed it. Values that are nested too deeply to serialize are cut
 * off, because no reader could use them.
 */
export const bodyText = (body: unknown): string => {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return textOfBytes(body);
  return jsonOrNull(body) ?? inspect(body, { depth: MOST_LEVELS });
};

/** What the doctor sends through the deployed chain. */
const testEvent = z.object({ cloudfence: z.literal('test-event'), id: z.string().regex(/^[\w-]{1,64}$/) });
/**
 * An event on an EventBridge bus. Only AWS can put events of `aws.` on the bus. Anyone who may put events in the
 * account can use this format. So a malformed event of this kind does not indicate a fault of the chain.
 */
const eventBridgeForm = z
  .object({ source: z.literal(TEST_SOURCE), 'detail-type': z.literal(TEST_DETAIL_TYPE), detail: z.unknown() })
  .transform(({ detail }) => ({ id: testEvent.safeParse(detail).data?.id ?? null }));
const testEventInAnyForm = z.union([testEvent, eventBridgeForm]);

/** A test event. `id` is null if it is malformed. */
interface ReceivedTestEvent {
  readonly id: string | null;
}

/** Returns the test event that came through a queue, or null. Without a queue, it proves nothing. */
const testEventIn = ({ messageId, body }: Pick<Message, 'messageId' | 'body'>): ReceivedTestEvent | null =>
  testEventInAnyForm.safeParse(messageId === null ? null : parseJsonOrNull(body)).data ?? null;

/** Returns the name of the object that shows the arrival of a test event. */
export const testEventObject = (id: string): string => `test-events/${id}.json`;

/** The time limit for writing the confirmation (ms). */
const CONFIRMING_LASTS_MS = 2_000;

interface ConfirmDependencies {
  /** Absent where an install keeps no incidents. */
  readonly incidents?: { readonly objects: Pick<ObjectStore, 'write'> };
  readonly ports: { readonly clock: Pick<Clock, 'now' | 'timeout'> };
  readonly log: (line: object) => void;
}

/** If the confirmation cannot be written, this is logged. The doctor then reports that it saw none. */
const confirm = async (
  { id }: ReceivedTestEvent,
  { incidents, ports: { clock }, log }: ConfirmDependencies,
): Promise<void> => {
  if (id === null) {
    log(messageLine(logDecision.testEvent, 'ignored', `a ${TEST_DETAIL_TYPE} has no valid id`, null));
    return;
  }
  const { wall: receivedAt } = clock.now();
  try {
    const text = `${JSON.stringify({ id, receivedAt })}\n`;
    await incidents?.objects.write(testEventObject(id), text, null, clock.timeout(CONFIRMING_LASTS_MS));
    log(messageLine(logDecision.testEvent, 'received', `the test event ${id} of the doctor arrived`, null));
  } catch (caught) {
    log(messageLine('failed', 'test-event', `${id}: ${asCloudfenceError(caught).message}`, null));
  }
};

/**
 * Removes the test events from a batch, confirms them, and processes the other messages. The processing does not wait
 * for the confirmation, but the process must not end before it.
 */
export const confirmTestEvents = async <M extends Pick<Message, 'messageId' | 'body'>, T>(
  messages: readonly M[],
  dependencies: ConfirmDependencies,
  work: (others: readonly M[]) => Promise<T>,
): Promise<T> => {
  const parsed = messages.map((message) => ({ message, arrival: testEventIn(message) }));
  const confirmed = Promise.all(parsed.flatMap(({ arrival }) => (arrival ? [confirm(arrival, dependencies)] : [])));
  try {
    return await work(parsed.flatMap(({ message, arrival }) => (arrival ? [] : [message])));
  } finally {
    await confirmed;
  }
};
