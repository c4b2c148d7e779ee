import { isUtf8 } from 'node:buffer';
import { inspect } from 'node:util';
import { z } from 'zod';
import { CloudfenceError, inHierarchy } from '../fencing/model/errors.ts';
import type { IgnoredEvent, Fault, Hint, ParsedEvent } from '../fencing/model/hint.ts';
import { jsonIn } from '../fencing/model/json-text.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { fenceRecord } from '../fencing/model/record.ts';
import { faultLine, messageLine } from './decision-log.ts';
import { decision, type Measured, metric } from './metrics.ts';

/** One machine that a message wants looked at. */
export interface WorkItem {
  readonly machine: MachineId;
  readonly event: string | null;
  /** When the event says that it happened (epoch ms). */
  readonly eventAt: number | null;
  /** How often it was sent again. */
  readonly attempts: number;
  readonly account: string | null;
  readonly region: string | null;
  /** Its message wants a dry run. */
  readonly dryRun: boolean;
}

/** A message of a queue, or an event that came without one. */
export interface Message {
  /** Null when there is no queue to give it back to. */
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

/** A reader that breaks over one message breaks over nothing else: the message is one that cannot be read. */
const readOrFault = (readEvent: () => ParsedEvent): ParsedEvent => {
  try {
    return readEvent();
  } catch (caught) {
    const { message } = inHierarchy(caught);
    return {
      hints: [],
      faults: [
        {
          what: message,
          where: '$',
          remedy: 'the reader is at fault, not the sender: report it with this message',
          excerpt: '',
        },
      ],
      ignored: [],
      dryRun: 'unclear',
    };
  }
};

/** A dry run, be it that its message wants one or that nothing else is done here. */
export const isDry = ({ dryRun }: Pick<WorkItem, 'dryRun'>, policy: Pick<Policy, 'dryRun'>): boolean =>
  policy.dryRun || dryRun;

const keyOf = (item: WorkItem, policy: Policy): string => `${item.machine} ${isDry(item, policy)}`;

/**
 * Of several items about one machine the one that speaks for all, for dry runs and in earnest: the one that was sent
 * again least often, of equals the first.
 */
export const leadingItems = (items: readonly WorkItem[], policy: Policy): ReadonlySet<WorkItem> => {
  const leading = new Map<string, WorkItem>();
  for (const item of items) {
    const before = leading.get(keyOf(item, policy));
    if (!before || item.attempts < before.attempts) leading.set(keyOf(item, policy), item);
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
  remedy: 'send the event, or name the machine',
  excerpt: '',
};

/**
 * A message of our own, or anything that the provider can read. Nobody vouches for who wrote it into the queue: one of
 * our own is a hint like any other, with a count. Without a queue (null for its id) there is none of our own.
 */
export const parseMessage = (messageId: string | null, body: string, readEvent: () => ParsedEvent): Message => {
  if (messageId === null && isOwnMessage(body))
    return { messageId, body, items: [], faults: [notByThisDoor], ignored: [] };
  const again = lookAgain.safeParse(jsonIn(body));
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

/** More than any id of ours or of a cloud's (characters). */
const LONGEST = 1_000;

/**
 * The queue is the timer: what has to wait is sent again, with a count of its own, because a queue's receive count is
 * for errors. It says nothing but which machine to look at: what is done there is derived anew, also below a Node that
 * is gone.
 */
const lookAgain = z
  .object({
    cloudfence: z.literal('look-again'),
    machine: z.string().min(1).max(LONGEST),
    /** How often it was sent again. */
    hops: z.int().min(1),
    because: z.string().max(LONGEST),
    event: z.string().max(LONGEST).nullable(),
    eventAt: z.number().nullable(),
    /**
     * For people who find it among the dead letters. No run believes it: whoever can write to the queue could have
     * written it.
     */
    record: fenceRecord.nullable().catch(null),
    /** What wanted a dry run wants one to the end. */
    dryRun: z.boolean().default(false),
  })
  .readonly();

export type LookAgain = z.infer<typeof lookAgain>;

/** After so many hops, about ten minutes, the sweep is the timer. */
export const MOST_ATTEMPTS = 12;

/** What SQS can hold a message back for; elsewhere it is long enough as well. */
const LONGEST_DELAY_S = 900;
const SHORTEST_DELAY_S = 2;
const GROWTH = 1.5;

/** Seconds until the next look: what the run asked for, and longer with each attempt. */
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
  // Messages are in flight during an upgrade: the field keeps its name.
  hops: before.attempts + 1,
  because: outcome.reason.code,
  event: before.event,
  eventAt: before.eventAt,
  record: outcome.record,
  dryRun: before.dryRun,
});

/** Why a message is dead, beside the message itself: nobody has to search the logs for it. */
export interface DeadLetter {
  readonly reason: string;
  readonly body: string;
}

export interface Queues {
  readonly again: (message: LookAgain, delaySeconds: number) => Promise<void>;
  readonly dead: (letter: DeadLetter) => Promise<void>;
}

/** Queues refuse an attribute that is too long together with its message; the reason's beginning is enough. */
export const LONGEST_REASON = 1_000;

/** Where the ends of messages go. */
interface Outbox {
  readonly policy: Policy;
  readonly queues: Queues;
  readonly measured: (measures: readonly Measured[]) => object;
  readonly log: (line: object) => void;
}

export interface Unacknowledged<D extends Message> {
  readonly message: D;
  readonly why: string;
}

/**
 * Ends each message: with a log line, another look later, or a dead letter. Returns those that have to come again, and
 * why. One message of a batch speaks for each machine (`leadingItems`), so that its next look is ordered once.
 */
export const acknowledgeAll = async <D extends Message>(
  messages: readonly D[],
  outcomes: readonly Outcome[],
  outbox: Outbox,
): Promise<readonly Unacknowledged<D>[]> => {
  const leading = leadingItems(
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
  return failed ? `${failed.reason.code}: ${failed.reason.says}` : 'a queue could not be reached';
};

/** False when the message has to come again. A queue that cannot be reached is a reason to come again. */
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

const buryFaults = async ({ faults, ignored, body }: Message, { queues, log, measured }: Outbox): Promise<void> => {
  for (const { what, where } of ignored) log(messageLine(decision.aside, where, what, null));
  if (faults.length === 0) return;
  for (const fault of faults)
    log({ ...faultLine(fault), ...measured([{ name: metric.notUnderstood, value: 1, unit: 'Count' }]) });
  await queues.dead({ body, reason: faults.map(describeFault).join('; ').slice(0, LONGEST_REASON) });
};

const acknowledgeItem = async (
  message: Message,
  item: WorkItem,
  outcomes: readonly Outcome[],
  leading: ReadonlySet<WorkItem>,
  outbox: Outbox,
): Promise<boolean> => {
  const outcome = outcomes.find(
    ({ machine, dryRun }) => machine === item.machine && dryRun === isDry(item, outbox.policy),
  );
  if (!outcome) return true;
  const failed = outcome.outcome === 'failed' && !wantsAnotherLook(outcome);
  if (failed && outcome.retry) return false;
  // Another message of this batch speaks for the same machine.
  if (!leading.has(item)) return true;
  if (failed)
    await outbox.queues.dead({ body: message.body, reason: `${outcome.reason.code}: ${outcome.reason.says}` });
  if (wantsAnotherLook(outcome)) await lookAgainLater(outcome, item, outbox);
  return true;
};

/**
 * A machine that is only over the cap is next when another fence is finished: the queue is sooner there than the sweep.
 * What failed while Kubernetes still frees something comes again by our own count: a queue's would call it dead too
 * early.
 */
const wantsAnotherLook = ({ outcome, reason, lookAgainIn }: Outcome): boolean =>
  outcome === 'waiting' || reason.code === 'cap-reached' || (outcome === 'failed' && lookAgainIn !== null);

const lookAgainLater = async (outcome: Outcome, item: WorkItem, { queues, log }: Outbox): Promise<void> => {
  if (item.attempts >= MOST_ATTEMPTS) {
    log({
      ...messageLine(
        decision.handedToSweep,
        outcome.reason.code,
        `looked at ${item.attempts} times; the sweep goes on`,
        outcome.machine,
      ),
      dryRun: outcome.dryRun,
    });
    return;
  }
  const seconds = delayFor(outcome, item.attempts);
  await queues.again(nextLook(outcome, item), seconds);
  log({
    ...messageLine(decision.lookAgain, outcome.reason.code, `in ${seconds} s`, outcome.machine),
    dryRun: outcome.dryRun,
  });
};

const SHOWN = 8;

/** Bytes that are no text, such as a zip, are written as readers understand them as well. */
const textOfBytes = (bytes: Uint8Array): string => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? buffer.toString('utf8') : buffer.toString('base64');
};

/**
 * What came, as the text that it was before a platform parsed it. What is nested too deep to be written is cut off:
 * nobody could read it either.
 */
export const textOf = (body: unknown): string => {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return textOfBytes(body);
  try {
    return JSON.stringify(body) ?? '';
  } catch (error) {
    if (error instanceof RangeError) return inspect(body, { depth: SHOWN });
    throw error;
  }
};
