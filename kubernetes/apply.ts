import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Applied } from '../fencing/cluster.ts';
import { Refused } from '../fencing/errors.ts';
import type { ClusterStep, NodeTarget } from '../fencing/steps.ts';
import { deleteAttachment, nudge } from './apply-attachment.ts';
import { deletePod, failPod } from './apply-pod.ts';
import { deleting } from './deleting.ts';
import type { Desk } from './desk.ts';
import { saysChanged } from './errors.ts';
import type { FenceStep } from './fence-patch.ts';
import { fencePatch } from './fence-patch.ts';
import { readNode } from './node-look.ts';

const expectationOf = ({ name, uid, bootID, recordText }: NodeTarget): string =>
  `${name} is not as it was seen: uid ${uid}, boot ${bootID}, ${recordText === null ? 'no fence' : 'the fence as read'}, and its taints as read`;

const patchFence = async ({ reader, writer }: Desk, step: FenceStep): Promise<Applied> => {
  const { name } = step.node;
  const node = await readNode(reader, name);
  if (!node) throw new Refused(`the Node ${name} is gone`);
  const body = fencePatch(node, step);
  if (body === 'already') return 'already';
  try {
    await writer.write(CoreV1Api, (core) => core.patchNode({ name, body }));
  } catch (error) {
    throw saysChanged(error) ? new Refused(expectationOf(step.node), { cause: error }) : error;
  }
  return 'done';
};

/** Only the very Node that was read after the proof: a kubelet that came back has written to it since. */
const deleteNode = (desk: Desk, { name, uid, resourceVersion }: NodeTarget): Promise<Applied> =>
  deleting(
    uid,
    () => desk.writer.write(CoreV1Api, (core) => core.deleteNode({ name, body: { preconditions: { uid, resourceVersion } } })),
    () => readNode(desk.reader, name),
  );

/** Carries one step out: one write, sent once, with its preconditions inside. */
export const apply = (desk: Desk, step: ClusterStep): Promise<Applied> => {
  switch (step.do) {
    case 'mark':
    case 'note':
    case 'park':
    case 'readmit-volumes':
    case 'readmit-pods':
    case 'entomb':
    case 'note-stopping':
      return patchFence(desk, step);
    case 'fail-pod':
      return failPod(desk, step.pod);
    case 'delete-pod':
      return deletePod(desk, step.pod);
    case 'delete-attachment':
      return deleteAttachment(desk, step.attachment);
    case 'nudge':
      return nudge(desk, step.attachment, step.on);
    case 'delete-node':
      return deleteNode(desk, step.node);
  }
};
