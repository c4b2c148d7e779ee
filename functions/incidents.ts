import pLimit from 'p-limit';
import type { Command } from '../fencing/loop/command.ts';
import type { CommandResult } from '../fencing/loop/reduce.ts';
import { abortOnSignal, type Ports } from '../fencing/loop/ports.ts';
import type { RunState } from '../fencing/loop/state.ts';
import { asCloudfenceError } from '../fencing/model/errors.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Incident } from '../incidents/incident.ts';
import { keepIncident, storePowerOffWithoutFence } from '../incidents/keep.ts';
import { incidentOfRun, type RunTrigger, emptyRunLog, logged, type RunLog } from '../incidents/of-run.ts';
import { type IncidentKeeper, readNotes, sendLate, watchIncident } from '../incidents/store.ts';
import type { FunctionDependencies } from './dependencies.ts';
import { messageLine } from './decision-log.ts';
import type { WorkItem } from './messages.ts';
import type { Aftermath } from '../incidents/watch.ts';

/**
 * Stores incidents after their runs. After the runs of a sweep, it also watches the volumes and pods of earlier
 * incidents, and sends messages that a run did not send. It never delays a fence, because the runs have ended and the
 * time is limited.
 */

/** Collects what the runs of one invocation show. */
export interface RunLogs {
  readonly observe: (command: Command, answer: CommandResult, state: RunState) => void;
  readonly of: (outcome: Outcome) => RunLog | null;
}

const keyOf = (machine: string, dryRun: boolean): string => `${machine} ${dryRun}`;

/** The log line for an incident that could not be stored. The fence does not depend on it. */
const incidentNotKept = (why: string, machine: string | null): object =>
  messageLine('failed', 'incident', `the incident is not complete: ${why}`, machine);

export const createRunLogs = (log: FunctionDependencies['log']): RunLogs => {
  const logs = new Map<string, RunLog>();
  return {
    observe: (command, answer, state) => {
      const { machine } = state.request;
      const key = keyOf(machine, state.policy.dryRun);
      try {
        logs.set(key, logged(logs.get(key) ?? emptyRunLog(state), command, answer, state));
      } catch (caught) {
        log(incidentNotKept(asCloudfenceError(caught).message, machine));
      }
    },
    of: ({ machine, dryRun }) => logs.get(keyOf(machine, dryRun)) ?? null,
  };
};

/** The maximum time (ms) for incidents, and the time that is reserved for the answer of the invocation. */
const INCIDENTS_MAY_TAKE_MS = 5_000;
const LEFT_FOR_ANSWER_MS = 1_000;
const SIDE_BY_SIDE = 10;

/** Returns the signal that ends the work on incidents. `remaining` is the time of the invocation (ms). */
const incidentTime = ({ clock }: Pick<Ports, 'clock'>, remaining: number): AbortSignal =>
  clock.timeout(Math.max(0, Math.min(INCIDENTS_MAY_TAKE_MS, remaining - LEFT_FOR_ANSWER_MS)));

export const sweepTrigger: RunTrigger = {
  trigger: { kind: 'sweep', event: null, says: null, happened: null },
  account: null,
  region: null,
};

/** An event may contain any number as its time. An incident contains only times that a reader can parse. */
const timeOf = (ms: number | null | undefined): string | null => {
  const date = new Date(ms ?? NaN);
  const year = date.getUTCFullYear();
  return year >= 1970 && year <= 9999 ? date.toISOString() : null;
};

/** Returns the trigger of an item. Without a queue, a person sent it. */
export const triggerOf = (item: WorkItem | null, queued: boolean): RunTrigger => ({
  trigger: {
    kind: queued ? 'event' : 'person',
    event: item?.event ?? null,
    says: item?.says ?? null,
    happened: timeOf(item?.eventAt),
  },
  account: item?.account ?? null,
  region: item?.region ?? null,
});

type KeepingDependencies = Pick<FunctionDependencies, 'incidents' | 'ports' | 'log' | 'policy'>;

