import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../fencing/loop/ending.ts';
import type { Outcome, OutcomeKind } from '../../fencing/model/outcome.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { because } from '../../fencing/model/reason.ts';
import { acknowledgeAll, type DeadLetter } from '../../functions/acknowledge.ts';
import type { LookAgain, Message, WorkItem } from '../../functions/messages.ts';
import { begun } from '../fencing/ports.ts';
import { NOW } from '../fencing/view-builder.ts';
import { openCalls } from '../open-calls.ts';

/** A message ends only when each of its machines has ended. */

const item = (machine: string, dryRun = false): WorkItem => ({
  machine,
  event: null,
  says: null,
  eventAt: null,
  attempts: 0,
  account: null,
  region: null,
  dryRun,
});

const message = (messageId: string, ...items: readonly WorkItem[]): Message => ({
  messageId,
  body: messageId,
  items,
  faults: [],
  ignored: [],
});

const end = (machine: string, outcome: OutcomeKind, dryRun = false): Outcome => {
  const ending = { outcome, reason: because('unavailable', 'x'), lookAgainIn: null, retry: true };
  const now = { wall: NOW, mono: 0 };
  return { ...outcomeOf({ ...begun(), ending }, now), machine, dryRun };
};

const acknowledged = async (messages: readonly Message[], outcomes: readonly Outcome[]) => {
  const [sentAgain, delays, dead]: [LookAgain[], number[], DeadLetter[]] = [[], [], []];
  const calls = openCalls();
  const accept = (): Promise<void> => calls.during(nextTurn);
  const queues = {
    again: async (look: LookAgain, delay: number) => {
      await accept();
      sentAgain.push(look);
      delays.push(delay);
    },
    dead: async (letter: DeadLetter) => accept().then(() => void dead.push(letter)),
  };
  const outbox = { policy: defaultPolicy, queues, formatMeasurements: () => ({}), log: () => undefined };
  const again = await acknowledgeAll(messages, outcomes, outbox);
  return { again: again.map((one) => one.message.messageId), sentAgain, delays, dead, most: calls.most() };
};

describe('a message', () => {
  it.each([
    ['the first', end('m-1', 'failed'), end('m-2', 'fenced')],
    ['the last', end('m-1', 'fenced'), end('m-2', 'failed')],
  ])('comes back if %s of its machines failed, although the other one is done', async (_, one, other) => {
    const { again, dead } = await acknowledged([message('both', item('m-1'), item('m-2'))], [one, other]);
    expect([again, dead]).toEqual([['both'], []]);
  });

  it('requests no look at a machine that waits if it comes back itself, because that includes a look', async () => {
    const both = message('both', item('m-1'), item('m-2'));
    const { again, sentAgain } = await acknowledged([both], [end('m-1', 'failed'), end('m-2', 'waiting')]);
    expect([again, sentAgain]).toEqual([['both'], []]);
  });

  it('requests a look at each machine that waits if none failed', async () => {
    const both = message('both', item('m-1'), item('m-2'), item('m-3'));
    const ends = [end('m-1', 'fenced'), end('m-2', 'waiting'), end('m-3', 'waiting')];
    const { again, sentAgain } = await acknowledged([both], ends);
    expect([again, sentAgain.map(({ machine }) => machine)]).toEqual([[], ['m-2', 'm-3']]);
  });

  it('is not delayed for longer than SQS can delay a message, however long the run wants to wait', async () => {
    const hour = { ...end('m-1', 'waiting'), lookAgainIn: 3_600_000 };
    const { delays } = await acknowledged([message('one', item('m-1'))], [hour]);
    expect(delays).toEqual([900]);
  });

  it('is not ended by a dry run of its machine, and does not end one', async () => {
    const messages = [message('dry', item('m-1', true)), message('real', item('m-1'))];
    const [dry, real] = [end('m-1', 'would-fence', true), end('m-1', 'failed')];
    expect((await acknowledged(messages, [dry, real])).again).toEqual(['real']);
    expect((await acknowledged(messages, [real, dry])).again).toEqual(['real']);
    const [failedDry, fenced] = [end('m-1', 'failed', true), end('m-1', 'fenced')];
    expect((await acknowledged(messages, [failedDry, fenced])).again).toEqual(['dry']);
  });
});

it('the messages of a batch are finished at the same time, because a run may have left little time', async () => {
  const machines = Array.from({ length: 10 }, (_, at) => `m-${at}`);
  const { most, again, sentAgain } = await acknowledged(
    machines.map((machine) => message(machine, item(machine))),
    machines.map((machine) => end(machine, machine === 'm-4' ? 'failed' : 'waiting')),
  );
  expect([most, again, sentAgain.length]).toEqual([9, ['m-4'], 9]);
});
