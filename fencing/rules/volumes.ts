import type { AttachmentFacts, VolumeFacts } from '../model/cluster-facts.ts';
import type { DiskAttachment } from '../model/machine.ts';
import { timing } from '../model/policy.ts';
import { because } from '../model/reason.ts';
import { type CloudStep, type Step, stepKey } from '../model/steps.ts';
import { isVolumeGone, targetMachine } from './identity.ts';
import { podsToDelete, podsWanting } from './pods.ts';
import { type PlannedStep, type Decision, type Rule, takeStep, takeSteps, type View } from './view.ts';

/**
 * How the volumes of a machine become free: when Cloudfence deletes a lingering VolumeAttachment, nudges the attacher,
 * or detaches a disk through the cloud.
 */

/**
 * Returns whether the attachment belongs to the dead machine, and not to a new machine with the same Node name. If the
 * driver wrote no machine id of this cloud, the attachment counts as belonging to the dead machine.
 */
export const isOfThisMachine = ({ machine, identityRules }: View, { source }: AttachmentFacts): boolean =>
  [machine.machine, null].includes(source && identityRules.machineOf(source));

/** Returns how long (ms) this run has seen no pod object of the Node that uses the volume. */
export const unwantedForMs = ({ memory, now }: View, key: string): number => {
  const since = memory.unwanted.get(key);
  return since === undefined ? 0 : now.mono - since;
};

/**
 * Returns how long (ms) an unused attachment may remain. If the Node is gone, nothing except Cloudfence requests the
 * detach before Kubernetes' six-minute timer.
 */
const mayLinger = ({ cluster }: View): number => (cluster.node ? timing.attachmentLingers : 0);

/** Returns the attached volumes that a fence frees: all but those that a pod needs which Cloudfence leaves alone. */
export const volumesToFree = (view: Pick<View, 'cluster'>): readonly VolumeFacts[] => {
  const deletable = new Set(podsToDelete(view));
  return view.cluster.volumes.filter(
    ({ attachment, key }) => attachment !== null && podsWanting(view, key).every((pod) => deletable.has(pod)),
  );
};

const lingers = (view: View, volume: VolumeFacts): boolean => {
  const { attachment, key, nameTaken } = volume;
  if (!attachment || attachment.deletingSince !== null || nameTaken) return false;
  return (
    podsWanting(view, key).length === 0 &&
    isOfThisMachine(view, attachment) &&
    unwantedForMs(view, key) >= mayLinger(view)
  );
};

/**
 * Deletes a VolumeAttachment that no pod uses. Never deletes it while a pod uses the volume, because attach-detach
 * would create a new attachment to the dead machine. Never deletes it if the Node name was reused, because the attacher
 * would read the CSINode of the new machine.
 */
export const deleteLingeringAttachment: Rule = (view) =>
  takeSteps(
    view.cluster.volumes.flatMap((volume): readonly PlannedStep[] => {
      if (!volume.attachment || !lingers(view, volume)) return [];
      const { name, uid } = volume.attachment;
      const step: Step = { do: 'delete-attachment', attachment: { name, uid } };
      if (view.memory.sinceLook.has(stepKey(step)) || view.memory.declined.has(stepKey(step))) return [];
      return [{ step, because: because('attachment-lingers', `no pod on this Node uses ${volume.key} any more`) }];
    }),
  );

/** Returns the disk of a volume if the cloud reports it as attached to exactly this machine. */
export const attachedDiskOf = ({ machine, identityRules }: View, volume: VolumeFacts): DiskAttachment | null => {
  const disk = identityRules.diskOf(volume);
  return machine.disks.find((other) => other.disk === disk) ?? null;
};

/**
 * Returns whether Kubernetes has released the volume on this machine, is releasing it, or will never release it. If
 * another machine uses the Node name now, Kubernetes treats the attachment as one of the new machine, and keeps it.
 */
const isReleasedByKubernetes = (view: View, { attachment, nameTaken }: VolumeFacts): boolean =>
  attachment === null ||
  attachment.deletingSince !== null ||
  !isOfThisMachine(view, attachment) ||
  (view.cluster.node === null && nameTaken);

/** Returns all volumes on this disk. Several PersistentVolumes may name one disk, each in its own form. */
const volumesOn = ({ cluster, identityRules }: View, { disk }: DiskAttachment): readonly VolumeFacts[] =>
  cluster.volumes.filter((volume) => !isVolumeGone(volume) && identityRules.diskOf(volume) === disk);

