import type { AttachmentFacts, PodFacts } from '../model/cluster-facts.ts';
import type { DiskAttachment } from '../model/machine.ts';
import { because } from '../model/reason.ts';
import { stepKey, type Step } from '../model/steps.ts';
import { detach } from './disks.ts';
import { fail, type Rule, type View } from './view.ts';

type Scene = Pick<View, 'memory' | 'machine' | 'cluster'>;
type Declined = View['memory']['declined'];

const stepsOnPod = (pod: PodFacts): readonly Step[] => [
  { do: 'fail-pod', pod },
  { do: 'delete-pod', pod },
];

const stepsOnAttachment = (attachment: AttachmentFacts): readonly Step[] => [
  { do: 'delete-attachment', attachment },
  { do: 'nudge', attachment, on: true },
  { do: 'nudge', attachment, on: false },
];

const stepsOnDisk = (scene: Scene, disk: DiskAttachment): readonly Step[] => [
  detach(scene, disk, 'plain'),
  detach(scene, disk, 'forced'),
];

const standingAttachments = ({ cluster }: Scene): readonly AttachmentFacts[] =>
  cluster.volumes.flatMap(({ attachment, successor }) => [attachment, successor]).filter((one) => one !== null);

/**
 * Returns what was declined and is still open. An object that is gone by now no longer needs the step, so its denial is
 * no reason for a failure.
 */
export const stillDeclined = (scene: Scene): Declined => {
  const open = new Set(
    [
      ...scene.cluster.pods.flatMap(stepsOnPod),
      ...standingAttachments(scene).flatMap(stepsOnAttachment),
      ...scene.machine.disks.flatMap((disk) => stepsOnDisk(scene, disk)),
    ].map(stepKey),
  );
  return new Map([...scene.memory.declined].filter(([key]) => open.has(key)));
};

export const describeDeclined = (declined: Declined): string => `declined: ${[...declined.values()].join('; ')}`;

/** Fails the run if a step was declined to the end. Everything else is done. */
export const failIfDeclined: Rule = (view) => {
  const declined = stillDeclined(view);
  return declined.size > 0 ? fail(because('step-refused', describeDeclined(declined))) : null;
};
