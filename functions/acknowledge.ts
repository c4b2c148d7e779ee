import { isSimulated, type Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { pluralize } from '../fencing/model/reason.ts';
import { faultLogLine, messageLine, queueFailureLine } from './decision-log.ts';
import { describeFault, isDryRun, onePerMachine, type LookAgain, type Message, type WorkItem } from './messages.ts';
import { logDecision, type Measurement, metricNames } from './metrics.ts';

/** Finishes messages: each is acknowledged, sent again with a delay, or moved to the dead-letter queue. */

/** A dead letter with its reason, so that people do not have to search the logs. */
export interface DeadLetter {
  readonly reason: string;
  readonly body: string;
}

export interface Queues {
  readonly again: (message: LookAgain, delaySeconds: number) => Promise<void>;
  readonly dead: (letter: DeadLetter) => Promise<void>;
  /**
   * Sets the number of seconds after which the queue delivers a failed message again. Absent if the platform counts
   * failures and delays messages itself.
   */
  readonly postpone?: (receipt: string, delaySeconds: number) => Promise<void>;
}

const FIRST_REDELIVERY_S = 5;
const LONGEST_REDELIVERY_S = 900;

/**
 * Returns the seconds until a message with this number of failures is delivered again: 5 s, doubled with each failure
 * up to 15 minutes. `chance` shortens it by up to a half, because many messages may fail at the same moment. Ten
 * failures take 18 to 36 minutes, so a short outage of the cloud or of a cluster creates no dead letters.
 */
export const redeliveryDelay = (failures: number, chance: number): number =>
  Math.ceil(Math.min(LONGEST_REDELIVERY_S, FIRST_REDELIVERY_S * 2 ** (failures - 1)) * (1 - chance / 2));

/**
 * Limits the reason (characters), because a queue rejects a message whose attribute is too long. The beginning of the
 * reason is sufficient.
 */
export const MAX_REASON_LENGTH = 1_000;

/** The reason of a dead letter that failed each time. */
export const reasonToGiveUp = (failures: number, why: string): string =>
  `the message failed ${pluralize(failures, 'time')}: ${why}`.slice(0, MAX_REASON_LENGTH);

/** Sends the dead letter. Returns false, and logs why, if the queue does not accept it. */
export const sendDeadLetter = async (
  letter: DeadLetter,
  { queues, log }: { readonly queues: Pick<Queues, 'dead'>; readonly log: (line: object) => void },
): Promise<boolean> => {
  try {
    await queues.dead(letter);
    return true;
  } catch (error) {
    log(queueFailureLine(error));
    return false;
  }
};

/** What `acknowledgeAll` uses to finish messages. */
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
 * Finishes each message with a log line, a later look, or a dead letter, all messages at the same time, because a run
 * may leave only a second. Returns the messages that must be delivered again, with the reason. For each machine, one
 * message of a batch is responsible (`onePerMachine`), so that only one more look is requested.
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
  const acknowledged = await Promise.all(messages.map((message) => acknowledge(message, outcomes, leading, outbox)));
  return messages
    .filter((_, at) => acknowledged[at] === false)
    .map((message) => ({ message, why: reasonToRetry(message, outcomes) }));
};

const reasonToRetry = ({ items }: Message, outcomes: readonly Outcome[]): string => {
  const failed = outcomes.find(
    ({ machine, outcome }) => outcome === 'failed' && items.some((item) => item.machine === machine),
  );
  return failed ? `${failed.reason.code}: ${failed.reason.says}` : 'a queue was not reachable';
};

/**
 * Returns false if the message must be delivered again, also if a queue is not reachable. A message causes at most one
 * dead letter, with all its reasons. While the message comes back, it causes neither a dead letter nor a later look:
 * each delivery would repeat them, and looks at all its machines anyway.
 */
const acknowledge = async (
  message: Message,
  outcomes: readonly Outcome[],
  leading: ReadonlySet<WorkItem>,
  outbox: Outbox,
): Promise<boolean> => {
  logUnread(message, outbox);
  const ends = message.items.map((item) => ({ item, end: endOf(item, outcomes, leading, outbox) }));
  if (ends.some(({ end }) => end === 'deliver-again')) return false;
  const failures = ends.flatMap(({ end }) => (typeof end === 'object' && 'failed' in end ? [end.failed] : []));
  const reasons = [...message.faults.map(describeFault), ...failures];
  try {
    await Promise.all(
      ends.flatMap(({ item, end }) =>
        typeof end === 'object' && 'waits' in end ? [lookAgainLater(end.waits, item, outbox)] : [],
      ),
    );
    if (reasons.length > 0) await outbox.queues.dead({ body: message.body, reason: joinReasons(reasons) });
    return true;
  } catch (error) {
    outbox.log(queueFailureLine(error));
    return false;
  }
};

