import { type ClusterFacts, fenceIdOn, ownMark, type VolumeLeft } from '../model/cluster-facts.ts';
import { type MachineFacts, offStates } from '../model/machine.ts';
import { timing } from '../model/policy.ts';
import { podsWanting } from '../rules/pods.ts';
import { vouchReasonWith } from '../rules/proof.ts';
import type { Memory, Moment } from '../rules/view.ts';
import { NOT_ASKED, type Observation, type RunState, UNREAD_LEASE } from './state.ts';

/** How a read of the machine or of the cluster changes the state of a run. */

/**
 * Returns whether the cap was asked about the boot that the cloud names now. A machine that the cloud no longer knows
 * cannot have another boot, and a generation that drifts does not show one.
 */
const isAdmittedBoot = ({ admittedBoot }: Memory, { generation, generationDrifts }: MachineFacts): boolean =>
  generation === null || generationDrifts === true || generation === admittedBoot;

/**
 * Returns when this run first saw the machine `stopping`. An answer without a power state does not end the stop. If the
 * machine is off by its power state, the stop has ended, even if an operation is in progress.
 */
const firstSeenStopping = (
  { firstStopping }: Memory,
  { power, offUnderOperation, generation }: MachineFacts,
  now: Moment,
): Memory['firstStopping'] => {
  if (power === 'stopping' && !offUnderOperation)
    return firstStopping?.generation === generation ? firstStopping : { at: now.wall, generation };
  return power === 'unknown' ? firstStopping : null;
};

/**
 * Returns whether another answer than before may only show an operation on a machine that stays off, such as the detach
 * of a disk. It shows as an operation in progress, or as another generation if that drifts.
 */
const isOnlyOperation = ({ power, offUnderOperation, generationDrifts }: MachineFacts): boolean =>
  offUnderOperation === true || (offStates.has(power) && generationDrifts === true);

type Stated = Partial<Pick<Memory, 'firstGeneration' | 'firstFence' | 'firstBoot' | 'isStatementOld'>>;

/**
 * Returns what a person's statement is about, and whether the answer that shows it came too late. Between the statement
 * and the answer, for example in an outage or in a process that was frozen, another fence or boot may have begun.
 */
const statedAs = (
  subject: Stated,
  { memory: { statedAt, isStatementOld } }: RunState,
  { receivedAt }: Pick<Observation<unknown>, 'receivedAt'>,
): Stated => ({
  ...subject,
  isStatementOld: isStatementOld || statedAt === null || receivedAt - statedAt > timing.statement,
});

/** Returns the boot to which a person's statement applies, as the first answer of the cloud names it. */
const statedGeneration = (state: RunState, machine: Observation<MachineFacts>): Stated =>
  state.request.vouched === null || state.memory.firstGeneration !== undefined
    ? {}
    : statedAs({ firstGeneration: machine.value.generation }, state, machine);

/** Returns the fence and the boot to which a person's statement applies, as the first look at the Node shows them. */
const statedOnNode = (state: RunState, cluster: Observation<ClusterFacts>): Stated => {
  const { request, memory } = state;
  const { node } = cluster.value;
  return (request.accepted ?? request.vouched) === null || memory.firstBoot !== undefined
    ? {}
    : statedAs({ firstFence: node && fenceIdOn(node), firstBoot: node && node.bootID }, state, cluster);
};

/**
 * Adds a read of the machine. The proof ends if a read says off for another generation, or does not say off. If the
 * boot or the power state changed, the run discards the facts about the cluster. The witness is asked again, so that
 * its answer is never older than the read for which it is used.
 */
export const withMachineRead = (state: RunState, machine: Observation<MachineFacts>, now: Moment): RunState => {
  const { power, generation } = machine.value;
  const { memory } = state;
  const off =
    offStates.has(power) ||
    (vouchReasonWith(state.record, state) !== null && (power === 'unknown' || power === 'suspended'));
  const same = off && memory.firstOff !== null && memory.firstOff.generation === generation;
  const firstOff = same ? memory.firstOff : off ? { ...now, generation } : null;
  const { lease, leaseSince } = same ? memory : UNREAD_LEASE;
  const unchanged = state.machine?.value.power === power && state.machine.value.generation === generation;
  const firstStopping = firstSeenStopping(memory, machine.value, now);
  const left =
    memory.firstOff === null || same || isOnlyOperation(machine.value) ? {} : { attachments: null, volumesLeft: [] };
  const admitted = isAdmittedBoot(memory, machine.value) ? {} : NOT_ASKED;
  return {
    ...state,
    machine,
    cluster: unchanged ? state.cluster : null,
    memory: {
      ...memory,
      firstOff,
      firstStopping,
      lease,
      leaseSince,
      ...left,
      ...admitted,
      witness: null,
      testified: [],
      markIsNew: false,
      ...statedGeneration(state, machine),
    },
  };
};

