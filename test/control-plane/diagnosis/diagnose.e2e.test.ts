import { AttachVolumeCommand } from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { attachmentName } from '../../../kubernetes/attachments.ts';
import { turn } from '../../testbed/knobs.ts';
import { volumeAttachment } from '../../testbed/objects.ts';
import { until } from '../../testbed/until.ts';
import { openStage } from '../scenes/stage.ts';
import { openScene, type Scene } from '../scenes/scene.ts';
import { anyVolume, claimOf, claimSpec, volumeName, volumeOf } from '../scenes/volume.ts';
import { deployment, lonePod, on } from '../scenes/workload.ts';
import { DRIVER } from '../kubelet/kubelet-node.ts';
import {
  answered,
  byPerson,
  causeOf,
  diagnose,
  driversOn,
  expert,
  kindsOf,
  notReady,
  setDrivers,
  waitForEvent,
} from './diagnosed.ts';

/** Causes on a real control plane, with its own objects and events. */

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** A pod that waits for a claim that a pod on another node uses. */
const waitsFor = async (scene: Scene, claim: string): Promise<void> => {
  const [first, second] = await Promise.all([scene.addNode(), scene.addNode()]);
  await scene.addClaim(claim);
  await scene.create(lonePod('holder', { claims: [claim], spec: on(first.name) }));
  await scene.runs('holder', first);
  await scene.create(lonePod('waiter', { claims: [claim], spec: on(second.name) }));
  await until('the waiter is placed', async () =>
    scene.pods('waiter').some(({ spec }) => spec.nodeName === second.name),
  );
};

/** A class of a provisioner that does not run. */
const storageClass = async (scene: Scene, title: string, volumeBindingMode: string): Promise<string> => {
  const name = `${scene.namespace}-${title}`;
  const provisioner = 'nobody.example.org';
  await testbed.admin.write('POST', '/apis/storage.k8s.io/v1/storageclasses', {
    metadata: { name },
    provisioner,
    volumeBindingMode,
  });
  return name;
};

