import { ProofExpired, type Refused, Unavailable } from '../../fencing/model/errors.ts';
import type { ClusterFacts, NodeFacts } from '../../fencing/model/cluster-facts.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import { patience, type Policy } from '../../fencing/model/policy.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { nextCommand, type Command } from '../../fencing/loop/next-command.ts';
import { reduce, type CommandResult } from '../../fencing/loop/reduce.ts';
import { startRun, type Observation, type RunState } from '../../fencing/loop/state.ts';
import { identityRules, MACHINE, NODE } from './facts.ts';
import { afterTime, LONG_AGO, NOW, TICK_MS } from './time.ts';

/** A run of Cloudfence between two of its calls, as the shipped loop drives it. */

export type RunAt =
  | { readonly at: 'rest'; readonly known: RunState }
  /** Half of a look has been answered. */
  | { readonly at: 'look'; readonly known: RunState; readonly command: Look; readonly half: Half }
  /** A step has its permit, and has not been sent. */
  | { readonly at: 'act'; readonly known: RunState; readonly command: Act }
  | { readonly at: 'pause'; readonly known: RunState; readonly command: Pause; readonly until: number };

type Look = Extract<Command, { do: 'look' }>;
type Act = Extract<Command, { do: 'act' }>;
type Pause = Extract<Command, { do: 'pause' }>;
interface Half {
  readonly machine: Observation<MachineFacts> | null;
  readonly cluster: Observation<ClusterFacts> | null;
}

export const begin = (runId: string, policy: Policy): RunAt => ({
  at: 'rest',
  known: startRun({
    request: { machine: MACHINE, intent: 'react', accepted: null, vouched: null },
    policy,
    identityRules,
    runId,
    deadline: Infinity,
    location: { cluster: 'a-cluster', node: NODE },
  }),
});

/** Returns the run's next command, as of now. */
export const commandOf = (known: RunState): Command => withoutBegin(nextCommand(known, NOW));

/** When a fence began decides nothing, so one time stands for all. */
const begunLongAgo = (record: FenceRecord): FenceRecord => ({
  ...record,
  begun: new Date(LONG_AGO.wall).toISOString(),
});

const withoutBegin = (command: Command): Command => {
  if (command.do !== 'act' || !('record' in command.step) || command.step.record === null) return command;
  return { ...command, step: { ...command.step, record: begunLongAgo(command.step.record) } as Step };
};

const NOT_STALE_MS = 2 * TICK_MS;

/** A read of the machine that is too old for a decision keeps what it says, and nothing else. */
const machineOf = ({ machine }: Pick<RunState, 'machine'>): RunState['machine'] =>
  machine && NOW.mono - machine.gotAt >= NOT_STALE_MS
    ? { ...machine, askedAt: LONG_AGO, gotAt: LONG_AGO.mono }
    : machine;

/** A read of the cluster that is too old to be used is none. */
const clusterOf = ({ cluster }: RunState): RunState['cluster'] =>
  cluster && NOW.mono - cluster.gotAt < patience.clusterFacts ? { ...cluster, askedAt: LONG_AGO } : null;

/** A moment that is over is none. Any other counts in whole ticks. */
const awaited = (moment: number | null): number | null =>
  moment === null || moment <= NOW.mono ? null : NOW.mono + Math.ceil((moment - NOW.mono) / TICK_MS) * TICK_MS;

const TIMED: readonly string[] = ['detach-disk', 'nudge'];

/** No time that a run remembers of a volume counts beyond two ticks. */
const TWO_TICKS_AGO = NOW.mono - 2 * TICK_MS;

/** Drops what decides nothing any more, so that runs which will do the same are the same. */
export const canonical = (known: RunState): RunState => ({
  ...known,
  machine: machineOf(known),
  cluster: clusterOf(known),
  lately: null,
  resumeAt: awaited(known.resumeAt),
  failures: 0,
  refusals: known.refusals && { ...known.refusals, times: 1 },
  steps: [],
  memory: {
    ...known.memory,
    firstStopping: known.memory.firstStopping && { ...known.memory.firstStopping, at: LONG_AGO.wall },
    polls: 0,
    takenAt: new Map(
      [...known.memory.takenAt].map(([key, at]) => [
        key,
        TIMED.some((step) => key.startsWith(step)) ? Math.max(at, TWO_TICKS_AGO) : LONG_AGO.mono,
      ]),
    ),
    unwanted: new Map([...known.memory.unwanted].map(([key, at]) => [key, Math.max(at, TWO_TICKS_AGO)])),
    deleted: new Map([...known.memory.deleted].map(([uid, { origin }]) => [uid, { origin, at: LONG_AGO.mono }])),
  },
});

