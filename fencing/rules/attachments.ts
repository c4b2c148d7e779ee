import type { AttachmentFacts, VolumeFacts } from '../model/cluster-facts.ts';
import { patience } from '../model/policy.ts';
import { because } from '../model/reason.ts';
import { stepKey, type Step } from '../model/steps.ts';
import { type Act, takeSteps, type Rule, type View } from './view.ts';
import { podsWanting } from './pods.ts';

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
const mayLinger = ({ cluster }: View): number => (cluster.node ? patience.attachmentLingers : 0);

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
