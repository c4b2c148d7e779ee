import { cloudfence, stateChanges } from '../entry-points/programs.ts';
import type { WarmHandler } from '../entry-points/warm-handler.ts';
import { startWarmHandler } from '../entry-points/warm-handler.ts';
import { listOf, pod, volumeAttachment } from '../../testbed/objects.ts';
import type { Crash } from './crash.ts';

/**
 * A remedy for a machine that is off. Resolves with the time (ms) that its process took to start, if one was started.
 */
export type Remedy = (crash: Crash) => Promise<number | null>;

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';

const nodePath = ({ home }: Crash): string => `/api/v1/nodes/${home.name}`;

const addTaint = async (crash: Crash, effect: 'NoSchedule' | 'NoExecute'): Promise<void> => {
  const taints = [{ op: 'add', path: '/spec/taints', value: [{ key: OUT_OF_SERVICE, value: 'nodeshutdown', effect }] }];
  await crash.scene.testbed.admin.write('PATCH', nodePath(crash), taints, 'application/json-patch+json');
};

const deletePods = async ({ scene: { testbed }, home }: Crash): Promise<void> => {
  const { items } = listOf(pod).parse(await testbed.admin.get(`/api/v1/pods?fieldSelector=spec.nodeName=${home.name}`));
  await Promise.all(
    items.map(({ metadata }) =>
      testbed.admin.write('DELETE', `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`, {
        gracePeriodSeconds: 0,
      }),
    ),
  );
};

const deleteAttachments = async ({ scene: { testbed }, home }: Crash): Promise<void> => {
  const { items } = listOf(volumeAttachment).parse(await testbed.admin.get(ATTACHMENTS));
  const own = items.filter(({ spec }) => spec.nodeName === home.name);
  await Promise.all(own.map(({ metadata }) => testbed.admin.write('DELETE', `${ATTACHMENTS}/${metadata.name}`)));
};

const deleteNode = (crash: Crash): Promise<unknown> => crash.scene.testbed.admin.write('DELETE', nodePath(crash));

export const nothing: Remedy = async () => null;

export const taintOnly =
  (effect: 'NoSchedule' | 'NoExecute'): Remedy =>
  async (crash) => {
    await addTaint(crash, effect);
    return null;
  };

export const nodeDeleted: Remedy = async (crash) => {
  await deleteNode(crash);
  return null;
};

export const allDeleted: Remedy = async (crash) => {
  await deleteNode(crash);
  await deletePods(crash);
  await deleteAttachments(crash);
  return null;
};

/** The fastest that a script can be, with open connections and without a proof. */
export const proofless: Remedy = async (crash) => {
  await addTaint(crash, 'NoSchedule');
  await deletePods(crash);
  return null;
};

const eventOf = ({ home, scene: { testbed } }: Crash) => stateChanges(home.instance, ['stopped'], testbed.access.ec2);

export const byHandler =
  (handler: WarmHandler): Remedy =>
  async (crash) => {
    await handler.deliver(eventOf(crash));
    return null;
  };

/** From the start of the process on. */
export const byColdHandler: Remedy = async (crash) => {
  const handler = await startWarmHandler(crash.scene.testbed.access);
  try {
    return (await handler.deliver(eventOf(crash))).loadedAfter;
  } finally {
    await handler.close();
  }
};

export const byCli: Remedy = async ({ home, scene: { testbed } }) => {
  const { code, says } = await cloudfence(testbed.access, 'fence', home.instance);
  if (code !== 0) throw new Error(`the CLI ended with ${code}: ${says.reason}`);
  return null;
};