/**
 * Returns the baseline Lease, and the time since when it is known. A Lease is a baseline only if it was requested after
 * the machine was seen off. It counts as known when the answer arrives, because the kubelet may renew it before that.
 */
export const baselineLease = (
  { firstOff, lease, leaseSince }: Memory,
  read: string | null,
  requestedAt: Moment,
  receivedAt: number,
): Pick<Memory, 'lease' | 'leaseSince'> =>
  lease === undefined && firstOff && requestedAt.mono >= firstOff.mono
    ? { lease: read, leaseSince: receivedAt }
    : { lease, leaseSince };

/** Returns for each volume the time since when no pod object has used it. */
export const unwantedSince = (memory: Memory, cluster: ClusterFacts, now: Moment): ReadonlyMap<string, number> =>
  new Map(
    cluster.volumes
      .filter((volume) => podsWanting({ cluster }, volume.key).length === 0)
      .map((volume) => [volume.key, memory.unwanted.get(volume.key) ?? now.mono]),
  );

/**
 * Returns all attachments of a machine without a Node, and those of other machines with its name. The first list is
 * complete, because no attachments are created for a Node that is gone.
 */
const attachmentsLeft = (memory: Memory, facts: ClusterFacts): readonly string[] | null =>
  facts.node
    ? null
    : (memory.attachments ?? [
        ...facts.volumes.flatMap(({ attachment }) => attachment?.name ?? []),
        ...facts.attachmentsOfOthers,
      ]);

/**
 * Returns the volumes that were attached to a machine without a Node. A driver may report a detach that did not happen,
 * and after that, no attachment shows the volume any more.
 */
const volumesLeft = ({ volumesLeft: before }: Memory, { node, volumes }: ClusterFacts): readonly VolumeLeft[] => {
  if (node) return [];
  const known = new Set(before.map(({ attachmentName }) => attachmentName));
  const found = volumes.filter(({ attachment, attachmentName }) => attachment !== null && !known.has(attachmentName));
  return [
    ...before,
    ...found.map(({ driver, handle, persistentVolume, attachmentName, node: on }) => ({
      driver,
      handle,
      persistentVolume,
      attachmentName,
      node: on,
    })),
  ];
};

/**
 * Returns our mark as read, and whether it may be newer than the latest read of the machine. A mark that this run saw
 * before that read is older.
 */
const markSeen = (memory: Memory, { node }: ClusterFacts): Pick<Memory, 'mark' | 'markIsNew'> => {
  const mark = node && ownMark(node);
  return { mark, markIsNew: mark !== null && (memory.markIsNew || mark !== memory.mark) };
};

/**
 * Returns since when this run has seen no taint of ours on the Node. Only a release needs it. If the record names
 * another removal than before, another run has set the taint between two looks, and removed it again.
 */
const untaintedAfter = (
  { request, memory: { untainted } }: RunState,
  { value: { node }, receivedAt }: Observation<ClusterFacts>,
): Memory['untainted'] => {
  if (request.intent !== 'release' || !node || node.taints.ours) return null;
  const released = node.record?.released ?? null;
  return untainted?.released === released ? untainted : { since: receivedAt, released };
};

/** Adds a read of the cluster. The read includes everything that was done since the previous look. */
export const withClusterRead = (state: RunState, cluster: Observation<ClusterFacts>, now: Moment): RunState => {
  const { memory } = state;
  return {
    ...state,
    cluster,
    record: cluster.value.node?.record ?? state.record,
    memory: {
      ...memory,
      sinceLook: new Set(),
      failedSinceLook: new Set(),
      ...baselineLease(memory, cluster.value.lease, cluster.requestedAt, cluster.receivedAt),
      ...markSeen(memory, cluster.value),
      firstLease: memory.firstLease === undefined && state.machine ? cluster.value.lease : memory.firstLease,
      ...statedOnNode(state, cluster),
      untainted: untaintedAfter(state, cluster),
      attachments: attachmentsLeft(memory, cluster.value),
      volumesLeft: volumesLeft(memory, cluster.value),
      unwanted: unwantedSince(memory, cluster.value, now),
    },
  };
};
