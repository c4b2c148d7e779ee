import type { AttachmentFacts, VolumeFacts } from '../cluster-facts.ts';
import { patience } from '../policy.ts';
import { because } from '../reason.ts';
import { stepKey, type Step } from '../steps.ts';
import { take, type Decision, type Rule, type View } from '../view.ts';
import { diskBelow } from './disks.ts';

/**
 * The attacher's back-off grows to five minutes, and any change of a VolumeAttachment's metadata ends it.
 * Once the disk is free the old attachment is nudged, then the new one; what we wrote is taken off again.
 */
export const nudgeAttacher: Rule = (view) => {
  for (const volume of view.cluster.volumes) {
    const decision = nudgeOld(view, volume) ?? nudgeNew(view, volume);
    if (decision) return decision;
  }
  return null;
};

const nudge = ({ name, uid }: AttachmentFacts, on: boolean): Step => ({ do: 'nudge', attachment: { name, uid }, on });

const nudgedLately = ({ memory, now }: View, step: Step): boolean => now.mono - (memory.asked.get(stepKey(step)) ?? -Infinity) < patience.nudge;

/** The driver failed to detach and the cloud shows the disk free by now: the attacher only has to look again. */
const nudgeOld = (view: View, volume: VolumeFacts): Decision | null => {
  const { attachment } = volume;
  if (!attachment || attachment.deletingSince === null || attachment.detachError === null || diskBelow(view, volume)) return null;
  const step = nudge(attachment, true);
  return nudgedLately(view, step) ? null : take(step, because('attacher-in-back-off', `the disk of ${volume.key} is free, its attacher has not noticed`));
};

/** The new attachment's driver has failed, or must have: the disk was held until we freed it. */
const failedAtFirst = ({ memory }: View, key: string, { attachError }: AttachmentFacts): boolean => memory.detached.has(key) || attachError !== null;

/** A nudge that stands is taken off whoever made it: a run before this one may have died in between. */
const nudgeNew = (view: View, volume: VolumeFacts): Decision | null => {
  const { key, successor, attachment } = volume;
  if (!successor || attachment) return null;
  const on = nudge(successor, true);
  if (successor.nudged) {
    const off = nudge(successor, false);
    // A dry run only imagines it, and would imagine it without end.
    const settled = (successor.attached || !nudgedLately(view, on)) && !view.memory.sinceLook.has(stepKey(off));
    return settled ? take(off, because('attacher-nudged', `the nudge of ${key} has done its work`)) : null;
  }
  if (successor.attached || view.memory.asked.has(stepKey(on)) || diskBelow(view, volume)) return null;
  return failedAtFirst(view, key, successor) ? take(on, because('attacher-in-back-off', `${key} is free, the attacher of the new node has not noticed`)) : null;
};