/** Returns whether a pod on the Node uses the disk, or may use it, through any of its PersistentVolumes. */
export const isDiskWanted = (view: View, disk: DiskAttachment): boolean =>
  volumesOn(view, disk).some(({ key }) => podsWanting(view, key).length > 0);

/**
 * Returns whether Cloudfence may detach the disk. It may detach only data disks of this Node's PersistentVolumes that
 * no pod on the Node uses and that Kubernetes has released.
 */
const mayDetach = (view: View, volume: VolumeFacts, disk: DiskAttachment): boolean =>
  disk.keep === null &&
  volume.persistentVolume !== null &&
  !isDiskWanted(view, disk) &&
  volumesOn(view, disk).every((one) => isReleasedByKubernetes(view, one));

/**
 * Returns how long (ms) the detach of the volume has been awaited. The API server's clock may be wrong. So the longer
 * of two times counts: the one from the API server, and the one that this run measured.
 */
const waitingForMs = (view: View, { key, attachment }: VolumeFacts): number =>
  Math.max(attachment?.deletingSince != null ? view.now.wall - attachment.deletingSince : 0, unwantedForMs(view, key));

/**
 * Returns how long (ms) Kubernetes may take for the detach. If the attachment is gone, Kubernetes does not request the
 * detach again. After a failure, it does not do so soon. A driver may report a detach that did not happen.
 */
const detachTimeLimit = ({ attachment }: VolumeFacts): number =>
  attachment === null || attachment.detachError !== null ? timing.detachFailed : timing.detachStuck;

/** Returns when the time limit of Kubernetes for the detach ends (ms from now; zero or negative if it has ended). */
const detachDueIn = (view: View, volume: VolumeFacts): number => detachTimeLimit(volume) - waitingForMs(view, volume);

const stuck = (view: View, volume: VolumeFacts): boolean => detachDueIn(view, volume) <= 0;

export const detach = (view: Pick<View, 'machine'>, disk: DiskAttachment, mode: 'plain' | 'forced'): CloudStep => ({
  do: 'detach-disk',
  from: targetMachine(view),
  disk: disk.disk,
  mode,
});

const askedFor = ({ memory, now }: View, step: CloudStep): number | null => {
  const asked = memory.takenAt.get(stepKey(step));
  return asked === undefined ? null : now.mono - asked;
};

/**
 * Returns when the time limit of a plain detach ends (ms from now; zero or negative if it has ended), whether the
 * driver, an earlier run, or this run requested it.
 */
const forceDueIn = (view: View, volume: VolumeFacts, disk: DiskAttachment): number =>
  timing.plainDetach - (askedFor(view, detach(view, disk, 'plain')) ?? waitingForMs(view, volume) - timing.detachStuck);

/**
 * Returns when the next detach through the cloud is due for the volume (ms from now), either plain or forced. Zero or
 * negative if it is already due.
 */
export const detachesDueIn = (view: View, volume: VolumeFacts): readonly number[] => {
  const disk = attachedDiskOf(view, volume);
  return [detachDueIn(view, volume), ...(disk ? [forceDueIn(view, volume, disk)] : [])];
};

/**
 * Returns the next detach of the disk, or null. A plain detach comes first. A forced detach follows only if a plain
 * detach has been in progress for long and the disk is still attached.
 */
const nextDetach = (view: View, volume: VolumeFacts, disk: DiskAttachment): CloudStep | null => {
  const plain = detach(view, disk, 'plain');
  const forced = detach(view, disk, 'forced');
  if (askedFor(view, plain) === null && disk.state !== 'detaching') return plain;
  if (forceDueIn(view, volume, disk) > 0) return null;
  return (askedFor(view, forced) ?? Infinity) >= timing.plainDetach ? forced : null;
};

/**
 * Returns whether the cloud rejected the detach of the disk and nobody else is detaching it. The fence then continues
 * without the disk, and its end reports that.
 */
export const isDetachDeclined = (view: View, disk: DiskAttachment): boolean => {
  const isDeclined = (mode: 'plain' | 'forced'): boolean => view.memory.declined.has(stepKey(detach(view, disk, mode)));
  return isDeclined('forced') || (isDeclined('plain') && disk.state !== 'detaching');
};