const joinReasons = (reasons: readonly string[]): string =>
  [...new Set(reasons)].join('; ').slice(0, MAX_REASON_LENGTH);

const logUnread = ({ faults, ignored }: Message, { log, formatMeasurements }: Outbox): void => {
  for (const { what, where } of ignored) log(messageLine(logDecision.ignored, where, what, null));
  for (const fault of faults)
    log({
      ...faultLogLine(fault),
      ...formatMeasurements([{ name: metricNames.notUnderstood, value: 1, unit: 'Count' }]),
    });
};

/** How an item ends: handled, to be looked at later, failed for good, or to be delivered again with its message. */
type ItemEnd = 'done' | 'deliver-again' | { readonly waits: Outcome } | { readonly failed: string };

const endOf = (
  item: WorkItem,
  outcomes: readonly Outcome[],
  leading: ReadonlySet<WorkItem>,
  { policy }: Outbox,
): ItemEnd => {
  const outcome = outcomes.find(({ machine, dryRun }) => machine === item.machine && dryRun === isDryRun(item, policy));
  if (!outcome) return 'done';
  const failed = outcome.outcome === 'failed' && !wantsAnotherLook(outcome);
  if (failed && outcome.retry) return 'deliver-again';
  // Another message of this batch is responsible for the same machine.
  if (!leading.has(item)) return 'done';
  if (failed) return { failed: `${outcome.reason.code}: ${outcome.reason.says}` };
  return wantsAnotherLook(outcome) ? { waits: outcome } : 'done';
};

/**
 * Returns whether Cloudfence should look at the machine again soon. A machine that is only over the cap can be fenced
 * when another fence ends. The queue delivers it sooner than the sweep. A failure while Kubernetes still frees
 * something has its own count, because the queue's receive count would turn the message into a dead letter too early.
 */
const wantsAnotherLook = ({ outcome, reason, lookAgainIn }: Outcome): boolean =>
  outcome === 'waiting' || reason.code === 'cap-reached' || (outcome === 'failed' && lookAgainIn !== null);

/** After this many attempts, about ten minutes, the queue stops and the next sweep continues. */
export const MAX_ATTEMPTS = 12;

/** The longest delay that SQS supports. It is also long enough on the other clouds. */
const LONGEST_DELAY_S = 900;
const SHORTEST_DELAY_S = 2;
const GROWTH = 1.5;

/** Returns the seconds until the next look: at least the time that the run requested, and longer with each attempt. */
const delayFor = ({ lookAgainIn }: Pick<Outcome, 'lookAgainIn'>, attempts: number): number =>
  Math.min(
    LONGEST_DELAY_S,
    Math.max(Math.ceil((lookAgainIn ?? 0) / 1_000), Math.round(SHORTEST_DELAY_S * GROWTH ** attempts)),
  );

const nextLook = (
  outcome: Outcome,
  before: Pick<WorkItem, 'attempts' | 'event' | 'says' | 'eventAt' | 'dryRun'>,
): LookAgain => ({
  cloudfence: 'look-again',
  machine: outcome.machine,
  // The field keeps its old name, because messages may be in the queue during an upgrade.
  hops: before.attempts + 1,
  because: outcome.reason.code,
  event: before.event,
  says: before.says,
  eventAt: before.eventAt,
  record: outcome.record,
  dryRun: before.dryRun,
});

const lookAgainLater = async (outcome: Outcome, item: WorkItem, { queues, log }: Outbox): Promise<void> => {
  if (item.attempts >= MAX_ATTEMPTS) {
    log({
      ...messageLine(
        logDecision.handedToSweep,
        outcome.reason.code,
        `Cloudfence looked at the machine ${pluralize(item.attempts, 'time')}. The sweep continues with it`,
        outcome.machine,
      ),
      dryRun: isSimulated(outcome),
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
    dryRun: isSimulated(outcome),
  });
};