describe.concurrent('diagnose on a real control plane', () => {
  it('distinguishes a machine that is off from one that is only cut off', async () => {
    const stage = await openStage(testbed, 'diagnose-off');
    const pod = `pod/${stage.scene.namespace}/db-0`;
    stage.home.kubelet.die();
    await notReady(testbed, stage.home.name);
    const cutOff = await diagnose(testbed, pod);
    expect({ code: cutOff.code, kinds: kindsOf(cutOff), unread: cutOff.unread }).toEqual({
      code: 4,
      kinds: ['machine-unreachable'],
      unread: [],
    });
    await stage.home.stop();
    const off = await diagnose(testbed, pod);
    expect({ code: off.code, kinds: kindsOf(off), unread: off.unread }).toEqual({
      code: 3,
      kinds: ['machine-off'],
      unread: [],
    });
    expect(off.findings[0]?.rehearsal?.steps[0]?.step).toBe('mark');
    expect(kindsOf(await diagnose(testbed, stage.disk))).toEqual(['machine-off']);
    expect(kindsOf(await diagnose(testbed, `node/${stage.home.name}`))).toContain('machine-off');
  });

  it('finds two workloads with one claim, and the event that Kubernetes wrote', async () => {
    const scene = await openScene(testbed, 'diagnose-shared');
    await waitsFor(scene, 'data');
    await waitForEvent(scene, /Multi-Attach error|Waiting for detach/);
    expect(await answered(scene, 'waiter')).toEqual(
      expert({
        kind: 'shared-claim',
        waits: /waiter ← disk ← .*holder, which has no reason to end/,
        next: /a claim of its own[^]*do not fence/,
      }),
    );
    expect(kindsOf(await diagnose(testbed, `pod/${scene.namespace}/holder`))).toEqual(['not-waiting']);
  });

  it('names a claim that does not exist', async () => {
    const scene = await openScene(testbed, 'diagnose-missing');
    await scene.addNode();
    await scene.create(lonePod('app', { claims: ['nothing'] }));
    const answer = await diagnose(testbed, `pod/${scene.namespace}/app`);
    expect({ kinds: kindsOf(answer), unread: answer.unread }).toEqual({ kinds: ['claim-missing'], unread: [] });
  });

  it('finds a rolling update that waits for its own old pod', async () => {
    const scene = await openScene(testbed, 'diagnose-surge');
    const home = await scene.addNode();
    await scene.addClaim('data');
    await scene.create(deployment('web', 'RollingUpdate', { claims: ['data'] }));
    const former = await scene.runs('web', home);
    await scene.addNode();
    await testbed.admin.write('PATCH', `/api/v1/nodes/${home.name}`, { spec: { unschedulable: true } });
    const path = `/apis/apps/v1/namespaces/${scene.namespace}/deployments/web`;
    await testbed.admin.write('PATCH', path, { spec: { template: { metadata: { annotations: { revision: '2' } } } } });
    await waitForEvent(scene, /Multi-Attach error|Waiting for detach/);
    const waiter = scene.pods('web').find(({ metadata }) => metadata.uid !== former.metadata.uid);
    const answer = await diagnose(testbed, `pod/${scene.namespace}/${waiter?.metadata.name ?? ''}`);
    expect({ code: answer.code, kinds: kindsOf(answer), unread: answer.unread }).toEqual(byPerson('rollout-surge'));
    expect(answer.findings[0]?.cause.next.join(' ')).toContain('patch deploy web');
  });

  it('finds the other pod of a ReadWriteOncePod claim', async () => {
    const scene = await openScene(testbed, 'diagnose-rwop');
    const home = await scene.addNode();
    await scene.addClaim('data', { accessMode: 'ReadWriteOncePod' });
    await scene.create(lonePod('holder', { claims: ['data'] }));
    await scene.runs('holder', home);
    await scene.create(lonePod('waiter', { claims: ['data'] }));
    await waitForEvent(scene, /ReadWriteOncePod/);
    expect(await answered(scene, 'waiter')).toEqual(
      expert({
        kind: 'read-write-once-pod',
        waits: /waiter ← .*holder/,
        next: /stop the other pod first/,
      }),
    );
  });

  it('finds a volume in another zone', async () => {
    const scene = await openScene(testbed, 'diagnose-zone');
    await scene.addNode();
    const disk = await testbed.ec2.disk(null);
    const { metadata, spec } = volumeOf(scene.namespace, 'data', disk, anyVolume);
    const { nodeAffinity } = volumeOf('another-zone', 'data', disk, anyVolume).spec;
    await testbed.admin.write('POST', '/api/v1/persistentvolumes', { metadata, spec: { ...spec, nodeAffinity } });
    const claims = `/api/v1/namespaces/${scene.namespace}/persistentvolumeclaims`;
    await testbed.admin.write('POST', claims, claimOf(scene.namespace, 'data', anyVolume));
    await scene.create(lonePod('app', { claims: ['data'] }));
    await waitForEvent(scene, /node affinity/);
    expect(await answered(scene, 'app')).toEqual(
      expert({
        kind: 'wrong-zone',
        waits: /app ← scheduler ← a Node in the zone of the volume/,
        next: /add a Node in that zone/,
      }),
    );
  });

  it('finds a Node whose slots are taken before a pod is placed', async () => {
    const scene = await openScene(testbed, 'diagnose-full');
    const home = await scene.addNode();
    const [driver, ...others] = await driversOn(testbed, home.name);
    await setDrivers(testbed, home.name, [{ ...driver, allocatable: { count: 1 } }, ...others]);
    await Promise.all(['one', 'two'].map((claim) => scene.addClaim(claim)));
    await scene.create(lonePod('first', { claims: ['one'] }));
    await scene.runs('first', home);
    await scene.create(lonePod('second', { claims: ['two'] }));
    await waitForEvent(scene, /max volume count/);
    expect(await answered(scene, 'second')).toEqual(
      expert({ kind: 'node-full', waits: /second ← scheduler/, next: /add a Node/ }),
    );
  });

  it('finds a driver that is not registered on the pod’s Node', async () => {
    const scene = await openScene(testbed, 'diagnose-driver');
    const home = await scene.addNode();
    await scene.addClaim('data');
    await setDrivers(testbed, home.name, []);
    await scene.create(lonePod('app', { claims: ['data'], spec: on(home.name) }));
    await waitForEvent(scene, /does not contain driver|attach/);
    expect(await causeOf(scene, 'app')).toEqual(byPerson('driver-not-on-node'));
  });

  it.each([
    [
      'attach-limit',
      'api error AttachmentLimitExceeded: Attachment limit exceeded for this instance',
      /kubectl cordon .* && kubectl -n .* delete pod app/,
    ],
    [
      'not-permitted',
      'api error UnauthorizedOperation: You are not authorized to perform this operation.',
      /grant it to the role/,
    ],
    [
      'key-unusable',
      'api error CustomerKeyHasBeenRevoked: The encrypted volume was unable to access the KMS key',
      /enable the key/,
    ],
  ])('finds %s in the error of the driver', async (kind, error, next) => {
    const scene = await openScene(testbed, 'diagnose-error');
    const home = await scene.addNode();
    await turn(testbed.access, await scene.addClaim('data'), { failAttach: error });
    await scene.create(lonePod('app', { claims: ['data'], spec: on(home.name) }));
    await waitForEvent(scene, /AttachVolume.Attach failed/);
    expect(await answered(scene, 'app')).toEqual(expert({ kind, waits: /app ← csi-.* ← the cloud/, next }));
  });

  it('finds a machine outside the cluster that has the disk', async () => {
    const scene = await openScene(testbed, 'diagnose-outside');
    const home = await scene.addNode();
    const disk = await scene.addClaim('data');
    const stranger = await testbed.ec2.machine();
    const attach = new AttachVolumeCommand({ VolumeId: disk, InstanceId: stranger, Device: '/dev/sdz' });
    await testbed.ec2.client.send(attach);
    await turn(testbed.access, disk, {
      failAttach: `api error VolumeInUse: ${disk} is already attached to an instance`,
    });
    await scene.create(lonePod('app', { claims: ['data'], spec: on(home.name) }));
    await waitForEvent(scene, /VolumeInUse/);
    expect(await answered(scene, 'app')).toEqual(
      expert({
        kind: 'attached-outside',
        waits: new RegExp(`app ← disk ← ${stranger}`),
        next: new RegExp(`find out what uses it on ${stranger}`),
      }),
    );
  });

  it('finds an attachment that no pod uses', async () => {
    const scene = await openScene(testbed, 'diagnose-stale');
    const [former, home] = [await scene.addNode(), await scene.addNode()];
    const disk = await scene.addClaim('data');
    const name = attachmentName({ driver: DRIVER, handle: disk }, former.name);
    const source = { persistentVolumeName: volumeName(scene.namespace, 'data') };
    const path = '/apis/storage.k8s.io/v1/volumeattachments';
    await testbed.admin.write('POST', path, {
      metadata: { name },
      spec: { attacher: DRIVER, nodeName: former.name, source },
    });
    await until(
      'it is attached',
      async () => volumeAttachment.parse(await testbed.admin.get(`${path}/${name}`)).status.attached,
    );
    await turn(testbed.access, disk, {
      failAttach: `api error VolumeInUse: ${disk} is already attached to an instance`,
    });
    await scene.create(lonePod('app', { claims: ['data'], spec: on(home.name) }));
    await waitForEvent(scene, /VolumeInUse/);
    expect(await causeOf(scene, 'app')).toEqual(byPerson('stale-attachment'));
  });

  it('finds an attachment to a Node that was deleted with its machine', async () => {
    const stage = await openStage(testbed, 'diagnose-gone');
    const { scene, home } = stage;
    await home.terminate();
    await testbed.admin.call('DELETE', `/api/v1/nodes/${home.name}`);
    await testbed.admin.call('DELETE', `/api/v1/namespaces/${scene.namespace}/pods/db-0`, { gracePeriodSeconds: 0 });
    await waitForEvent(scene, /Multi-Attach error|Waiting for detach/);
    expect(await causeOf(scene, 'db-0')).toEqual({ code: 3, kinds: ['node-gone'], unread: [] });
  });

  it('finds what keeps a claim from being bound', async () => {
    const scene = await openScene(testbed, 'diagnose-unbound');
    const home = await scene.addNode();
    const waiting = await storageClass(scene, 'waiting', 'WaitForFirstConsumer');
    const orphaned = await storageClass(scene, 'orphaned', 'Immediate');
    const claims = `/api/v1/namespaces/${scene.namespace}/persistentvolumeclaims`;
    for (const [name, storageClassName] of [
      ['by-hand', waiting],
      ['nobody', orphaned],
    ] as const)
      await testbed.admin.write('POST', claims, {
        metadata: { name },
        spec: claimSpec({ ...anyVolume, storageClassName }),
      });
    await scene.create(lonePod('placed', { claims: ['by-hand'], spec: on(home.name) }));
    await scene.create(lonePod('app', { claims: ['nobody'] }));
    await waitForEvent(scene, /Waiting for a volume to be created/);
    expect(await causeOf(scene, 'placed')).toEqual(byPerson('waits-for-consumer'));
    // In its first minute, a claim may just be in work.
    await until(
      'the claim is old enough for a provisioner that does not answer',
      async () => (await causeOf(scene, 'app')).kinds.every((kind) => kind !== 'moving-now'),
      120_000,
    );
    expect(await causeOf(scene, 'app')).toEqual(byPerson('no-provisioner'));
  });

  it('finds what keeps a claim and a pod from being deleted', async () => {
    const scene = await openScene(testbed, 'diagnose-going');
    const home = await scene.addNode();
    await scene.addClaim('data');
    await scene.create(lonePod('app', { claims: ['data'], metadata: { finalizers: ['example.org/keeps'] } }));
    await scene.runs('app', home);
    const within = `/api/v1/namespaces/${scene.namespace}`;
    await testbed.admin.call('DELETE', `${within}/persistentvolumeclaims/data`);
    await testbed.admin.call('DELETE', `${within}/pods/app`, { gracePeriodSeconds: 1 });
    await until('its containers have ended', async () =>
      scene.pods('app').every(({ status }) => status.phase !== 'Running'),
    );
    expect(await causeOf(scene, 'app')).toEqual(byPerson('pod-finalizer'));
    const claim = await diagnose(testbed, `pvc/${scene.namespace}/data`);
    expect(kindsOf(claim)).toEqual(['claim-going']);
    await testbed.admin.write('PATCH', `${within}/pods/app`, { metadata: { finalizers: null } });
  });
});
