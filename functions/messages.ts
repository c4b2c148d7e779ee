import { counted } from '../fencing/model/reason.ts';
import { isUtf8 } from 'node:buffer';
import { inspect } from 'node:util';
import { z } from 'zod';
import { CloudfenceError, asCloudfenceError } from '../fencing/model/errors.ts';
import type { IgnoredEvent, Fault, Hint, ParsedEvent } from '../fencing/model/hint.ts';
import { parseJsonOrNull } from '../fencing/model/json-text.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import { isImagined, type Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { fenceRecord } from '../fencing/model/record.ts';
import { faultLine, messageLine } from './decision-log.ts';
import { logDecision, type Measurement, metricNames } from './metrics.ts';

/** One machine that a message asks to look at. */
export interface WorkItem {
  readonly machine: MachineId;
  readonly event: string | null;
  /** When the event says that it happened (epoch ms). */
  readonly eventAt: number | null;
  /** How many times the item was sent again. */
  readonly attempts: number;
  readonly account: string | null;
  readonly region: string | null;
  /** Whether its message asks for a dry run. */
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

const workItemOf = ({ machine, eventId, time, account, region, dryRun }: Hint): WorkItem => ({
  machine,
  event: eventId,
  eventAt: time,
  attempts: 0,
  account,
  region,
  dryRun: dryRun === true,
});

/**
 * Reads the event. If the reader throws, only this message becomes a fault, so that one message cannot break the
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
          excerpt: '',
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
 * Returns one leading item for each machine and kind of run (dry or not): the item that was sent again least often, or
 * the first of equals.
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
  excerpt: '',
};

/**
 * Reads one of Cloudfence's own messages, or anything that the provider can read. The queue does not prove who wrote a
 * message, so an own message is a hint like any other, with a count. Input without a queue (its id is null) cannot be
 * an own message.
 */
export const parseMessage = (messageId: string | null, body: string, readEvent: () => ParsedEvent): Message => {
  if (messageId === null && isOwnMessage(body))
    return { messageId, body, items: [], faults: [ownMessageRejected], ignored: [] };
  const again = lookAgain.safeParse(parseJsonOrNull(body));
  const { hints, faults, ignored, dryRun: asked } = readOrFault(readEvent);
  if (again.success && asked !== 'unclear') {
    const { machine, event, eventAt, hops: attempts, dryRun } = again.data;
    return {
      messageId,
      body,
      items: [{ machine, event, eventAt, attempts, account: null, region: null, dryRun: dryRun || asked === 'wanted' }],
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
 * A work item that has to wait, sent to the queue again with a delay: the queue is the timer. It has its own count,
 * because the queue's receive count is for errors. It says only which machine to look at. The next look derives
 * everything else again, even if the Node is gone.
 */
const lookAgain = z
  .object({
    cloudfence: z.literal('look-again'),
    machine: z.string().min(1).max(LONGEST),
    /** How many times the item was sent again. */
    hops: z.int().min(1),
    because: z.string().max(LONGEST),
    event: z.string().max(LONGEST).nullable(),
    eventAt: z.number().nullable(),
    /**
     * Information for people who find the message in the dead-letter queue. No run trusts it, because anyone who can
     * write to the queue could have written it.
     */
    record: fenceRecord.nullable().catch(null),
    /** Whether it stays a dry run: an item that began as a dry run never becomes a real run. */
    dryRun: z.boolean().default(false),
  })
  .readonly();

export type LookAgain = z.infer<typeof lookAgain>;

/** After this many attempts, about ten minutes, the queue stops and the next sweep continues. */
export const MAX_ATTEMPTS = 12;

/** The longest delay that SQS supports. It is also long enough on the other clouds. */
const LONGEST_DELAY_S = 900;
const SHORTEST_DELAY_S = 2;
const GROWTH = 1.5;

/** Returns the seconds until the next look: at least what the run asked for, and longer with each attempt. */
const delayFor = ({ lookAgainIn }: Pick<Outcome, 'lookAgainIn'>, attempts: number): number =>
  Math.min(
    LONGEST_DELAY_S,
    Math.max(Math.ceil((lookAgainIn ?? 0) / 1_000), Math.round(SHORTEST_DELAY_S * GROWTH ** attempts)),
  );

const nextLook = (
  outcome: Outcome,
  before: Pick<WorkItem, 'attempts' | 'event' | 'eventAt' | 'dryRun'>,
): LookAgain => ({
  cloudfence: 'look-again',
  machine: outcome.machine,
  // The field keeps its old name, because messages can be in the queue during an upgrade.
  hops: before.attempts + 1,
  because: outcome.reason.code,
  event: before.event,
  eventAt: before.eventAt,
  record: outcome.record,
  dryRun: before.dryRun,
});

/** A dead message together with its reason, so that people do not have to search the logs. */
export interface DeadLetter {
  readonly reason: string;
  readonly body: string;
}

export interface Queues {
  readonly again: (message: LookAgain, delaySeconds: number) => Promise<void>;
  readonly dead: (letter: DeadLetter) => Promise<void>;
}

/**
 * Limits the reason (characters), because a queue rejects a message whose attribute is too long. The beginning of the
 * reason is enough.
 */
export const MAX_REASON_LENGTH = 1_000;

/** What `acknowledgeAll` uses to end messages. */
interface Outbox {
  readonly policy: Policy;
  readonly queues: Queues;
  readonly formatMeasurements: (measures: readonly Measurement[]) => object;
  readonly log: (line: object) => void;
}

export interface Unacknowledged<D extends Message> {
  readonly message: D;
  readonly why: string;
}

/**
 * Ends each message with a log line, a later look, or a dead letter. Returns the messages that must be delivered again,
 * and why. One message of a batch leads for each machine (`onePerMachine`), so that its next look is requested once.
 */
export const acknowledgeAll = async <D extends Message>(
  messages: readonly D[],
  outcomes: readonly Outcome[],
  outbox: Outbox,
): Promise<readonly Unacknowledged<D>[]> => {
  const leading = onePerMachine(
    messages.flatMap(({ items }) => items),
    outbox.policy,
  );
  const again: Unacknowledged<D>[] = [];
  for (const message of messages) {
    if (!(await isAcknowledged(message, outcomes, leading, outbox)))
      again.push({ message, why: whyOf(message, outcomes) });
  }
  return again;
};

const whyOf = ({ items }: Message, outcomes: readonly Outcome[]): string => {
  const failed = outcomes.find(
    ({ machine, outcome }) => outcome === 'failed' && items.some((item) => item.machine === machine),
  );
  return failed ? `${failed.reason.code}: ${failed.reason.says}` : 'a queue was not reachable';
};

/** Returns false if the message must be delivered again, also when a queue cannot be reached. */
const isAcknowledged = async (
  message: Message,
  outcomes: readonly Outcome[],
  leading: ReadonlySet<WorkItem>,
  outbox: Outbox,
): Promise<boolean> => {
  try {
    await buryFaults(message, outbox);
    const ends = await Promise.all(
      message.items.map((item) => acknowledgeItem(message, item, outcomes, leading, outbox)),
    );
    return ends.every(Boolean);
  } catch (error) {
    const why = error instanceof CloudfenceError ? error.message : String(error);
    outbox.log(messageLine('failed', 'queue', why, null));
    return false;
  }
};

const buryFaults = async (
  { faults, ignored, body }: Message,
  { queues, log, formatMeasurements }: Outbox,
): Promise<void> => {
  for (const { what, where } of ignored) log(messageLine(logDecision.aside, where, what, null));
  if (faults.length === 0) return;
  for (const fault of faults)
    log({ ...faultLine(fault), ...formatMeasurements([{ name: metricNames.notUnderstood, value: 1, unit: 'Count' }]) });
  await queues.dead({ body, reason: faults.map(describeFault).join('; ').slice(0, MAX_REASON_LENGTH) });
};

const acknowledgeItem = async (
  message: Message,
  item: WorkItem,
  outcomes: readonly Outcome[],
  leading: ReadonlySet<WorkItem>,
  outbox: Outbox,
): Promise<boolean> => {
  const outcome = outcomes.find(
    ({ machine, dryRun }) => machine === item.machine && dryRun === isDryRun(item, outbox.policy),
  );
  if (!outcome) return true;
  const failed = outcome.outcome === 'failed' && !wantsAnotherLook(outcome);
  if (failed && outcome.retry) return false;
  // Another message of this batch leads for the same machine.
  if (!leading.has(item)) return true;
  if (failed)
    await outbox.queues.dead({ body: message.body, reason: `${outcome.reason.code}: ${outcome.reason.says}` });
  if (wantsAnotherLook(outcome)) await lookAgainLater(outcome, item, outbox);
  return true;
};

/**
 * Reports whether Cloudfence looks at the machine again soon. A machine that is only over the cap is next when another
 * fence ends, and the queue gets there sooner than the sweep. A failure while Kubernetes still frees something is
 * counted here, because the queue's receive count would turn it into a dead letter too early.
 */
const wantsAnotherLook = ({ outcome, reason, lookAgainIn }: Outcome): boolean =>
  outcome === 'waiting' || reason.code === 'cap-reached' || (outcome === 'failed' && lookAgainIn !== null);

const lookAgainLater = async (outcome: Outcome, item: WorkItem, { queues, log }: Outbox): Promise<void> => {
  if (item.attempts >= MAX_ATTEMPTS) {
    log({
      ...messageLine(
        logDecision.handedToSweep,
        outcome.reason.code,
        `Cloudfence looked at the machine ${counted(item.attempts, 'time')}. The sweep continues with it`,
        outcome.machine,
      ),
      dryRun: isImagined(outcome),
    });
    return;
  }
  const seconds = delayFor(outcome, item.attempts);
  await queues.again(nextLook(outcome, item), seconds);
  log({
    ...messageLine(
      logDecision.lookAgain,
      outcome.reason.code,
      `Cloudfence looks again in ${seconds} s`,
      outcome.machine,
    ),
    dryRun: isImagined(outcome),
  });
};

const SHOWN = 8;

/** Returns the bytes as UTF-8 text, or as base64 if they are not text, such as a zip. Readers understand both. */
const textOfBytes = (bytes: Uint8Array): string => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? buffer.toString('utf8') : buffer.toString('base64');
};

/**
 * Returns the text that the input was before a platform parsed it. Values that are nested too deeply to serialize are
 * cut off, because no reader could use them.
 */
export const bodyText = (body: unknown): string => {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return textOfBytes(body);
  try {
    return JSON.stringify(body) ?? '';
  } catch (error) {
    if (error instanceof RangeError) return inspect(body, { depth: SHOWN });
    throw error;
  }
};
