import { describe, expect, it } from 'vitest';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod, addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { Resource } from '../../sandbox/cluster/objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { put } from '../../sandbox/history.ts';
import { addInstance, addVolume } from '../../sandbox/ec2/scenario.ts';
import { volumeIn } from '../../sandbox/ec2/state.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import {
  addClaimEvent,
  addPod,
  addPodEvent,
  addUnplaced,
  at,
  attachFailed,
  held,
  mountPending,
  rollout,
  twoNodes,
  unanswered,
} from './scenes.ts';

/** What on-call engineers see most often: rollouts, drains, restores, new Nodes, and names that are used again. */

const APP = 'pod/default/app';
const NEXT = 'pod/default/next';

/** The kubelet of every Node stops to report, so that a status stays as a test writes it. */
const keepStatuses = (world: AwsWorld): void => {
  const { kubelets } = world.parts.cluster.memory;
  for (const machine of Object.keys(kubelets)) delete kubelets[machine];
};

/** The container of the pod waits, and its volume stays mounted. */
const containerWaits = (world: AwsWorld, pod: string, reason: string): void => {
  keepStatuses(world);
  edit(world, 'pods', [pod, 'default'], ({ status }) => {
    status.phase = 'Pending';
    status.containerStatuses = [{ name: 'main', ready: false, state: { waiting: { reason } } }];
    status.conditions = (status.conditions ?? []).map((one) =>
      one.type === 'Ready' ? { ...one, status: 'False' } : one,
    );
  });
};

describe('a pod that has the volume but does not run', () => {
  it.each(['CrashLoopBackOff', 'ImagePullBackOff'])('its container waits: %s', async (reason) => {
    const { world, other } = held(300_000);
    containerWaits(world, 'app', reason);
    const cause = theCause(await diagnoseSandbox(world, NEXT));
    expect(cause).toMatchObject({ kind: 'shared-claim', confidence: 'proved', ending: 'by-person' });
    expect(cause.proof[0]).toBe(`default/app is on ${other} (${reason}), controlled by nothing`);
    expect(cause.next.at(-1)).toBe(`do not fence ${other}: it works`);
  });

  it('of a rollout crashes, and the new pod cannot replace it', async () => {
    const { world, other } = rollout();
    containerWaits(world, 'web-14-pod', 'CrashLoopBackOff');
    const cause = theCause(await diagnoseSandbox(world, 'pod/default/web-15-pod'));
    expect(cause).toMatchObject({ kind: 'rollout-surge', confidence: 'proved' });
    expect(cause.proof.at(-1)).toBe(`default/web-14-pod is on ${other} (CrashLoopBackOff)`);
    expect(cause.next[0]).toContain('"type":"Recreate"');
  });

  it('has an hour to end, and nothing is broken', async () => {
    const { world, other } = held(300_000);
    keepStatuses(world);
    edit(world, 'pods', ['app', 'default'], ({ metadata }) => {
      metadata.deletionTimestamp = at(world, 3_000_000);
      metadata.deletionGracePeriodSeconds = 3_600;
    });
    const cause = theCause(await diagnoseSandbox(world, NEXT));
    expect(cause).toMatchObject({ kind: 'moving-now', confidence: 'proved', ending: 'by-itself' });
    expect(cause.waits).toMatch(/^default\/next ← disk ← default\/app ← its grace period, until 00:56:\d\dZ\.$/);
    expect(cause.next.join()).toContain('do not force its deletion');
    const ofItself = (await diagnoseSandbox(world, APP)).findings.map((one) => one.cause);
    expect(ofItself).toEqual([
      expect.objectContaining({
        kind: 'moving-now',
        waits: expect.stringMatching(/^default\/app ← its grace period, until 00:56/),
      }),
    ]);
    expect(cause.says).toContain(other);
  });
});