/** Ends when the signal aborts, even if a cloud's library does not. */
const keepOne = async (
  shown: () => Incident | null,
  machine: string,
  keeper: IncidentKeeper,
  signal: AbortSignal,
  { policy, log }: KeepingDependencies,
): Promise<void> => {
  try {
    const incident = shown();
    if (incident) await abortOnSignal(signal, () => keepIncident(incident, policy, keeper, signal));
  } catch (caught) {
    log(incidentNotKept(signal.aborted ? 'there was no time left for it' : asCloudfenceError(caught).message, machine));
  }
};

/**
 * Stores what the runs of an invocation show. `remaining` is the remaining time of the invocation (ms). A failure is
 * logged, and the messages are still acknowledged.
 */
export const keepIncidents = async (
  outcomes: readonly Outcome[],
  logs: RunLogs,
  triggerFor: (outcome: Outcome) => RunTrigger,
  dependencies: KeepingDependencies,
  remaining: number,
): Promise<void> => {
  const { incidents: keeper, ports } = dependencies;
  if (!keeper) return;
  const now = ports.clock.now().wall;
  const unread: RunLog = emptyRunLog({ runId: '', identityRules: ports.cloud });
  const signal = incidentTime(ports, remaining);
  const aLimit = pLimit(SIDE_BY_SIDE);
  await Promise.all(
    outcomes.map((outcome) => {
      const shown = () => incidentOfRun(outcome, logs.of(outcome) ?? unread, triggerFor(outcome), now);
      return aLimit(() => keepOne(shown, outcome.machine, keeper, signal, dependencies));
    }),
  );
};

/** The maximum number of notes of a kind that one sweep handles. If there are more, they are selected at random. */
const MOST_NOTES = 20;

type TendDependencies = Pick<FunctionDependencies, 'incidents' | 'aftermath' | 'ports' | 'chance' | 'log'>;

const drawSome = <T>(notes: readonly T[], chance: () => number): readonly T[] =>
  notes.length <= MOST_NOTES
    ? notes
    : notes
        .map((note) => ({ note, lot: chance() }))
        .sort((a, b) => a.lot - b.lot)
        .slice(0, MOST_NOTES)
        .map(({ note }) => note);

/** If a cluster does not answer, the look shows nothing. The watch still ends at its time limit. */
const createWatch =
  ({ aftermath, log }: TendDependencies, signal: AbortSignal) =>
  async (incident: Incident): Promise<Aftermath | null> => {
    const { cluster, node, machine } = incident;
    try {
      const read = cluster === null || node === null ? null : await aftermath?.(cluster);
      return read ? await read({ ...incident, node: node ?? '' }, signal) : null;
    } catch (caught) {
      signal.throwIfAborted();
      log(incidentNotKept(asCloudfenceError(caught).message, machine));
      return null;
    }
  };

/** Does the work in the notes: sends messages that were not sent, and watches incidents. */
export const tendIncidents = async (dependencies: TendDependencies, remaining: number): Promise<void> => {
  const { incidents: keeper, ports, chance, log } = dependencies;
  if (!keeper) return;
  const { objects } = keeper;
  const signal = incidentTime(ports, remaining);
  const now = () => ports.clock.now().wall;
  const aLimit = pLimit(SIDE_BY_SIDE);
  const failed = (caught: unknown): void =>
    log(incidentNotKept(signal.aborted ? 'there was no time left for it' : asCloudfenceError(caught).message, null));
  const limited = (work: () => Promise<void>) => aLimit(() => abortOnSignal(signal, work).catch(failed));
  try {
    const { watched, unsent, poweredOff } = await abortOnSignal(signal, () => readNotes(objects, now(), signal));
    await Promise.all([
      ...drawSome(unsent, chance).map((note) => limited(() => sendLate(note, keeper, now(), signal))),
      ...drawSome(poweredOff, chance).map((note) =>
        limited(() => storePowerOffWithoutFence(note, now(), keeper, signal)),
      ),
      ...drawSome(watched, chance).map((note) =>
        limited(() => watchIncident(note, createWatch(dependencies, signal), now, keeper, signal)),
      ),
    ]);
  } catch (caught) {
    failed(caught);
  }
};
