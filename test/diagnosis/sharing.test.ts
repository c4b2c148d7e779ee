import { describe, expect, it } from 'vitest';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod, addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { getObject, listObjects } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { put } from '../../sandbox/history.ts';
import { volumeIn } from '../../sandbox/ec2/state.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addPod, at, attachmentOn, held, rollout, twoNodes, type AppScene } from './scenes.ts';

/** Who may have a volume at once: access modes and disks, replicas, twins, and attachments that nobody wants. */

const NEXT = 'pod/default/next';
const VOLUME = 'pvc-default-app-data';
const IN_USE = 'rpc error: code = Internal desc = api error VolumeInUse: vol-1 is already attached to an instance';

const allow = (world: AwsWorld, accessModes: string[]): void => {
  edit(world, 'persistentvolumes', [VOLUME], ({ spec }) => void (spec.accessModes = accessModes));
  edit(world, 'persistentvolumeclaims', ['app-data', 'default'], ({ spec }) => void (spec.accessModes = accessModes));
};

/** The attach to the Node fails with these words. */
const refuse = (world: AwsWorld, disk: string, node: string, says: string): void => {
  const name = attachmentName({ driver: EBS, handle: disk }, node);
  const attachError = { time: at(world), message: says };
  if (getObject(world, 'volumeattachments', name))
    edit(world, 'volumeattachments', [name], (object) => void (object.status = { attached: false, attachError }));
  else
    writerAs(world, 'attach-detach-controller').create('volumeattachments', {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name },
      spec: { attacher: EBS, nodeName: node, source: { persistentVolumeName: VOLUME } },
      status: { attached: false, attachError },
    });
};

/** A pod on the other Node has the volume, and `next` waits for it, although several Nodes may have it. */
const sharedBy = (mode: string, says: string): AppScene => {
  const begun = twoNodes();
  const { world, node, other, disk } = begun;
  allow(world, [mode]);
  addPod(world, 'app', other);
  settle(world);
  world.parts.cluster.knobs.attacherDown = true;
  addPod(world, 'next', node);
  world.advance(120_000);
  refuse(world, disk, node, says);
  return begun;
};

describe('a volume that several Nodes may have', () => {
  it.each(['ReadWriteMany', 'ReadOnlyMany'])(
    'by its mode %s, but whose disk cannot: nobody is told to detach the disk of a pod that runs',
    async (mode) => {
      const { world } = sharedBy(mode, IN_USE);
      const cause = theCause(await diagnoseSandbox(world, NEXT));
      expect(cause).toMatchObject({ kind: 'shared-claim', confidence: 'proved' });
      expect(cause.proof.join()).toContain(`allows ${mode}, but the cloud does not`);
      expect(cause.next.join()).not.toMatch(/detach it in the cloud|unmount/);
    },
  );

  it('another Node that has it is cut off: that is not what the pod waits for', async () => {
    const { world, other } = sharedBy('ReadWriteMany', 'api error RequestLimitExceeded: slow down');
    world.parts.cluster.knobs.partitioned.push(other);
    world.advance(60_000);
    const cause = theCause(await diagnoseSandbox(world, NEXT));
    expect(cause.kind).toBe('throttled');
    expect(cause.next.join()).not.toMatch(/stop i-/);
  });

  it('and another Node that has it is off', async () => {
    const { world, scene } = sharedBy('ReadWriteMany', 'api error RequestLimitExceeded: slow down');
    stopMachine(world, scene.holder);
    world.advance(120_000);
    expect(theCause(await diagnoseSandbox(world, NEXT)).kind).toBe('throttled');
  });
});

describe('one Deployment', () => {
  it('has two replicas and one claim: Recreate would not help', async () => {
    const { world } = rollout();
    for (const set of listObjects(world, 'replicasets'))
      edit(world, 'replicasets', [set.metadata.name, 'default'], ({ metadata }) => {
        metadata.annotations = { 'deployment.kubernetes.io/revision': '15' };
      });
    const cause = theCause(await diagnoseSandbox(world, 'pod/default/web-15-pod'));
    expect(cause).toMatchObject({ kind: 'shared-claim', confidence: 'proved' });
    expect(cause.next[0]).toContain('kubectl -n default scale deployment web --replicas=1');
    expect(cause.next.join()).not.toContain('Recreate');
  });
});

it('another controller rolls out: the answer names it, and patches no Deployment', async () => {
  const { world } = rollout();
  for (const set of listObjects(world, 'replicasets'))
    edit(world, 'replicasets', [set.metadata.name, 'default'], ({ metadata }) => {
      const owner = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout', name: 'web', uid: 'r-1', controller: true };
      metadata.ownerReferences = [owner];
    });
  const cause = theCause(await diagnoseSandbox(world, 'pod/default/web-15-pod'));
  expect(cause).toMatchObject({ kind: 'shared-claim', confidence: 'proved' });
  expect(cause.says).toContain('Several pods of Rollout web');
  expect(cause.next[0]).toBe('let Rollout web run one pod at a time');
});