describe('another volume of the pod', () => {
  it('of its own does not mount, and its claims are fine', async () => {
    const { world } = mountPending();
    edit(world, 'pods', ['app', 'default'], ({ spec }) => {
      spec.volumes = [...(spec.volumes ?? []), { name: 'secrets-store-inline' }];
    });
    addPodEvent(
      world,
      'FailedMount',
      'MountVolume.SetUp failed for volume "secrets-store-inline" : rpc error: code = Unknown desc = failed to mount secrets store objects for pod default/app',
    );
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'not-the-volume', confidence: 'proved' });
    expect(cause.says).toContain('secrets-store-inline');
  });

  it('of another claim does not mount, and the tree shows that claim', async () => {
    const { world, node } = twoNodes();
    addBoundClaim(world, 'logs', { driver: EBS, handle: addVolume(world), zone: 'eu-west-1a' });
    addBarePod(world, {
      name: 'app',
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': node },
        volumes: ['app-data', 'logs'].map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
      },
    });
    settle(world);
    world.advance(300_000);
    containerWaits(world, 'app', 'ContainerCreating');
    addPodEvent(
      world,
      'FailedMount',
      `MountVolume.MountDevice failed for volume "pvc-default-logs" : rpc error: code = Internal desc = 'fsck' found errors on device /dev/xvdb but could not correct them`,
    );
    const answer = await diagnoseSandbox(world, APP);
    expect(theCause(answer)).toMatchObject({ kind: 'filesystem-damaged' });
    expect(answer.findings[0]?.claim).toBe('logs');
  });
});

describe('a volume that could not be created', () => {
  const refused = (says: string): AwsWorld => {
    const { world } = twoNodes();
    addPod(world, 'app', 'no-such-node');
    edit(world, 'persistentvolumeclaims', ['app-data', 'default'], (claim) => {
      claim.spec.volumeName = '';
      claim.status = { phase: 'Pending' };
    });
    addClaimEvent(world, 'ProvisioningFailed', says);
    world.advance(60_000);
    return world;
  };

  it.each([
    [
      'by-itself',
      'kubectl -n default get volumesnapshot',
      'failed to provision volume with StorageClass "gp3": error getting handle for DataSource Type VolumeSnapshot by Name db-snap: snapshot db-snap is not Ready',
    ],
    [
      'by-person',
      'the KMS key',
      `failed to provision volume with StorageClass "gp3": rpc error: code = Internal desc = Could not create volume "pvc-1": failed to get an available volume in EC2: InvalidVolume.NotFound: The volume 'vol-0abc' does not exist.`,
    ],
    ['by-person', 'kubectl get storageclass', 'storageclass.storage.k8s.io "fast" not found'],
    [
      'by-person',
      'kubectl -n default annotate pvc app-data volume.kubernetes.io/selected-node-',
      'failed to provision volume with StorageClass "gp3": error generating accessibility requirements: error getting CSINode for selected node "ip-10-0-9-9": csinode.storage.k8s.io "ip-10-0-9-9" not found',
    ],
    [
      'by-person',
      'kubectl get csinode ip-10-0-9-9',
      'failed to provision volume with StorageClass "gp3": error generating accessibility requirements: no topology key found on CSINode ip-10-0-9-9',
    ],
  ])('%s, and the next command begins with %s', async (ending, command, says) => {
    const world = refused(says);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'provisioning-refused', ending });
    expect(cause.next[0]).toContain(command);
    writerAs(world, 'person').remove('pods', objectOf(world, 'pods', 'app'), 0);
    const [alone] = (await diagnoseSandbox(world, 'pvc/default/app-data')).findings;
    expect(alone?.cause).toMatchObject({ kind: 'provisioning-refused', ending, next: cause.next });
  });
});

const objectOf = <R extends Resource>(world: AwsWorld, resource: R, name: string, namespace = 'default') => {
  const found = getObject(world, resource, name, namespace);
  if (!found) throw new Error(`no ${resource} ${name}`);
  return found;
};

describe('the driver', () => {
  /** kube-scheduler names the taint before 1.36 only. test/diagnosis/broken-clusters.test.ts has the words since then. */
  it('has not started on new Nodes, and its taint keeps the pod away', async () => {
    const { world } = twoNodes();
    addUnplaced(world, '0/2 nodes are available: 2 node(s) had untolerated taint {ebs.csi.aws.com/agent-not-ready: }.');
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'driver-not-on-node', confidence: 'proved' });
    expect(cause.says).toContain('ebs.csi.aws.com');
    expect(cause.next.join()).toContain('do not remove the taint');
  });

  it('was uninstalled while it had a disk to detach', async () => {
    const { world, node, other } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    world.parts.cluster.knobs.attacherDown = true;
    writerAs(world, 'person').remove('pods', objectOf(world, 'pods', 'app'), 0);
    world.advance(60_000);
    for (const name of [node, other]) edit(world, 'csinodes', [name], ({ spec }) => void (spec.drivers = []));
    addPod(world, 'next', node);
    world.advance(300_000);
    const cause = theCause(await diagnoseSandbox(world, NEXT));
    expect(cause).toMatchObject({ kind: 'driver-not-on-node', confidence: 'proved' });
    expect(cause.says).toContain('is not installed');
    expect(cause.next.join()).toContain('do not remove the finalizer');
  });
});

