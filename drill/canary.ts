import { asCloudfenceError, Refused, Unavailable } from '../fencing/model/errors.ts';
import { listSome } from '../fencing/model/reason.ts';
import type { Refusal } from './checks.ts';
import type { CanaryView } from './ports.ts';
import {
  type DrillOptions,
  type DrillTools,
  isWorthAnotherTry,
  type RecordProgress,
  POLL_MS,
  type Progress,
  writeNoted,
} from './tools.ts';

/** Creates the canary of a drill, and removes it. */

/** @throws Unavailable at the deadline, or the reason of the drill's signal */
const pollUntilFound = async <T>(
  look: () => Promise<T | null>,
  { clock, signal }: DrillTools,
  ms: number,
  whyNot: () => string,
): Promise<T> => {
  const ends = clock.now().mono + ms;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (clock.now().mono >= ends) throw new Unavailable(whyNot());
    await clock.sleep(POLL_MS, signal);
  }
};

/** A canary that runs with its volume. */
export interface RunningCanary {
  readonly pod: string;
  readonly volume: CanaryView['volume'];
}

/** Returns null until the canary runs on the Node. @throws Refused if it was scheduled to another Node */
const runningOn = (node: string, { pod, volume, here }: CanaryView): RunningCanary | null => {
  if (pod?.node != null && pod.node !== node)
    throw new Refused(
      `the scheduler put the canary on Node ${pod.node} and not on ${node}: \`kubectl describe node ${node}\` ` +
        'may say why',
    );
  return pod?.ready && here?.attached ? { pod: pod.uid, volume } : null;
};

/** Creates the canary, and waits until it runs on the Node with its volume. */
export const makeCanary = async (
  { target: { node }, canary, timeout }: DrillOptions,
  tools: DrillTools,
  hostname: string,
  note: RecordProgress,
): Promise<RunningCanary> => {
  const { drillCluster, drill, signal } = tools;
  tools.tell(`creates a StatefulSet with one volume in namespace ${canary.namespace}`);
  const create = (answered: AbortSignal) => drillCluster.create({ ...canary, node, hostname, drill }, answered);
  await writeNoted('made', create, tools, note);
  let waits: string | null = null;
  const running = await pollUntilFound(
    async () => {
      const seen = await drillCluster.canary(canary, node, signal);
      if (seen.volume) note({ volume: seen.volume });
      waits = seen.pod?.waits ?? waits;
      return runningOn(node, seen);
    },
    tools,
    timeout,
    () => `the canary does not run on Node ${node}${waits === null ? '' : `: ${waits}`}`,
  );
  tools.tell(`the canary runs on Node ${node}, and ${running.volume?.handle ?? 'its volume'} is attached`);
  return running;
};

/** The time limit for undoing one thing (ms). */
export const CLEANUP_MS = 5 * 60_000;

/** A StorageClass may keep the disks of its deleted claims. In that case, only a person may delete the disk. */
const keptVolume = ({ volume, facts }: Progress): Refusal | null => {
  const storageClass = facts?.drilledNode.storageClass;
  if (!volume || !storageClass || storageClass.deletesDisks) return null;
  return {
    says: `StorageClass ${storageClass.name} keeps ${volume.handle}`,
    remedy: `kubectl delete pv ${volume.persistentVolume}, and delete the disk in the cloud`,
  };
};

/** Returns why something was not undone. The error of an aborted call does not help people. */
export const whyNotUndone = (error: unknown, giveUp: AbortSignal): string =>
  giveUp.aborted ? 'interrupted again' : asCloudfenceError(error).message;

/**
 * Undoes one thing, and retries until it is done, because a single refusal of a busy server must not leave it behind.
 * At the end of the cleanup time, returns the result of the last try.
 * @throws the error of the last try, or immediately an error that a retry cannot change
 */
export const retryUndo = async <T>(
  undoOnce: (signal: AbortSignal) => Promise<T>,
  isDone: (done: T) => boolean,
  { clock, giveUp }: Pick<DrillTools, 'clock' | 'giveUp'>,
): Promise<T> => {
  const signal = AbortSignal.any([clock.timeout(CLEANUP_MS), giveUp]);
  const ends = clock.now().mono + CLEANUP_MS;
  const isOver = (): boolean => signal.aborted || clock.now().mono >= ends;
  for (;;) {
    try {
      const done = await undoOnce(signal);
      if (isDone(done) || isOver()) return done;
    } catch (error) {
      if (isOver() || !isWorthAnotherTry(error)) throw error;
    }
    await clock.sleep(POLL_MS, giveUp);
  }
};

/** Removes all objects of the canary. Returns what could not be removed. */
export const removeCanary = async (
  { canary: { namespace } }: DrillOptions,
  tools: DrillTools,
  progress: Progress,
): Promise<readonly Refusal[]> => {
  const { drill, drillCluster, giveUp, tell } = tools;
  const kept = keptVolume(progress);
  const volume = kept ? null : progress.volume;
  const remedy = drillCluster.removeCommand({ namespace }, drill);
  tell('removes the canary and its volume');
  let left: readonly string[] = [];
  const remove = async (signal: AbortSignal): Promise<readonly string[]> =>
    (left = await drillCluster.remove({ namespace, drill }, volume, signal));
  try {
    await retryUndo(remove, ({ length }) => length === 0, tools);
    return left.length === 0 && kept ? [kept] : left.map((says) => ({ says, remedy }));
  } catch (error) {
    return [
      {
        says: `the canary may still exist (${left.length > 0 ? listSome(left) : whyNotUndone(error, giveUp)})`,
        remedy,
      },
    ];
  }
};
