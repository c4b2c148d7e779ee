import { asCloudfenceError, PermissionDenied, Refused, Unavailable } from '../fencing/model/errors.ts';
import { listSome } from '../fencing/model/reason.ts';
import type { Refusal } from './checks.ts';
import { type DrillOptions, type DrillTools, POLL_MS, type Progress } from './tools.ts';

/** Makes the canary of a drill, and removes it. */

/** @throws Unavailable when the time is up, or the reason of the drill's signal */
const untilSome = async <T>(
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

/** Creates the canary, and waits until it runs on the Node with its volume. */
export const makeCanary = async (
  { target: { node }, canary, patience }: DrillOptions,
  tools: DrillTools,
  hostname: string,
  progress: Progress,
): Promise<void> => {
  tools.tell(`creates a StatefulSet with one volume in namespace ${canary.namespace}`);
  progress.made = true;
  await tools.drillCluster.create({ ...canary, node, hostname }, tools.signal).catch((error: unknown) => {
    // Nothing was made. What has the canary's name belongs to another drill.
    if (error instanceof Refused || error instanceof PermissionDenied) progress.made = false;
    throw error;
  });
  let waits: string | null = null;
  const view = await untilSome(
    async () => {
      const seen = await tools.drillCluster.canary(canary, node, tools.signal);
      progress.volume = seen.volume ?? progress.volume;
      waits = seen.pod?.waits ?? waits;
      if (seen.pod?.node != null && seen.pod.node !== node)
        throw new Refused(
          `the scheduler put the canary on Node ${seen.pod.node} and not on ${node}: \`kubectl describe node ${node}\` may say why`,
        );
      return seen.pod?.ready && seen.here?.attached ? seen : null;
    },
    tools,
    patience,
    () => `the canary does not run on Node ${node}${waits === null ? '' : `: ${waits}`}`,
  );
  tools.tell(`the canary runs on Node ${node}, and ${view.volume?.handle ?? 'its volume'} is attached`);
  progress.before = { node, pod: view.pod?.uid ?? '', bootID: progress.facts?.cluster.node?.bootID ?? '' };
};

/** How long undoing one thing may take (ms). */
export const CLEANUP_MS = 5 * 60_000;

/** A class may keep the disks of its deleted claims. Then only a person may delete the disk. */
const keptVolume = ({ volume, facts }: Progress): Refusal | null => {
  const storageClass = facts?.scene.storageClass;
  if (!volume || !storageClass || storageClass.deletesDisks) return null;
  return {
    says: `StorageClass ${storageClass.name} keeps ${volume.handle}`,
    remedy: `kubectl delete pv ${volume.persistentVolume}, and delete the disk in the cloud`,
  };
};

/** Returns why something was not undone. The error of an aborted call says nothing to people. */
export const whyNotUndone = (error: unknown, giveUp: AbortSignal): string =>
  giveUp.aborted ? 'interrupted again' : asCloudfenceError(error).message;

/** Removes everything that the canary consists of. Returns what could not be removed. */
export const removeCanary = async (
  { canary, target: { node } }: DrillOptions,
  tools: DrillTools,
  progress: Progress,
): Promise<readonly Refusal[]> => {
  const { clock, drillCluster, giveUp, tell } = tools;
  const kept = keptVolume(progress);
  const volume = kept ? null : progress.volume;
  const signal = AbortSignal.any([clock.timeout(CLEANUP_MS), giveUp]);
  const ends = clock.now().mono + CLEANUP_MS;
  const remedy = drillCluster.removeCommands(canary).join(' && ');
  tell('removes the canary and its volume');
  let left: readonly string[] = [];
  try {
    do {
      left = await drillCluster.remove({ ...canary, node }, volume, signal);
      if (left.length === 0) return kept ? [kept] : [];
      await clock.sleep(POLL_MS, signal);
    } while (clock.now().mono < ends);
    return left.map((says) => ({ says, remedy }));
  } catch (error) {
    return [
      {
        says: `the canary may be there still (${left.length > 0 ? listSome(left) : whyNotUndone(error, giveUp)})`,
        remedy,
      },
    ];
  }
};
