import type { IdentitySource } from '../model/machine.ts';
import { timing } from '../model/policy.ts';
import { because, pluralize } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { hasNothingToFree } from './guards.ts';
import {
  acceptCommand,
  beganWithoutMachine,
  isVolumeGone,
  acceptHint,
  mayHaveFreed,
  nodeShowsAnotherBoot,
  witnessAttachments,
  witnessDisks,
} from './identity.ts';
import { currentRecord } from './mark.ts';
import { type Decision, refuse, type Rule, type View, wait } from './view.ts';

/** Whether the cloud's answers are proof that the machine is off. */

/**
 * Returns a person's statement that the machine is off, or null. It comes with the request of this run, or from the
 * record of the fence that the run continues. A statement in the record counts only while the configuration allows
 * vouching. A fence continues without it if the cloud has proven the machine off in the meantime.
 */
export const vouchReasonWith = (
  record: FenceRecord | null,
  { request, policy }: Pick<View, 'request' | 'policy'>,
): string | null => request.vouched ?? (policy.vouching === 'accepted' ? (record?.vouched ?? null) : null);

/**
 * Returns the same for the boot that the Node and the cloud show now. A statement about another boot does not count.
 */
export const vouchReason = (view: View): string | null => {
  const { request, policy } = view;
  const vouched = isVouchedForAnotherBoot(view) ? null : request.vouched;
  return vouchReasonWith(currentRecord(view), { request: { ...request, vouched }, policy });
};

/** Returns every identity source that may show the location of the machine and that names exactly this machine. */
const ownIdentitySources = ({ cluster: { node, volumes }, machine, identityRules }: View): readonly IdentitySource[] =>
  [...(node?.identitySources ?? []), ...volumes.flatMap(({ attachment }) => attachment?.source ?? [])].filter(
    (source) => identityRules.machineOf(source) === machine.machine,
  );

/**
 * Refuses a machine in a location that Cloudfence does not serve. "Not found" in one location proves nothing about a
 * machine in another location.
 */
export const scopeNotServed: Rule = (view) => {
  const { machine, power } = view.machine;
  if ((power !== 'missing' && power !== 'unknown') || vouchReason(view) !== null) return null;
  const unserved = ownIdentitySources(view)
    .map(view.identityRules.unservedScope)
    .find((unserved) => unserved !== null);
  return unserved
    ? refuse(
        because(
          'scope-not-served',
          `${machine} is in ${unserved.scope}, which this install does not serve: ${unserved.remedy}`,
        ),
      )
    : null;
};

/**
 * Requires a witness for a machine that the cloud does not know. "Not found" alone is no proof, because a wrong account
 * or region gives the same answer. The disks that were attached to the machine are the witnesses. They confirm that the
 * machine is gone if all of them are found at its location and none names it any more.
 */
export const missingNeedsWitness: Rule = (view) => {
  if (view.machine.power !== 'missing' || vouchReason(view) !== null || takesNoWitness(view)) return null;
  const { machine } = view.machine;
  switch (view.memory.witness) {
    case 'released':
      return mayHaveFreed(view) ? witnessesStay(view) : null;
    case 'held':
      return stillHeld(view);
    case 'none':
      return refuse(
        because(
          'missing-without-witness',
          `the cloud does not know ${machine}, and it does not find all disks that were attached to it. Only ` +
            `all of them together can confirm that the machine is gone: ${witnessDisks(view).join(', ')}` +
            acceptHint(view.cluster.node),
        ),
      );
    case null:
      return askWitness(view);
  }
};

/**
 * Returns whether the fence may continue although there is no disk to ask any more. Either the disks that were
 * witnesses at the beginning were deleted with their volumes, or there is nothing left to free and the fence only has
 * to end.
 */