const dueDetach = (view: View, volume: VolumeFacts, disk: DiskAttachment): CloudStep | null =>
  view.policy.detach === 'always' || stuck(view, volume) ? nextDetach(view, volume, disk) : null;

/**
 * Detaches disks through the cloud that Kubernetes does not detach. If the policy is `always`, it does not wait for
 * Kubernetes.
 */
export const detachDisk: Rule = (view) => {
  if (view.policy.detach === 'never') return null;
  const planned = view.cluster.volumes.flatMap((volume): readonly PlannedStep[] => {
    const disk = attachedDiskOf(view, volume);
    const step = disk && mayDetach(view, volume, disk) ? dueDetach(view, volume, disk) : null;
    if (!disk || !step || view.memory.declined.has(stepKey(step))) return [];
    const says = `the cloud still reports ${disk.disk} as ${disk.state} on ${view.machine.machine}`;
    return [{ step, because: because('disk-still-attached', says) }];
  });
  // Two volumes on one disk need only one detach.
  return takeSteps([...new Map(planned.map((one) => [stepKey(one.step), one])).values()]);
};

/**
 * Nudges an attacher. The attacher's back-off grows to five minutes. Any change of the VolumeAttachment's metadata ends
 * it. After the disk is free, nudges the old attachment and then the new one. Removes the nudge afterwards.
 */
export const nudgeAttacher: Rule = (view) => {
  for (const volume of view.cluster.volumes) {
    const decision = nudgeOld(view, volume) ?? nudgeNew(view, volume);
    if (decision) return decision;
  }
  return null;
};

const nudge = ({ name, uid }: AttachmentFacts, on: boolean): Step => ({ do: 'nudge', attachment: { name, uid }, on });

const nudgeEndsIn = ({ memory, now }: View, step: Step): number =>
  timing.nudge - (now.mono - (memory.takenAt.get(stepKey(step)) ?? -Infinity));

const nudgedLately = (view: View, step: Step): boolean => nudgeEndsIn(view, step) > 0;

/** Returns how long (ms) the nudge stays on the attachment. Zero or negative if it must be removed. */
export const nudgeLastsFor = (view: View, attachment: AttachmentFacts): number =>
  nudgeEndsIn(view, nudge(attachment, true));

/**
 * Nudges the old attachment if the driver failed to detach and the cloud reports the disk as free now. The attacher
 * then only has to try again.
 */
const nudgeOld = (view: View, volume: VolumeFacts): Decision | null => {
  const { attachment } = volume;
  if (
    !attachment ||
    attachment.deletingSince === null ||
    attachment.detachError === null ||
    attachedDiskOf(view, volume)
  )
    return null;
  const step = nudge(attachment, true);
  return nudgedLately(view, step)
    ? null
    : takeStep(
        step,
        because('attacher-in-back-off', `the disk of ${volume.key} is free, but its CSI attacher has not noticed yet`),
      );
};

/**
 * Returns whether the attach for the new Node has failed, or must have failed because the disk was attached until
 * Cloudfence freed it.
 */
const failedAtFirst = ({ memory }: View, key: string, { attachError }: AttachmentFacts): boolean =>
  memory.detached.has(key) || attachError !== null;

/**
 * Nudges the new attachment, or removes a nudge. It removes every nudge that it finds, because an earlier run may have
 * died before it could remove its nudge.
 */
const nudgeNew = (view: View, volume: VolumeFacts): Decision | null => {
  const { key, successor, attachment } = volume;
  if (!successor || attachment) return null;
  const on = nudge(successor, true);
  if (successor.nudged) {
    const off = nudge(successor, false);
    // A dry run would simulate the removal again and again.
    const settled = (successor.attached || !nudgedLately(view, on)) && !view.memory.sinceLook.has(stepKey(off));
    return settled
      ? takeStep(off, because('attacher-nudged', `Cloudfence removes the nudge from the attachment of ${key}`))
      : null;
  }
  if (successor.attached || view.memory.takenAt.has(stepKey(on)) || attachedDiskOf(view, volume)) return null;
  return failedAtFirst(view, key, successor)
    ? takeStep(
        on,
        because('attacher-in-back-off', `${key} is free, but the CSI attacher has not attached it to the new Node yet`),
      )
    : null;
};
