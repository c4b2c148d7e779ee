import pLimit from 'p-limit';
import { asCloudfenceError } from '../fencing/model/errors.ts';
import { abortOnSignal } from '../fencing/loop/ports.ts';
import type { Incident } from '../incidents/incident.ts';
import { readNotes, sendLate, watchIncident } from '../incidents/keep.ts';
import type { Aftermath } from '../incidents/watch.ts';
import type { FunctionDependencies } from './dependencies.ts';
import { incidentTime, incidentNotKept, SIDE_BY_SIDE } from './keep-incidents.ts';

/**
 * After the runs of a sweep: watches what becomes of the volumes and pods of earlier incidents, and sends messages that a
 * run left behind. It only reads from the clusters, and its time is limited: no run waits for it.
 */

/** The most notes of a kind that one sweep works on. Of more, each gets its turn by chance. */
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

/** A cluster that gives no answer shows nothing. The watch still ends when its time is up. */
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

/** Does what the notes say: sends messages that were left behind, and watches incidents. */
export const tendIncidents = async (dependencies: TendDependencies, remaining: number): Promise<void> => {
  const { incidents: keeper, ports, chance, log } = dependencies;
  if (!keeper) return;
  const { objects } = keeper;
  const signal = incidentTime(ports, remaining);
  const now = () => ports.clock.now().wall;
  const aLimit = pLimit(SIDE_BY_SIDE);
  const failed = (caught: unknown): void =>
    log(incidentNotKept(signal.aborted ? 'the time for it was up' : asCloudfenceError(caught).message, null));
  const limited = (work: () => Promise<void>) => aLimit(() => abortOnSignal(signal, work).catch(failed));
  try {
    const { watched, unsent } = await abortOnSignal(signal, () => readNotes(objects, now(), signal));
    await Promise.all([
      ...drawSome(unsent, chance).map((note) => limited(() => sendLate(note, keeper, now(), signal))),
      ...drawSome(watched, chance).map((note) =>
        limited(() => watchIncident(note, createWatch(dependencies, signal), now, keeper, signal)),
      ),
    ]);
  } catch (caught) {
    failed(caught);
  }
};