const takesNoWitness = (view: View): boolean => {
  const record = currentRecord(view);
  if (!record) return false;
  return beganWithoutMachine(record)
    ? record.volumes.some(({ attached }) => attached) && view.cluster.volumes.every(isVolumeGone)
    : hasNothingToFree(view);
};

/** Waits, and later refuses, while a disk still names the machine. Each look asks the disks again. */
const stillHeld = ({ machine: { machine }, memory: { firstOff }, now }: View): Decision => {
  const held = because(
    'missing-but-disk-held',
    `the cloud does not know ${machine}, but a disk is still attached to it`,
  );
  const mayLetGo = firstOff !== null && now.mono - firstOff.mono < timing.disksLetGo;
  return mayLetGo ? wait(timing.pollLongest, held) : refuse(held);
};

/**
 * Requires that the attachments of the witnesses still exist, and that there is no new attachment. Otherwise,
 * Kubernetes may have detached a disk before it was asked, and attached another disk that was not asked.
 */
const witnessesStay = (view: View): Decision | null => {
  const standing = witnessAttachments(view);
  const haveTestified = standing.every((uid) => view.memory.testified.includes(uid));
  return standing.length > 0 && haveTestified ? null : askWitness(view);
};

const askWitness = (view: View): Decision => {
  const disks = witnessDisks(view);
  const { machine } = view.machine;
  // The status of a drained Node no longer lists its attachments.
  if (disks.length === 0 && view.cluster.node && !view.memory.searched)
    return {
      do: 'search',
      because: because(
        'missing-without-witness',
        `the cloud does not know ${machine}, so Cloudfence looks for a disk that was attached to it`,
      ),
    };
  if (disks.length > 0)
    return {
      do: 'witness',
      disks,
      because: because(
        'missing-without-witness',
        `Cloudfence checks whether ${pluralize(disks.length, 'disk is', 'disks are')} still attached to ${machine}`,
      ),
    };
  return noWitness(view);
};

const noWitness = ({ machine: { machine }, cluster: { node } }: View): Decision =>
  refuse(
    because(
      'missing-without-witness',
      `the cloud does not know ${machine}, and no known disk can confirm that it is gone${acceptHint(node)}`,
    ),
  );

/**
 * Requests one search of the list of all attachments if a disk of the machine belongs to none of the Node's known
 * volumes. The disk may belong to an attachment that the Node's status no longer lists, for example on a drained Node.
 */
export const unexplainedDisk: Rule = ({ machine, cluster, memory, identityRules }) => {
  if (memory.searched || !cluster.node) return null;
  const explained = new Set(cluster.volumes.map((volume) => identityRules.diskOf(volume)));
  const disk = machine.disks.find(({ disk: id, keep }) => keep === null && !explained.has(id));
  return disk
    ? {
        do: 'search',
        because: because(
          'disks-going',
          `no known volume of Node ${cluster.node.name} uses ${disk.disk}, so Cloudfence searches all ` +
            'VolumeAttachments',
        ),
      }
    : null;
};

/**
 * Refuses a proof without a boot generation, because it could not be distinguished from a proof about the next boot.
 */
export const generationUnknown: Rule = (view) =>
  view.machine.generation === null && view.machine.power !== 'missing' && vouchReason(view) === null
    ? refuse(because('generation-unknown', `the cloud does not say which boot of ${view.machine.machine} has ended`))
    : null;

/**
 * Refuses a person's statement unless the configuration allows it. The statement never overrides a cloud that says that
 * the machine runs.
 */
export const vouchingRefused: Rule = (view) =>
  vouchReason(view) !== null && view.policy.vouching === 'refused'
    ? refuse(because('vouching-refused', 'the configuration does not allow vouching for a machine (policy.vouching)'))
    : null;

/**
 * Returns whether the cloud names another boot than when this run began, or names one only now. A machine that resumes
 * from memory keeps its bootID, so the Node does not show that. A generation that drifts shows it only if the kubelet
 * has also shown a sign of life since.
 */
