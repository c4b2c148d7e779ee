import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import { listOf, volumeAttachment } from '../../testbed/objects.ts';
import { until } from '../../testbed/until.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { powerOff } from '../scenes/power-off.ts';
import type { Scene } from '../scenes/scene.ts';
import { openScene } from '../scenes/scene.ts';
import { volumeName } from '../scenes/volume.ts';
import { statefulSet } from '../scenes/workload.ts';
import { PARKED, worldOf, worldWith } from '../scenes/world.ts';

const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';
const csiNodePath = ({ name }: TestbedNode): string => `/apis/storage.k8s.io/v1/csinodes/${name}`;

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

describe.concurrent('a dead node', () => {
  it('whose CSINode someone has deleted releases its volume like any other', async () => {
    const scene = await openScene(testbed, 'no-csi-node');
    const home = await scene.addNode();
    await scene.addClaim('data-db-0');
    await scene.create(statefulSet('db'));
    await scene.runs('db-0', home);
    const refuge = await scene.addRefuge();
    await testbed.admin.write('DELETE', csiNodePath(home));
    const { says, left, harmed } = await powerOff(scene, home);
    await scene.runs('db-0', refuge);
    expect({ outcome: says.outcome, left }).toEqual({ outcome: 'fenced', left: [] });
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge }, [home]));
  });
});

const csiNode = z.looseObject({ spec: z.looseObject({ drivers: z.array(z.looseObject({})) }) });

/** One more driver on the node, played by the test itself. */
const addDriver = async (scene: Scene, node: TestbedNode): Promise<void> => {
  const name = scene.namespace;
  await testbed.admin.write('POST', '/apis/storage.k8s.io/v1/csidrivers', {
    metadata: { name },
    spec: { attachRequired: true, podInfoOnMount: false },
  });
  const { drivers } = csiNode.parse(await testbed.admin.get(csiNodePath(node))).spec;
  await testbed.admin.write('PATCH', csiNodePath(node), {
    spec: { drivers: [...drivers, { name, nodeID: node.name, topologyKeys: [] }] },
  });
};

const attachmentOf = (scene: Scene, claim: string, { name }: TestbedNode) =>
  until(`${claim} is to be attached to ${name}`, async () => {
    const { items } = listOf(volumeAttachment).parse(await testbed.admin.get(ATTACHMENTS));
    return items.find(
      ({ spec }) => spec.nodeName === name && spec.source.persistentVolumeName === volumeName(scene.namespace, claim),
    );
  });

describe.concurrent('a pod with volumes of two drivers, one of which does not answer', () => {
  it('releases the other driver’s volume at once, and reports what it waits for', async () => {
    const scene = await openScene(testbed, 'two-drivers');
    const home = await scene.addNode();
    await addDriver(scene, home);
    await scene.addClaim('data-db-0');
    const handle = await scene.addClaim('files', { driver: scene.namespace });
    await scene.create(statefulSet('db', { claims: ['files'] }));
    const { metadata } = await attachmentOf(scene, 'files', home);
    await testbed.admin.write('PATCH', `${ATTACHMENTS}/${metadata.name}`, {
      metadata: { finalizers: ['example.org/driver'] },
    });
    await testbed.admin.write('PATCH', `${ATTACHMENTS}/${metadata.name}/status`, { status: { attached: true } });
    await scene.runs('db-0', home);
    const refuge = await scene.addRefuge();
    await home.stop();
    const { code, says } = await cloudfence(testbed.access, 'fence', home.instance, '--timeout', '45s');
    expect({ code, outcome: says.outcome }).toEqual({ code: 3, outcome: 'waiting' });
    expect(says.reason).toMatch(new RegExp(`^attachments-going: .*${handle}`));
    expect(await testbed.ec2.holderOf(scene.disks.get('data-db-0') ?? '')).not.toBe(home.instance);
    await testbed.admin.write('PATCH', `${ATTACHMENTS}/${metadata.name}`, { metadata: { finalizers: [] } });
    expect(await cloudfence(testbed.access, 'fence', home.instance)).toMatchObject({
      code: 0,
      says: { outcome: 'fenced' },
    });
    const next = await attachmentOf(scene, 'files', refuge);
    await testbed.admin.write('PATCH', `${ATTACHMENTS}/${next.metadata.name}/status`, { status: { attached: true } });
    await scene.runs('db-0', refuge);
    expect((await worldOf(scene)).ours).toEqual({ [home.name]: PARKED, [refuge.name]: [] });
  });
});
