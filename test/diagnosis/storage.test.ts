import { describe, expect, it } from 'vitest';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject, listObjects } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { stage, stopMachine } from '../simulation/incidents.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addPod, addPodEvent, at, attachFailed, attachmentOn, mountPending, twoNodes } from './scenes.ts';

/** Storage that is not a disk of the cloud, attachers on dead machines, and waits that only time ends. */

const withDriver = (driver: string) => {
  const begun = stage(1);
  const { world } = begun;
  edit(
    world,
    'persistentvolumes',
    ['pvc-default-data-db-0'],
    ({ spec }) => void (spec.csi = { driver, volumeHandle: 'pool-1' }),
  );
  return begun;
};

describe('storage without a disk of the cloud', () => {
  it.each([
    ['cstor.csi.openebs.io', 'no disk of a supported cloud', 'It replicates by itself'],
    ['rook-ceph.rbd.csi.ceph.com', 'rbd status', 'out-of-service taint'],
  ])('%s: a fence frees the Kubernetes objects, and the answer says so', async (driver, ...words) => {
    const { world, scene } = withDriver(driver);
    stopMachine(world, scene.holder);
    world.advance(150_000);
    const { kind, next } = theCause(await diagnoseSandbox(world));
    expect(kind).toBe('machine-off');
    for (const word of words) expect(next.join('\n')).toContain(word);
  });

  it('names the NetworkFences of the cluster, and creates none', async () => {
    const { world, node } = mountPending();
    edit(world, 'csinodes', [node], ({ spec }) => void spec.drivers.push({ name: 'rbd.csi.ceph.com', nodeID: node }));
    edit(
      world,
      'persistentvolumes',
      ['pvc-default-app-data'],
      ({ spec }) => void (spec.csi = { driver: 'rbd.csi.ceph.com', volumeHandle: 'pool-1' }),
    );
    addPodEvent(world, 'FailedMount', 'rpc error: code = Internal desc = rbd image pool/img is still being used');
    const fences = {
      apiVersion: 'csiaddons.openshift.io/v1alpha1',
      kind: 'NetworkFenceList',
      metadata: { resourceVersion: '7' },
      items: [{ metadata: { name: 'node-3-fence' } }],
    };
    const before: NonNullable<Parameters<typeof diagnoseSandbox>[2]> = {
      api: {
        before: ({ path }) =>
          path.includes('networkfences')
            ? { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(fences) }
            : undefined,
      },
    };
    const { kind, next } = theCause(await diagnoseSandbox(world, undefined, before));
    expect(kind).toBe('rbd-watcher');
    expect(next.join('\n')).toContain('node-3-fence');
  });
});

it('the leader of the attacher runs on a dead machine: a fence of that machine ends the wait', async () => {
  const { world, scene, node } = twoNodes();
  world.parts.cluster.knobs.attacherDown = true;
  addPod(world, 'ebs-csi-controller-0', scene.nodeOf(scene.holder), 'none');
  addPod(world, 'app', node);
  world.advance(20_000);
  edit(
    world,
    'pods',
    ['ebs-csi-controller-0', 'default'],
    ({ spec }) => void (spec.nodeName = scene.nodeOf(scene.holder)),
  );
  writerAs(world, 'attacher').create('leases', {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'external-attacher-leader-ebs-csi-aws-com', namespace: 'default' },
    spec: {
      holderIdentity: 'ebs-csi-controller-0',
      renewTime: new Date(world.now()).toISOString().replace('Z', '000Z'),
    },
  });
  stopMachine(world, scene.holder);
  world.advance(120_000);
  const answer = await diagnoseSandbox(world, 'pod/default/app');
  expect(theCause(answer), answer.text).toMatchObject({
    kind: 'attacher-down',
    confidence: 'proved',
    ending: 'by-fence',
  });
  expect(theCause(answer).says).toContain('whose machine is off');
  expect(answer.findings[0]?.rehearsal?.steps.map(({ step }) => step)).toContain('mark');
});

it('the machine shut down gracefully, but the volume was not unmounted', async () => {
  const { world, scene } = stage(1);
  stopMachine(world, scene.holder);
  world.advance(60_000);
  const before = listObjects(world, 'pods').find(({ metadata }) => metadata.name === 'db-0');
  writerAs(world, 'kubelet').create('pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'db-0-before', namespace: 'default' },
    spec: { ...(before?.spec ?? { containers: [] }) },
    status: { phase: 'Failed' },
  });
  edit(world, 'pods', ['db-0-before', 'default'], ({ status }) => {
    Object.assign(status, {
      reason: 'Terminated',
      message: 'Pod was terminated in response to imminent node shutdown.',
    });
  });
  world.advance(60_000);
  const { kind, proof } = theCause(await diagnoseSandbox(world, 'pod/default/db-0'));
  expect(kind).toBe('machine-off');
  expect(proof.join()).toContain('graceful shutdown');
});

describe('what needs only time, or has taken too much', () => {
  it('an old error only waits for the next attempt of the attacher', async () => {
    const { world, node } = attachFailed('rpc error: code = Internal desc = something new');
    edit(world, 'volumeattachments', [attachmentOn(world, node).metadata.name], ({ status }) => {
      status.attachError = { time: at(world, -200_000), message: 'rpc error: code = Internal desc = something new' };
    });
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({ kind: 'attacher-backs-off', ending: 'by-itself' });
  });

  it('the pod came back to the Node from which its volume is still being detached', async () => {
    const { world, node } = attachFailed('rpc error: code = Internal desc = something new');
    edit(world, 'volumeattachments', [attachmentOn(world, node).metadata.name], (attachment) => {
      attachment.metadata.deletionTimestamp = at(world, -20_000);
      attachment.metadata.finalizers = ['external-attacher/ebs-csi-aws-com'];
      attachment.status = { attached: true };
    });
    expect(theCause(await diagnoseSandbox(world)).kind).toBe('detach-first');
  });

  it('the timer of Kubernetes did not fire', async () => {
    const { world } = stage(1);
    world.parts.cluster.knobs.disableForceDetachOnTimeout = true;
    const node = listObjects(world, 'nodes')[0]?.metadata.name ?? '';
    world.parts.cluster.knobs.partitioned.push(node);
    world.advance(400_000);
    const [pod] = listObjects(world, 'pods');
    if (pod) writerAs(world, 'person').remove('pods', pod, 0);
    world.advance(480_000);
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer).waits, answer.text).toContain('did not fire');
  });
});

it('a healthy move ends with nothing to report', async () => {
  const { world, node } = twoNodes();
  addPod(world, 'app', node);
  settle(world);
  expect(getObject(world, 'pods', 'app', 'default')?.status.phase).toBe('Running');
  expect((await diagnoseSandbox(world)).findings).toEqual([]);
});
