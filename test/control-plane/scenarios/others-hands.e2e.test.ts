import { AttachVolumeCommand, DetachVolumeCommand } from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { under } from '../../testbed/installation.ts';
import { addMachine } from '../../testbed/machines.ts';
import { node } from '../../testbed/objects.ts';
import { putOutOfService } from '../scenes/by-hand.ts';
import { expectMoved, openStage } from '../scenes/stage.ts';
import { until } from '../../testbed/until.ts';
import { lonePod, on } from '../scenes/workload.ts';
import { PARKED, worldOf } from '../scenes/world.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const gone = (path: string) =>
  until(`${path} is gone`, async () => (await testbed.admin.call('GET', path)).status === 404);

const uidOf = async (name: string): Promise<string> =>
  node.parse(await testbed.admin.get(`/api/v1/nodes/${name}`)).metadata.uid;

describe.concurrent('changes by others:', () => {
  it('a disk that someone attached to a third instance stays there, even if the policy is to detach', async () => {
    const stage = await openStage(testbed, 'third-party');
    const { home, disk } = stage;
    const third = await testbed.ec2.machine();
    await home.stop();
    await testbed.ec2.client.send(new DetachVolumeCommand({ VolumeId: disk, InstanceId: home.instance, Force: true }));
    await testbed.ec2.client.send(new AttachVolumeCommand({ VolumeId: disk, InstanceId: third, Device: '/dev/sdf' }));
    const { code, says } = await cloudfence(await under(testbed.access, { detach: 'always' }), 'fence', home.instance);
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'fenced' });
    expect(says.steps.map(({ step }) => step)).not.toContain('detach-disk');
    expect(await testbed.ec2.holderOf(disk)).toBe(third);
    await testbed.ec2.client.send(new DetachVolumeCommand({ VolumeId: disk, InstanceId: third }));
    await expectMoved(stage, { fenced: [home] });
  });

  it.for(['NoSchedule', 'NoExecute'] as const)(
    'a parked Node that someone has put out of service (%s) keeps that taint when work or machine returns',
    async (effect) => {
      const stage = await openStage(testbed, `theirs-${effect.toLowerCase()}`);
      const { scene, home } = stage;
      await home.stop();
      expect((await cloudfence(testbed.access, 'fence', home.instance)).says.outcome).toBe('fenced');
      await putOutOfService(effect)(stage);
      await scene.create(lonePod('late', { spec: on(home.name) }));
      const { code, says } = await cloudfence(testbed.access, 'fence', home.instance);
      expect({ code, says }).toMatchObject({ code: 0, says: { outcome: 'fenced' } });
      expect(says.steps.map(({ step }) => step)).toContain('mark');
      await gone(`/api/v1/namespaces/${scene.namespace}/pods/late`);
      const THEIRS = 'taint node.kubernetes.io/out-of-service';
      expect((await worldOf(scene)).ours[home.name]).toEqual([...PARKED, THEIRS]);
      await home.start();
      expect(await cloudfence(testbed.access, 'release', home.name, '--timeout', '120s')).toMatchObject({
        code: 0,
        says: { outcome: 'released', reason: expect.stringContaining('kubectl taint node') },
      });
      expect((await worldOf(scene)).ours[home.name]).toEqual([THEIRS]);
    },
  );

  it('a new machine with the dead one’s Node name is not touched, and the dead one loses its disk', async () => {
    const stage = await openStage(testbed, 'same-name');
    const { scene, home, refuge, disk, former } = stage;
    await home.stop();
    await testbed.admin.write('DELETE', `/api/v1/nodes/${home.name}`);
    await gone(`/apis/storage.k8s.io/v1/csinodes/${home.name}`);
    const heir = await addMachine(testbed, scene.namespace, { name: home.name });
    const uid = await uidOf(heir.name);
    const { code, says } = await cloudfence(testbed.access, 'fence', home.instance, '--timeout', '60s');
    expect({ code, outcome: says.outcome }).toEqual({ code: 4, outcome: 'refused' });
    expect(says.reason).toMatch(/^name-reused: .* delete the VolumeAttachment yourself/);
    expect(says.steps.map(({ step }) => step)).toEqual(['detach-disk']);
    expect(await testbed.ec2.holderOf(disk)).toBeNull();
    expect(await uidOf(heir.name)).toBe(uid);
    expect((await worldOf(scene)).ours).toEqual({ [heir.name]: [], [refuge.name]: [] });
    expect(
      scene.pods('db-0').map(({ metadata, spec }) => [metadata.uid, metadata.deletionTimestamp ?? null, spec.nodeName]),
    ).toEqual([[former, null, heir.name]]);
    const [, old = ''] = /but VolumeAttachment (\S+) still names/.exec(says.reason) ?? [];
    await testbed.admin.write('DELETE', `/apis/storage.k8s.io/v1/volumeattachments/${old}`);
    await until(
      'the new machine has the disk',
      async () => (await testbed.ec2.holderOf(disk)) === heir.instance,
      150_000,
    );
    expect(await testbed.ec2.holderOf(disk)).toBe(heir.instance);
  });
});

describe.concurrent('if the policy says to delete the Node of a fenced machine', () => {
  it('the Node is marked first and deleted last, and comes back clean with its machine', async () => {
    const stage = await openStage(testbed, 'delete-node');
    const { home } = stage;
    await home.stop();
    const { code, says } = await cloudfence(
      await under(testbed.access, { deleteNode: 'always' }),
      'fence',
      home.instance,
    );
    const steps = says.steps.map(({ step }) => step);
    expect({ code, outcome: says.outcome, first: steps[0], last: steps.at(-1) }).toEqual({
      code: 0,
      outcome: 'fenced',
      first: 'mark',
      last: 'delete-node',
    });
    await expectMoved(stage, { gone: [home] });
    await gone(`/apis/storage.k8s.io/v1/csinodes/${home.name}`);
    await home.start();
    await expectMoved(stage, {});
  });
});

const NODE_CLAIM = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  name: 'pool-1',
  uid: 'a8f5f167-f44f-4964-a6c9-98dee827110c',
  blockOwnerDeletion: true,
};

describe.concurrent('the Node of a terminated instance is kept, and its volumes are freed, if', () => {
  it.for([
    {
      what: 'a finalizer requires it',
      metadata: { finalizers: ['example.org/inventory'] },
      why: 'it has a finalizer: example.org/inventory',
    },
    {
      what: 'a NodeClaim owns it',
      metadata: { ownerReferences: [NODE_CLAIM] },
      why: 'a NodeClaim owns it, and deleting it would terminate the machine',
    },
  ])('$what', async ({ metadata, why }) => {
    const stage = await openStage(testbed, 'kept');
    const { home } = stage;
    const path = `/api/v1/nodes/${home.name}`;
    await testbed.admin.write('PATCH', path, { metadata });
    const uid = await uidOf(home.name);
    await home.terminate();
    const { code, says } = await cloudfence(testbed.access, 'fence', home.instance);
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'fenced' });
    expect(says.left).toContainEqual({ what: `node/${home.name}`, why });
    await expectMoved(stage, { fenced: [home] });
    const kept = node.parse(await testbed.admin.get(path));
    expect({ uid: kept.metadata.uid, deleted: kept.metadata.deletionTimestamp ?? null }).toEqual({
      uid,
      deleted: null,
    });
    await testbed.admin.write('PATCH', path, { metadata: { finalizers: null, ownerReferences: null } });
  });
});
