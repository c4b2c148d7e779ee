import type { AttachmentFacts, VolumeFacts } from '../model/cluster-facts.ts';
import type { DiskAttachment } from '../model/machine.ts';
import { timing } from '../model/policy.ts';
import { because } from '../model/reason.ts';
import { type CloudStep, type Step, stepKey } from '../model/steps.ts';
import { targetMachine } from './identity.ts';
import { podsWanting } from './pods.ts';
import { type Act, type Decision, type Rule, takeStep, takeSteps, type View } from './view.ts';

/**
 * When the volumes of a machine get free: when a lingering VolumeAttachment is deleted, when the attacher is nudged, and
 * when a disk is detached through the cloud.
 */

/**
 * Returns whether the attachment belongs to the dead machine and not to a new machine under the same Node name. If the
 * driver's note names no machine of this cloud, it says nothing, and the attachment counts as the dead machine's.
 */
export const isOfThisMachine = ({ machine, identityRules }: View, { source }: AttachmentFacts): boolean =>
  [machine.machine, null].includes(source && identityRules.machineOf(source));

/** Returns for how long (ms) this run has seen no pod object of the Node that wants the volume. */
export const unwantedForMs = ({ memory, now }: View, key: string): number => {
  const since = memory.unwanted.get(key);
  return since === undefined ? 0 : now.mono - since;
};

/**
 * Returns how long (ms) an unwanted attachment may remain. If the Node is gone, only Cloudfence asks for the detach
 * before a six-minute timer does.
 */
const mayLinger = ({ cluster }: View): number => (cluster.node ? timing.attachmentLingers : 0);

const lingers = (view: View, volume: VolumeFacts): boolean => {
  const { attachment, key } = volume;
  if (!attachment || attachment.deletingSince !== null) return false;
  return (
    podsWanting(view, key).length === 0 &&
    isOfThisMachine(view, attachment) &&
    unwantedForMs(view, key) >= mayLinger(view)
  );
};

/**
 * Deletes a VolumeAttachment that exists although no pod wants it. Never deletes it while a pod wants it, because
 * attach-detach would make a new one to the dead machine. Never deletes it under a reused Node name, because the
 * attacher would ask the CSINode of the new machine.
 */
export const deleteLingeringAttachment: Rule = (view) => {
  if (view.cluster.nameTaken) return null;
  return takeSteps(
    view.cluster.volumes.flatMap((volume): readonly Act[] => {
      if (!volume.attachment || !lingers(view, volume)) return [];
      const { name, uid } = volume.attachment;
      const step: Step = { do: 'delete-attachment', attachment: { name, uid } };
      if (view.memory.sinceLook.has(stepKey(step)) || view.memory.declined.has(stepKey(step))) return [];
      return [{ step, because: because('attachment-lingers', `no pod on this Node uses ${volume.key} any more`) }];
    }),
  );
};

/** Returns the disk of a volume, if the cloud shows it attached to exactly this machine. */
export const attachedDiskOf = ({ machine, identityRules }: View, volume: VolumeFacts): DiskAttachment | null => {
  const disk = identityRules.diskOf(volume);
  return machine.disks.find((other) => other.disk === disk) ?? null;
};

/**
 * Returns whether another machine uses the Node name by now. Kubernetes then believes that the attachment belongs
 * to the new machine, and keeps it.
 */
const takenForAnothers = ({ cluster }: View): boolean => cluster.node === null && cluster.nameTaken;

/** Returns whether Kubernetes has released the volume on this machine, is releasing it, or never will. */
const letGo = (view: View, { attachment }: VolumeFacts): boolean =>
  attachment === null ||
  attachment.deletingSince !== null ||
  !isOfThisMachine(view, attachment) ||
  takenForAnothers(view);

/**
 * Returns whether Cloudfence may detach the disk. It may detach only data disks of that Node's PersistentVolumes that
 * no pod there wants and that Kubernetes has released.
 */
const mayDetach = (view: View, volume: VolumeFacts, disk: DiskAttachment): boolean =>
  disk.keep === null &&
  volume.persistentVolume !== null &&
  podsWanting(view, volume.key).length === 0 &&
  letGo(view, volume);

/**
 * Returns how long (ms) the volume has been waiting for its detach. The API server's clock may be wrong, so the time
 * that this run saw itself counts too, whichever is longer.
 */
const waitingForMs = (view: View, { key, attachment }: VolumeFacts): number =>
  Math.max(attachment?.deletingSince != null ? view.now.wall - attachment.deletingSince : 0, unwantedForMs(view, key));

