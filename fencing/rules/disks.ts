import type { VolumeFacts } from '../cluster-facts.ts';
import type { DiskAttachment } from '../machine.ts';
import { patience } from '../policy.ts';
import { because } from '../reason.ts';
import { stepKey, type CloudStep } from '../steps.ts';
import { take, type Rule, type View } from '../view.ts';
import { isOfThisMachine, unwantedFor } from './attachments.ts';
import { wantedBy } from './pods.ts';

/** The disk below a volume, if the cloud shows it attached to this very machine. */
export const diskBelow = ({ machine, reading }: View, volume: VolumeFacts): DiskAttachment | null => {
  const disk = reading.diskOf(volume);
  return machine.disks.find((other) => other.disk === disk) ?? null;
};

/** Kubernetes has let go, or is letting go, of the volume on this machine. */
const letGo = (view: View, { attachment }: VolumeFacts): boolean =>
  attachment === null || attachment.deletingSince !== null || !isOfThisMachine(view, attachment);

/** Only data disks of that Node's PersistentVolumes, which nobody there wants and Kubernetes has let go of. */
const mayDetach = (view: View, volume: VolumeFacts, disk: DiskAttachment): boolean =>
  disk.keep === null && volume.persistentVolume !== null && wantedBy(view, volume.key).length === 0 && letGo(view, volume);

const goingFor = (view: View, { key, attachment }: VolumeFacts): number =>
  attachment?.deletingSince != null ? view.now.wall - attachment.deletingSince : unwantedFor(view, key);

const stuck = (view: View, volume: VolumeFacts): boolean =>
  goingFor(view, volume) >= (volume.attachment?.detachError != null ? patience.detachFailed : patience.detachStuck);

const detach = (view: View, disk: DiskAttachment, manner: 'plain' | 'forced'): CloudStep => ({
  do: 'detach-disk',
  machine: view.machine.machine,
  disk: disk.disk,
  manner,
});

/** Plain first. Force only when a plain detach of ours was accepted long ago and the disk still has not come off. */
const nextDetach = (view: View, disk: DiskAttachment): CloudStep | null => {
  const plain = view.memory.asked.get(stepKey(detach(view, disk, 'plain')));
  if (plain === undefined) return disk.state === 'detaching' ? null : detach(view, disk, 'plain');
  if (view.now.mono - plain < patience.plainDetach) return null;
  const forced = view.memory.asked.get(stepKey(detach(view, disk, 'forced')));
  return forced === undefined || view.now.mono - forced >= patience.plainDetach ? detach(view, disk, 'forced') : null;
};

/** Detaches through the cloud what Kubernetes cannot, or at once where the policy says so. */
export const detachDisk: Rule = (view) => {
  if (view.policy.detach === 'never') return null;
  for (const volume of view.cluster.volumes) {
    const disk = diskBelow(view, volume);
    if (!disk || !mayDetach(view, volume, disk)) continue;
    const due = view.policy.detach === 'always' || stuck(view, volume);
    const step = due ? nextDetach(view, disk) : null;
    if (step) return take(step, because('disk-still-attached', `${disk.disk} is still ${disk.state} at ${view.machine.machine}`));
  }
  return null;
};