describe('two PersistentVolumes with one disk', () => {
  const addTwin = (world: AwsWorld, disk: string): void =>
    addBoundClaim(world, 'twin', { driver: EBS, handle: disk, zone: 'eu-west-1a', volume: 'twin-pv' });

  const mountWaits = (world: AwsWorld, pod: string): void =>
    edit(world, 'pods', [pod, 'default'], ({ status }) => {
      status.phase = 'Pending';
      status.conditions = [];
      status.containerStatuses = [{ name: 'main', ready: false, state: { waiting: { reason: 'ContainerCreating' } } }];
    });

  it('on one Node: a restart of the kubelet does not help', async () => {
    const { world, disk, node } = twoNodes();
    addTwin(world, disk);
    addPod(world, 'first', node, 'twin');
    settle(world);
    addPod(world, 'app', node);
    settle(world);
    world.advance(300_000);
    mountWaits(world, 'app');
    const cause = theCause(await diagnoseSandbox(world, 'pod/default/app'));
    expect(cause).toMatchObject({ kind: 'shared-claim', confidence: 'likely' });
    expect(cause.next.join()).toContain('kubectl get pv twin-pv');
    expect(cause.next.join()).not.toContain('restart the kubelet of');
  });

  it('in one pod', async () => {
    const { world, disk, node } = twoNodes();
    addTwin(world, disk);
    addBarePod(world, {
      name: 'app',
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': node },
        volumes: ['app-data', 'twin'].map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
      },
    });
    settle(world);
    world.advance(300_000);
    mountWaits(world, 'app');
    const cause = theCause(await diagnoseSandbox(world, 'pod/default/app'));
    expect(cause).toMatchObject({ kind: 'shared-claim', confidence: 'likely' });
    expect(cause.next.join()).toContain('name one claim in the pod');
  });

  it('and the one for which the disk is attached is deleted: its attacher can detach nothing', async () => {
    const { world, disk, node, other } = twoNodes();
    addTwin(world, disk);
    addPod(world, 'first', other, 'twin');
    settle(world);
    world.parts.cluster.knobs.attacherDown = true;
    const [pod, volume] = [
      getObject(world, 'pods', 'first', 'default'),
      getObject(world, 'persistentvolumes', 'twin-pv'),
    ];
    if (pod) writerAs(world, 'person').remove('pods', pod, 0);
    world.advance(60_000);
    if (volume) {
      edit(world, 'persistentvolumes', ['twin-pv'], ({ metadata }) => void (metadata.finalizers = []));
      writerAs(world, 'person').remove('persistentvolumes', volume);
    }
    addPod(world, 'app', node);
    world.advance(200_000);
    const detachError = { time: at(world, -20_000), message: 'persistentvolume "twin-pv" not found' };
    edit(world, 'volumeattachments', [attachmentOn(world, other, 'twin-pv').metadata.name], ({ status }) => {
      status.detachError = detachError;
    });
    const cause = theCause(await diagnoseSandbox(world, 'pod/default/app'));
    expect(cause).toMatchObject({ kind: 'stale-attachment', confidence: 'proved', ending: 'by-person' });
    expect(cause.says).toContain('twin-pv, which no longer exists');
    expect(cause.next.join()).toContain('create twin-pv again');
  });
});

it('an attacher of another driver made the attachment: it is found, and not called unknown', async () => {
  const { world, disk, node, other, scene } = twoNodes();
  writerAs(world, 'person').create('volumeattachments', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: 'csi-old', finalizers: ['external-attacher/old-example-org'] },
    spec: { attacher: 'old.example.org', nodeName: other, source: { persistentVolumeName: VOLUME } },
    status: { attached: true },
  });
  const volume = volumeIn(world, disk);
  const attachment = { instance: scene.holder, device: '/dev/xvdz', state: 'attached', at: world.now() } as const;
  if (volume)
    put(world.parts.ec2.volumes, disk, {
      ...volume,
      attachments: [{ ...attachment, deleteOnTermination: false, forced: false }],
    });
  world.parts.cluster.knobs.attacherDown = true;
  addPod(world, 'app', node);
  world.advance(200_000);
  refuse(world, disk, node, IN_USE);
  const cause = theCause(await diagnoseSandbox(world, 'pod/default/app'));
  expect(cause).toMatchObject({ kind: 'stale-attachment', confidence: 'proved' });
  expect(cause.proof.join()).toContain('old.example.org, which is not the driver of the volume');
});

