import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attachmentName } from '../../../kubernetes/attachments.ts';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { turn } from '../../testbed/knobs.ts';
import { DRIVER } from '../kubelet/kubelet-node.ts';
import { powerOff } from '../scenes/power-off.ts';
import { openScene } from '../scenes/scene.ts';
import { until } from '../../testbed/until.ts';
import type { VolumeShape } from '../scenes/volume.ts';
import { IN_TREE, volumeName } from '../scenes/volume.ts';
import { worldOf, worldWith } from '../scenes/world.ts';
import type { PodShape } from '../scenes/workload.ts';
import { lonePod, statefulSet } from '../scenes/workload.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** Kinds of volumes that only one node may use: the pod's own volume, and its additional volumes. */
const kinds: readonly {
  readonly what: string;
  readonly own?: Partial<VolumeShape>;
  readonly besides?: Readonly<Record<string, Partial<VolumeShape>>>;
  readonly pod?: PodShape;
}[] = [
  { what: 'a volume that only one pod may use', own: { accessMode: 'ReadWriteOncePod' } },
  { what: 'a raw block device', besides: { raw: { volumeMode: 'Block' } }, pod: { devices: ['raw'] } },
  { what: 'a volume of the former in-tree plugin', own: { driver: IN_TREE } },
  { what: 'three volumes', besides: { log: {}, index: {} }, pod: { claims: ['log', 'index'] } },
];

/** https://kubernetes-csi.github.io/docs/skip-attach.html */
const declareNetworkDriver = ({ admin }: Testbed, name: string): Promise<unknown> =>
  admin.write('POST', '/apis/storage.k8s.io/v1/csidrivers', {
    metadata: { name },
    spec: { attachRequired: false, podInfoOnMount: false },
  });

describe.concurrent('a pod moves', () => {
  it.for(kinds)('with $what', async ({ own = {}, besides = {}, pod = {} }) => {
    const scene = await openScene(testbed, 'volumes');
    const home = await scene.addNode();
    await scene.addClaim('data-db-0', own);
    for (const [name, shape] of Object.entries(besides)) await scene.addClaim(name, shape);
    await scene.create(statefulSet('db', pod));
    await scene.runs('db-0', home);
    const claims = [...scene.disks.keys()];
    expect(await worldOf(scene)).toEqual(
      worldWith(scene, Object.fromEntries(claims.map((claim) => [claim, home])), []),
    );
    const refuge = await scene.addRefuge();
    const { says, left, harmed } = await powerOff(scene, home);
    await scene.runs('db-0', refuge);
    expect({ outcome: says.outcome, left }).toEqual({ outcome: 'fenced', left: [] });
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(
      worldWith(scene, Object.fromEntries(claims.map((claim) => [claim, refuge])), [home]),
    );
  });
});

describe.concurrent('a pod that also has a volume without attachments', () => {
  it('moves with both, and the driver that attaches nothing is not asked to detach', async () => {
    const scene = await openScene(testbed, 'network');
    await declareNetworkDriver(testbed, scene.namespace);
    const home = await scene.addNode();
    await scene.addClaim('data-db-0');
    await scene.addClaim('files', { driver: scene.namespace });
    await scene.create(statefulSet('db', { claims: ['files'] }));
    await scene.runs('db-0', home);
    const refuge = await scene.addRefuge();
    const { says, left, harmed } = await powerOff(scene, home);
    await scene.runs('db-0', refuge);
    expect({ outcome: says.outcome, left }).toEqual({ outcome: 'fenced', left: [] });
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge, files: null }, [home]));
  });
});

describe.concurrent('a volume of the former in-tree plugin', () => {
  it('is detached through the cloud if the CSI driver that replaced the plugin cannot detach it', async () => {
    const scene = await openScene(testbed, 'in-tree');
    const home = await scene.addNode();
    const disk = await scene.addClaim('data', { driver: IN_TREE });
    await scene.create(lonePod('lone', { claims: ['data'] }));
    await scene.runs('lone', home);
    await scene.addRefuge();
    await turn(testbed.access, disk, { failDetach: 'the driver is out of order' });
    const fencing = powerOff(scene, home);
    await until('the disk is free', async () => (await testbed.ec2.holderOf(disk)) === null);
    await turn(testbed.access, disk, {});
    const { says, left, harmed } = await fencing;
    expect({ outcome: says.outcome, left }).toEqual({ outcome: 'fenced', left: [] });
    // A slow answer of the cloud leaves the result unknown. The next look shows that the disk is free.
    expect(says.steps).toContainEqual(expect.objectContaining({ step: 'detach-disk', target: `disk/${disk}` }));
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { data: null }, [home]));
  });
});

describe.concurrent('a volume that is attached although no pod wants it and no status names it', () => {
  it('is found by its disk and detached', async () => {
    const scene = await openScene(testbed, 'unexplained');
    const home = await scene.addNode();
    const disk = await scene.addVolume('forgotten');
    const name = attachmentName({ driver: DRIVER, handle: disk }, home.name);
    const attachment = {
      metadata: { name },
      spec: {
        attacher: DRIVER,
        nodeName: home.name,
        source: { persistentVolumeName: volumeName(scene.namespace, 'forgotten') },
      },
    };
    await testbed.admin.write('POST', '/apis/storage.k8s.io/v1/volumeattachments', attachment);
    await until('it is attached', async () =>
      isDeepStrictEqual(await worldOf(scene), worldWith(scene, { forgotten: home }, [])),
    );
    const { says, left } = await powerOff(scene, home);
    expect({ outcome: says.outcome, left }).toEqual({ outcome: 'fenced', left: [] });
    expect(await worldOf(scene)).toEqual(worldWith(scene, { forgotten: null }, [home]));
  });
});
