import pLimit from 'p-limit';
import type { Command } from '../fencing/loop/next-command.ts';
import type { CommandResult } from '../fencing/loop/reduce.ts';
import type { RunState } from '../fencing/loop/state.ts';
import { asCloudfenceError } from '../fencing/model/errors.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Incident } from '../incidents/incident.ts';
import { type IncidentKeeper, keepIncident } from '../incidents/keep.ts';
import { incidentOfRun, type Occasion } from '../incidents/of-run.ts';
import { emptyRunLog, logged, type RunLog } from '../incidents/run-log.ts';
import type { FunctionDependencies } from './dependencies.ts';
import { messageLine } from './decision-log.ts';
import type { WorkItem } from './messages.ts';

/** Keeps incidents after their runs. It is never in a fence's way: each run is over, and the time is limited. */

/** What the runs of one invocation show, as they happen. */
export interface RunLogs {
  readonly observe: (command: Command, answer: CommandResult, known: RunState) => void;
  readonly of: (outcome: Outcome) => RunLog | null;
}

const keyOf = (machine: string, dryRun: boolean): string => `${machine} ${dryRun}`;

export const createRunLogs = (): RunLogs => {
  const logs = new Map<string, RunLog>();
  return {
    observe: (command, answer, known) => {
      const key = keyOf(known.request.machine, known.policy.dryRun);
      logs.set(key, logged(logs.get(key) ?? emptyRunLog(known), command, answer, known));
    },
    of: ({ machine, dryRun }) => logs.get(keyOf(machine, dryRun)) ?? null,
  };
};

/** The most time (ms) that incidents may take, and the time that is left for the answer of the invocation. */
const MOST_MS = 5_000;
const LEFT_MS = 1_000;
const SIDE_BY_SIDE = 10;

export const sweepOccasion: Occasion = {
  trigger: { kind: 'sweep', event: null, says: null, happened: null },
  account: null,
  region: null,
};

/** Returns what asked for the look at an item. Without a queue, a person sent it. */
export const occasionOf = (item: WorkItem | null, queued: boolean): Occasion => ({
  trigger: {
    kind: queued ? 'event' : 'person',
    event: item?.event ?? null,
    says: item?.says ?? null,
    happened: item?.eventAt == null ? null : new Date(item.eventAt).toISOString(),
  },
  account: item?.account ?? null,
  region: item?.region ?? null,
});

type KeepingDependencies = Pick<FunctionDependencies, 'incidents' | 'ports' | 'log'>;

const keepOne = async (
  incident: Incident,
  keeper: IncidentKeeper,
  signal: AbortSignal,
  log: FunctionDependencies['log'],
): Promise<void> => {
  try {
    await keepIncident(incident, keeper, signal);
  } catch (caught) {
    const why = signal.aborted ? 'the time for it was up' : asCloudfenceError(caught).message;
    log(messageLine('failed', 'incident', `the incident ${incident.id} is not complete: ${why}`, incident.machine));
  }
};

/**
 * Keeps what the runs of an invocation show. `remaining` is the time that the invocation still has (ms). A failure is
 * logged, and the messages are acknowledged all the same.
 */
export const keepIncidents = async (
  outcomes: readonly Outcome[],
  logs: RunLogs,
  occasionFor: (outcome: Outcome) => Occasion,
  { incidents: keeper, ports, log }: KeepingDependencies,
  remaining: number,
): Promise<void> => {
  if (!keeper) return;
  const now = ports.clock.now().wall;
  const unread: RunLog = emptyRunLog({ runId: '', identityRules: ports.cloud });
  const shown = outcomes.flatMap(
    (outcome) => incidentOfRun(outcome, logs.of(outcome) ?? unread, occasionFor(outcome), now) ?? [],
  );
  if (shown.length === 0) return;
  const signal = ports.clock.timeout(Math.max(0, Math.min(MOST_MS, remaining - LEFT_MS)));
  const aLimit = pLimit(SIDE_BY_SIDE);
  await Promise.all(shown.map((incident) => aLimit(() => keepOne(incident, keeper, signal, log))));
};
