import type { ClusterFacts } from './cluster-facts.ts';
import type { Known, Read } from './known.ts';
import type { MachineFacts, Power } from './machine.ts';
import { wantedBy } from './rules/pods.ts';
import type { Memory, Moment } from './view.ts';

/** States that are proof, or become proof by a second read or a witness. */
const saysOff: ReadonlySet<Power> = new Set<Power>(['off', 'off-if-repeated', 'missing']);

/** A machine that the cloud has forgotten by now has no boot left that could be another. */
const sameBoot = (before: string | null, now: string | null): boolean => before === null || now === null || before === now;

/** An answer without a power state ends nothing. */
const firstSeenStopping = ({ firstStopping }: Memory, { power, generation }: MachineFacts, now: Moment): Memory['firstStopping'] => {
  if (power === 'stopping') return firstStopping?.generation === generation ? firstStopping : { at: now.wall, generation };
  return power === 'unknown' ? firstStopping : null;
};

/**
 * Adds a read of the machine. An off-read of another generation, or one that does not say off, ends what came before;
 * what the cluster said below another boot, or another power state, is forgotten; and a witness is asked anew, so that it
 * is never older than the read that it stands by.
 */
export const machineRead = (known: Known, machine: Read<MachineFacts>, now: Moment): Known => {
  const { power, generation } = machine.says;
  const { memory } = known;
  const vouched = (known.request.vouched ?? known.record?.vouched ?? null) !== null && (power === 'unknown' || power === 'suspended');
  const off = saysOff.has(power) || vouched;
  const same = off && memory.firstOff !== null && memory.firstOff.generation === generation;
  const firstOff = same ? memory.firstOff : off ? { ...now, generation } : null;
  const lease = same ? memory.lease : undefined;
  const unchanged = known.machine?.says.power === power && known.machine.says.generation === generation;
  const firstStopping = firstSeenStopping(memory, machine.says, now);
  const attachments = memory.firstOff === null || same ? memory.attachments : null;
  const admission = sameBoot(known.machine?.says.generation ?? null, generation) ? memory.admission : null;
  return { ...known, machine, cluster: unchanged ? known.cluster : null, memory: { ...memory, firstOff, firstStopping, lease, attachments, admission, witness: null } };
};

/** A Lease is a baseline only when it was asked for after the machine was seen off. */
export const baselineLease = ({ firstOff, lease }: Memory, read: string | null, askedAt: Moment): string | null | undefined =>
  lease === undefined && firstOff && askedAt.mono >= firstOff.mono ? read : lease;

const unwantedSince = (memory: Memory, cluster: ClusterFacts, now: Moment): ReadonlyMap<string, number> =>
  new Map(
    cluster.volumes
      .filter((volume) => wantedBy({ cluster }, volume.key).length === 0)
      .map((volume) => [volume.key, memory.unwanted.get(volume.key) ?? now.mono]),
  );

/** All attachments of a machine without a Node are in the first list of them: no new ones are made for a Node that is gone. */
const attachmentsLeft = (memory: Memory, { node, volumes }: ClusterFacts): readonly string[] | null =>
  node ? null : (memory.attachments ?? volumes.flatMap(({ attachment }) => attachment?.name ?? []));

/** Adds a read of the cluster: whatever was done since the look before is in it. */
export const clusterRead = (known: Known, cluster: Read<ClusterFacts>, now: Moment): Known => {
  const { memory } = known;
  return {
    ...known,
    cluster,
    record: cluster.says.node?.record ?? known.record,
    memory: {
      ...memory,
      sinceLook: new Set(),
      lease: baselineLease(memory, cluster.says.lease, cluster.askedAt),
      firstLease: memory.firstLease === undefined ? cluster.says.lease : memory.firstLease,
      attachments: attachmentsLeft(memory, cluster.says),
      unwanted: unwantedSince(memory, cluster.says, now),
    },
  };
};