const cloudNamesAnotherBoot = ({
  machine: { generation, generationDrifts },
  memory: { firstGeneration, firstLease },
  cluster: { lease },
}: View): boolean => {
  if (firstGeneration === undefined || generation === null || firstGeneration === generation) return false;
  return generationDrifts !== true || firstLease !== lease;
};

/** Returns whether the statement in the request of this run may be about another boot than the present one. */
const isVouchedForAnotherBoot = (view: View): boolean =>
  view.request.vouched !== null &&
  (view.memory.isStatementOld || nodeShowsAnotherBoot(view) || cloudNamesAnotherBoot(view));

/**
 * Refuses a person's statement if the Node or the cloud now shows another boot than when this run began, or if the
 * first answer came too late to show that. The machine may have been started since, for example while the process that
 * runs the command was frozen.
 */
export const vouchedForAnotherBoot: Rule = (view) =>
  isVouchedForAnotherBoot(view)
    ? refuse(
        because(
          'another-boot',
          `${view.machine.machine} may have been started since this command began: check the machine again, then ` +
            'run the command again',
        ),
      )
    : null;

/**
 * Refuses power states that are no proof. A suspended machine resumes from memory and writes within seconds. An unknown
 * power state shows nothing.
 */
export const doubtfulPower: Rule = (view) => {
  const { machine, power, evidence } = view.machine;
  if (vouchReason(view) !== null) return null;
  const evidenceText = Object.entries(evidence)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');
  if (power === 'suspended')
    return refuse(
      because(
        'suspended',
        `${machine} is or may be suspended. When it resumes, its guest writes again (${evidenceText})`,
      ),
    );
  if (power === 'unknown')
    return refuse(because('power-unknown', `the cloud does not report a power state for ${machine} (${evidenceText})`));
  return null;
};

/**
 * Returns whether the machine has been off since the fence began. A machine that the cloud no longer knows has no
 * generation. It has been off unless the record shows that Cloudfence has seen it run since.
 */
const isOffSince = ({ generation, phase }: FenceRecord, now: View['machine']): boolean =>
  now.generation === null
    ? now.power === 'missing' && (phase === 'fencing' || phase === 'fenced')
    : now.generation === generation;

/**
 * Refuses if the Node shows another boot than the record although the machine has been off ever since. In that case,
 * another machine's kubelet uses this Node's name, and a new fence would delete that machine's pods.
 */
export const bootContradicts: Rule = (view) => {
  const { node } = view.cluster;
  const { machine } = view.machine;
  const record = node?.record;
  if (!node || !record || record.bootID === node.bootID || !isOffSince(record, view.machine)) return null;
  return refuse(
    because(
      'identity-contradicted',
      `Node ${node.name} shows a different boot than when fence ${record.fence} began, although ${machine} has ` +
        'been off since then. Another machine may have this name: check both machines, then end the fence with ' +
        acceptCommand(node),
    ),
  );
};

/**
 * Refuses to fence a terminated machine if its Node was still in use long after the termination. The kubelet wrote the
 * date of the Lease, and its clock may be wrong. So the control plane must confirm it: the Node is Ready, or became
 * NotReady long after the termination. In that case, another machine's kubelet uses this Node's name.
 */
export const inUseAfterTermination: Rule = (view) => {
  const { node, lease } = view.cluster;
  const { machine, forGood, since } = view.machine;
  if (!node || lease === null || !forGood || since === null || currentRecord(view)) return null;
  const longAfter = since + timing.stopping;
  const inUse = node.ready === 'True' || node.readySince > longAfter;
  if (Date.parse(lease) <= longAfter || !inUse) return null;
  return refuse(
    because(
      'identity-contradicted',
      `the kubelet of Node ${node.name} renewed its Lease at ${lease}, long after ${machine} was terminated. ` +
        'Another machine may use this name: check it, and delete the Node so that its machine registers again',
    ),
  );
};