/**
 * Returns how long (ms) Kubernetes has for the detach. Once it has no attachment any more, it does not ask again, and
 * after a failure it does not ask soon. A driver may report a detach that did not happen.
 */
const detachTimeLimit = ({ attachment }: VolumeFacts): number =>
  attachment === null || attachment.detachError !== null ? timing.detachFailed : timing.detachStuck;

/** Returns when Kubernetes has had long enough for the detach (ms from now; not positive if it has). */
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
 * Returns when a plain detach of the disk has had long enough (ms from now; not positive if it has), whether the driver,
 * an earlier run, or this run requested it.
 */
const forceDueIn = (view: View, volume: VolumeFacts, disk: DiskAttachment): number =>
  timing.plainDetach - (askedFor(view, detach(view, disk, 'plain')) ?? waitingForMs(view, volume) - timing.detachStuck);

/**
 * Returns when a detach through the cloud is due for the volume (ms from now): a plain one, or one by force. Not
 * positive if it was due before.
 */
export const detachesDueIn = (view: View, volume: VolumeFacts): readonly number[] => {
  const disk = attachedDiskOf(view, volume);
  return [detachDueIn(view, volume), ...(disk ? [forceDueIn(view, volume, disk)] : [])];
};

/**
 * Returns the next detach of the disk, or null. Plain comes first. Force comes only if a plain detach has been in
 * progress for long and the disk is still attached.
 */
const nextDetach = (view: View, volume: VolumeFacts, disk: DiskAttachment): CloudStep | null => {
  const plain = detach(view, disk, 'plain');
  const forced = detach(view, disk, 'forced');
  if (askedFor(view, plain) === null && disk.state !== 'detaching') return plain;
  if (forceDueIn(view, volume, disk) > 0) return null;
  return (askedFor(view, forced) ?? Infinity) >= timing.plainDetach ? forced : null;
};

/**
 * Returns whether the cloud declined to detach the disk and no one else is detaching it. The fence then continues
 * without the disk, and its end says so.
 */
export const isDetachDeclined = (view: View, disk: DiskAttachment): boolean => {
  const isDeclined = (mode: 'plain' | 'forced'): boolean => view.memory.declined.has(stepKey(detach(view, disk, mode)));
  return isDeclined('forced') || (isDeclined('plain') && disk.state !== 'detaching');
};

const dueDetach = (view: View, volume: VolumeFacts, disk: DiskAttachment): CloudStep | null =>
  view.policy.detach === 'always' || stuck(view, volume) ? nextDetach(view, volume, disk) : null;

/** Detaches through the cloud what Kubernetes cannot detach. If the policy says so, it does not wait for Kubernetes. */
export const detachDisk: Rule = (view) => {
  if (view.policy.detach === 'never') return null;
  return takeSteps(
    view.cluster.volumes.flatMap((volume): readonly Act[] => {
      const disk = attachedDiskOf(view, volume);
      const step = disk && mayDetach(view, volume, disk) ? dueDetach(view, volume, disk) : null;
      if (!disk || !step || view.memory.declined.has(stepKey(step))) return [];
      const says = `the cloud still reports ${disk.disk} as ${disk.state} on ${view.machine.machine}`;
      return [{ step, because: because('disk-still-attached', says) }];
    }),
  );
};

/**
 * Nudges an attacher. Its back-off grows to five minutes, and any change of a VolumeAttachment's metadata ends it. Once
 * the disk is free, nudges the old attachment and then the new one. Removes what it wrote afterwards.
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

/** Returns how long (ms) this run leaves its nudge on the attachment. Not positive if the time is over. */
export const nudgeLastsFor = (view: View, attachment: AttachmentFacts): number =>
  nudgeEndsIn(view, nudge(attachment, true));

/**
 * Nudges the old attachment if the driver failed to detach and the cloud shows the disk free by now. The attacher only
 * has to look again.
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
 * Returns whether the new attachment's driver has failed, or must have failed because the disk was held until
 * Cloudfence freed it.
 */
const failedAtFirst = ({ memory }: View, key: string, { attachError }: AttachmentFacts): boolean =>
  memory.detached.has(key) || attachError !== null;

/**
 * Nudges the new attachment, or removes a nudge. It removes any nudge that it finds, because an earlier run may have
 * died in between.
 */
const nudgeNew = (view: View, volume: VolumeFacts): Decision | null => {
  const { key, successor, attachment } = volume;
  if (!successor || attachment) return null;
  const on = nudge(successor, true);
  if (successor.nudged) {
    const off = nudge(successor, false);
    // A dry run only imagines the removal, and would imagine it without end.
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