it('another machine had the disk when the cloud refused it, and no longer has it', async () => {
  const { world, disk, node } = twoNodes();
  world.parts.cluster.knobs.attacherDown = true;
  addPod(world, 'app', node);
  world.advance(200_000);
  refuse(world, disk, node, IN_USE);
  expect(theCause(await diagnoseSandbox(world, 'pod/default/app'))).toMatchObject({
    kind: 'attacher-backs-off',
    ending: 'by-itself',
  });
});

describe('an attachment that no pod waits for', () => {
  /** The pod `app` has gone from the other Node, and the detach of its volume does not end. */
  const stuck = (): AppScene => {
    const begun = twoNodes();
    const { world, other } = begun;
    addPod(world, 'app', other);
    settle(world);
    world.parts.cluster.knobs.attacherDown = true;
    const pod = getObject(world, 'pods', 'app', 'default');
    if (pod) writerAs(world, 'person').remove('pods', pod, 0);
    world.advance(300_000);
    return begun;
  };

  const fails = (world: AwsWorld, node: string, message: string): void =>
    edit(world, 'volumeattachments', [attachmentOn(world, node).metadata.name], ({ status }) => {
      status.detachError = { time: at(world, -20_000), message };
    });

  /** The cause of the attachment. The database of the scene is on the same Node, and has a finding of its own. */
  const causeAt = async (world: AwsWorld, node: string) => {
    const { findings, text } = await diagnoseSandbox(world, `node/${node}`);
    expect(text).toMatchSnapshot();
    const [found, ...more] = findings.filter(({ pod }) => pod === null);
    if (!found || more.length > 0) throw new Error(text);
    return found.cause;
  };

  it('says why it does not go', async () => {
    const { world, other } = stuck();
    fails(world, other, 'api error UnauthorizedOperation: no');
    const cause = await causeAt(world, other);
    expect(cause).toMatchObject({ kind: 'stale-attachment', ending: 'by-person' });
    expect(cause.proof.join()).toContain('UnauthorizedOperation');
  });

  it('is of a machine that is off', async () => {
    const { world, scene, other } = stuck();
    stopMachine(world, scene.holder);
    world.advance(120_000);
    expect(await causeAt(world, other)).toMatchObject({ kind: 'machine-off' });
  });

  it('is of a PersistentVolume that somebody has deleted', async () => {
    const { world, other } = stuck();
    fails(world, other, `persistentvolume "${VOLUME}" not found`);
    const volume = getObject(world, 'persistentvolumes', VOLUME);
    edit(world, 'persistentvolumes', [VOLUME], ({ metadata }) => void (metadata.finalizers = []));
    if (volume) writerAs(world, 'person').remove('persistentvolumes', volume);
    const cause = await causeAt(world, other);
    expect(cause.next.join()).toContain(`create ${VOLUME} again`);
  });

  it('is of a disk that is detached already', async () => {
    const { world, other, disk } = stuck();
    const volume = volumeIn(world, disk);
    if (volume) put(world.parts.ec2.volumes, disk, { ...volume, attachments: [] });
    world.advance(60_000);
    const cause = await causeAt(world, other);
    expect(cause.says).toContain('is detached, but its attacher has not removed');
  });

  it('is of a disk that its guest still uses', async () => {
    const { world, scene, other, disk } = stuck();
    const volume = volumeIn(world, disk);
    const attachment = { instance: scene.holder, device: '/dev/xvdz', state: 'detaching', at: world.now() } as const;
    if (volume)
      put(world.parts.ec2.volumes, disk, {
        ...volume,
        attachments: [{ ...attachment, deleteOnTermination: false, forced: false }],
      });
    expect((await causeAt(world, other)).kind).toBe('disk-busy');
  });

  it('is of a Node that is gone, and whose machine runs', async () => {
    const { world, other } = stuck();
    const node = getObject(world, 'nodes', other);
    world.parts.cluster.knobs.partitioned.push(other);
    if (node) writerAs(world, 'person').remove('nodes', node);
    world.advance(60_000);
    expect(await causeAt(world, other)).toMatchObject({
      kind: 'node-gone-machine-runs',
      ending: 'by-person',
    });
  });

  it('is not shown a second time for a pod that waits for it', async () => {
    const { world, node, other } = stuck();
    fails(world, other, 'api error UnauthorizedOperation: no');
    addPod(world, 'next', node);
    world.advance(120_000);
    expect((await diagnoseSandbox(world, `node/${other}`)).findings.map(({ pod }) => pod)).toEqual(['default/next']);
  });

  it('is young: every move takes some seconds', async () => {
    const { world, other } = held();
    expect((await diagnoseSandbox(world, `node/${other}`)).findings.map(({ pod }) => pod)).toEqual(['default/next']);
  });
});