/** Returns the run a tick later, if it does nothing. */
export const runLater = (run: RunAt, transit: number): RunAt => {
  const later = afterTime(run, TICK_MS);
  const known = canonical(later.known);
  switch (later.at) {
    case 'act':
      return mayTakeEffect(later, transit)
        ? { ...later, known }
        : { ...later, known, command: { ...later.command, expires: LONG_AGO.mono } };
    case 'pause':
      return { ...later, known, until: awaited(later.until) ?? LONG_AGO.mono };
    case 'rest':
      return { ...later, known };
    case 'look':
      return { ...later, known, half: { machine: machineOf(later.half), cluster: later.half.cluster } };
  }
};

/** Returns the run after a result, or null if it has come to its end. */
export const learned = (known: RunState, command: Command, result: CommandResult): RunAt | null => {
  const next = reduce(known, command, result, NOW);
  return next.ending === null ? { at: 'rest', known: canonical(next) } : null;
};

export const observed = <T>(says: T): Observation<T> => ({ says, askedAt: NOW, gotAt: NOW.mono });

/** Returns the run after a part of its look was answered. */
export const answered = (known: RunState, command: Look, half: Half): RunAt | null =>
  (command.machine && half.machine === null) || (command.cluster && half.cluster === null)
    ? { at: 'look', known, command, half }
    : learned(known, command, { to: 'look', ...half });

export const paused = (known: RunState, command: Pause): RunAt => ({
  at: 'pause',
  known,
  command,
  until: awaited(NOW.mono + command.ms) ?? NOW.mono,
});

export const isAwake = ({ until }: Extract<RunAt, { at: 'pause' }>): boolean => until <= NOW.mono;

export const awoken = ({ known, command }: Extract<RunAt, { at: 'pause' }>): RunAt | null =>
  learned(known, command, { to: 'pause' });

/** Returns the run after its step took effect, was refused, or is of unknown result. */
export const acted = (
  { known, command }: Extract<RunAt, { at: 'act' }>,
  result: 'done' | 'lost' | 'expired' | Refused,
): RunAt | null => {
  if (result === 'done') return learned(known, command, { to: 'act', says: 'done', sentAt: NOW });
  const error =
    result === 'lost'
      ? new Unavailable('the answer is lost')
      : result === 'expired'
        ? new ProofExpired('the proof has expired')
        : result;
  return learned(known, command, { to: 'failed', error, sentAt: NOW });
};

/** Returns whether the call may still take effect: it left within its permit, and is on its way. */
export const mayTakeEffect = ({ command }: Extract<RunAt, { at: 'act' }>, transit: number): boolean =>
  NOW.mono < command.expires + transit * TICK_MS;

export const hasExpired = ({ command }: Extract<RunAt, { at: 'act' }>): boolean => command.expires <= NOW.mono;

const olderVersion = (node: NodeFacts): NodeFacts => ({ ...node, resourceVersion: 'old' });

const outdatedFacts = (read: RunState['cluster']): RunState['cluster'] =>
  read?.says.node?.resourceVersion === 'now'
    ? { ...read, says: { ...read.says, node: olderVersion(read.says.node) } }
    : read;

/** Returns the run as it is once somebody has written the Node: what it has read of it has an old resourceVersion. */
export const outdated = (run: RunAt): RunAt => {
  const known = { ...run.known, cluster: outdatedFacts(run.known.cluster) };
  if (run.at === 'look') return { ...run, known, half: { ...run.half, cluster: outdatedFacts(run.half.cluster) } };
  if (run.at !== 'act' || !('node' in run.command.step) || run.command.step.node.resourceVersion !== 'now')
    return { ...run, known };
  const { step } = run.command;
  return {
    ...run,
    known,
    command: { ...run.command, step: { ...step, node: { ...step.node, resourceVersion: 'old' } } },
  };
};

const listed = (map: ReadonlyMap<string, unknown>): unknown => [...map];

/** Returns a text that two runs share only if they will do the same. What is the same for all runs is left out. */
export const runText = (run: RunAt): string => {
  const { runId, machine, cluster, record, memory, proofRenewed, cleared, resumeAt, refusals } = run.known;
  const { sinceLook, takenAt, deleted, unwanted, detached, declined, ...rest } = memory;
  const known = [runId, machine, cluster, record, rest, proofRenewed, cleared, resumeAt, refusals];
  const remembered = [
    [...sinceLook],
    listed(takenAt),
    listed(deleted),
    listed(unwanted),
    [...detached],
    listed(declined),
  ];
  switch (run.at) {
    case 'rest':
      return JSON.stringify([run.at, known, remembered]);
    case 'look':
      return JSON.stringify([run.at, known, remembered, run.command, run.half]);
    case 'act':
      return JSON.stringify([run.at, known, remembered, run.command]);
    case 'pause':
      return JSON.stringify([run.at, known, remembered, run.command.ms, run.until]);
  }
};