describe('the name of a Node', () => {
  it('belongs to a new machine, and the old one still has the disk', async () => {
    const { world, scene, other } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    world.advance(30_000);
    world.parts.cluster.knobs.attacherDown = true;
    stopMachine(world, scene.holder);
    world.advance(60_000);
    const fresh = addInstance(world);
    const old = objectOf(world, 'nodes', other, '');
    const person = writerAs(world, 'person');
    person.remove('nodes', old);
    person.remove('csinodes', objectOf(world, 'csinodes', other, ''));
    person.remove('leases', objectOf(world, 'leases', other, 'kube-node-lease'));
    person.remove('pods', objectOf(world, 'pods', 'app'), 0);
    person.create('nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: other, labels: old.metadata.labels ?? {} },
      spec: { providerID: `aws:///eu-west-1a/${fresh}` },
      status: {
        ...old.status,
        volumesInUse: [],
        volumesAttached: [],
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at(world), lastHeartbeatTime: at(world) }],
      },
    });
    person.create('csinodes', {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: other },
      spec: { drivers: [{ name: EBS, nodeID: fresh, topologyKeys: [] }] },
    });
    person.create('leases', {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: other, namespace: 'kube-node-lease' },
      spec: { holderIdentity: other, renewTime: at(world), leaseDurationSeconds: 40 },
    });
    addPod(world, 'app', other);
    world.advance(30_000);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'node-gone', confidence: 'proved' });
    expect(cause.says).toContain(`an earlier machine with the name ${other}`);
    expect(cause.next.join()).toContain(`cloudfence fence ${scene.holder}`);
    expect(cause.next.join()).toContain('do not delete the VolumeAttachment');
  });

  it('belongs to no machine any more, and the machine that has the disk is off', async () => {
    const { world, disk } = unanswered();
    const stranger = addInstance(world);
    const volume = volumeIn(world, disk);
    const attachment = {
      instance: stranger,
      device: '/dev/xvdz',
      state: 'attached',
      at: world.now() - 1_500_000,
    } as const;
    const attachments = [{ ...attachment, deleteOnTermination: false, forced: false }];
    if (volume) put(world.parts.ec2.volumes, disk, { ...volume, attachments });
    stopMachine(world, stranger);
    world.parts.cluster.knobs.attacherDown = false;
    world.advance(60_000);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'attached-outside', confidence: 'proved', ending: 'by-person' });
    expect(cause.next[0]).toBe(
      `detach the disk from ${stranger} in the cloud: that machine is off, so nothing there uses it`,
    );
  });
});

describe('a Node without a free slot', () => {
  it('makes its kubelet reject the pod', async () => {
    const { world, node } = twoNodes();
    addPod(world, 'app', node);
    world.advance(60_000);
    edit(world, 'pods', ['app', 'default'], ({ status }) => {
      status.phase = 'Failed';
      Object.assign(status, { reason: 'VolumeAttachmentLimitExceeded', message: 'the Node has no free slot' });
    });
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'attach-limit', confidence: 'proved', ending: 'by-person' });
    expect(cause.next.join()).toContain('kubectl -n default delete pod app');
  });
});

it('an error that no rule knows is named as what has to be fixed before the next attempt', async () => {
  const { world } = attachFailed(`ERROR CODE: ScopeLocked: The scope 'x' cannot perform write operation`);
  const cause = theCause(await diagnoseSandbox(world, APP));
  expect(cause).toMatchObject({ kind: 'attach-failed', confidence: 'likely', ending: 'by-person' });
  expect(cause.next[0]).toBe('fix what the error names');
});
