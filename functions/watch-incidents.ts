import pLimit from 'p-limit';
import { asCloudfenceError } from '../fencing/model/errors.ts';
import { abortOnSignal } from '../fencing/loop/ports.ts';
import type { Incident } from '../incidents/incident.ts';
import { listWatched, watchIncident } from '../incidents/keep.ts';
import type { Aftermath } from '../incidents/watch.ts';
import type { FunctionDependencies } from './dependencies.ts';
import { incidentTime, notKept, SIDE_BY_SIDE } from './keep-incidents.ts';

/**
 * Watches, after the runs of a sweep, what becomes of the volumes and pods of earlier incidents. It only reads from the
 * clusters, and its time is limited: no run waits for it.
 */

/** The most incidents that one sweep looks at. Of more, each gets its turn by chance. */
const MOST_WATCHED = 20;

type WatchDependencies = Pick<FunctionDependencies, 'incidents' | 'aftermath' | 'ports' | 'chance' | 'log'>;

const drawn = (names: readonly string[], chance: () => number): readonly string[] =>
  names.length <= MOST_WATCHED
    ? names
    : names
        .map((name) => ({ name, lot: chance() }))
        .sort((a, b) => a.lot - b.lot)
        .slice(0, MOST_WATCHED)
        .map(({ name }) => name);

/** A cluster that gives no answer shows nothing. The watch still ends when its time is up. */
const lookAfter =
  ({ aftermath, log }: WatchDependencies, signal: AbortSignal) =>
  async (incident: Incident): Promise<Aftermath | null> => {
    const { cluster, node, machine } = incident;
    try {
      const read = cluster === null || node === null ? null : await aftermath?.(cluster);
      return read ? await read({ ...incident, node: node ?? '' }, signal) : null;
    } catch (caught) {
      signal.throwIfAborted();
      log(notKept(asCloudfenceError(caught).message, machine));
      return null;
    }
  };

export const watchIncidents = async (dependencies: WatchDependencies, remaining: number): Promise<void> => {
  const { incidents: keeper, aftermath, ports, chance, log } = dependencies;
  if (!keeper || !aftermath) return;
  const signal = incidentTime(ports, remaining);
  const { objects } = keeper;
  const now = () => ports.clock.now().wall;
  const aLimit = pLimit(SIDE_BY_SIDE);
  const watchOne = (name: string) =>
    abortOnSignal(signal, () => watchIncident(name, lookAfter(dependencies, signal), now, objects, signal));
  const failed = (caught: unknown): void =>
    log(notKept(signal.aborted ? 'the time for it was up' : asCloudfenceError(caught).message, null));
  try {
    const names = await abortOnSignal(signal, () => listWatched(objects, signal));
    await Promise.all(drawn(names, chance).map((name) => aLimit(() => watchOne(name).catch(failed))));
  } catch (caught) {
    failed(caught);
  }
};
