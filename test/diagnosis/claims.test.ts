import { describe, expect, it } from 'vitest';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod, addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import {
  addClaimEvent,
  addPod,
  addUnplaced,
  at,
  setClaimPending,
  twoNodes,
  unplacedWithPendingClaim,
} from './scenes.ts';

/** Claims that are not bound, that go with their pod, and volumes that live on one Node. */

const APP = 'pod/default/app';
const VOLUME = 'pvc-default-app-data';

/** The reasons of kube-scheduler 1.36.3: pkg/scheduler/framework/plugins/{nodevolumelimits,volumebinding}. */
describe('the scheduler waits for a volume that does not exist yet', () => {
  it.each([
    ['node-full', '0/3 nodes are available: 1 Insufficient cpu, 2 node(s) exceed max volume count.'],
    ['no-volume', '0/3 nodes are available: 3 node(s) did not have enough free storage.'],
    ['no-volume', "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind."],
    ['no-provisioner', '0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.'],
    ['no-provisioner', 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'],
  ])('%s: %s', async (kind, says) => {
    const world = unplacedWithPendingClaim(says);
    addClaimEvent(world, 'WaitForFirstConsumer', 'waiting for first consumer to be created before binding');
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind, ending: 'by-person' });
    expect(cause.next.join()).not.toContain('The volume is not the cause');
  });

  it('and the claim has no StorageClass, and its events are gone', async () => {
    const world = unplacedWithPendingClaim(
      '0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.',
      null,
    );
    expect(theCause(await diagnoseSandbox(world, APP)).kind).toBe('no-volume');
  });

  it('of another claim of the pod: the claim that is bound is not blamed', async () => {
    const { world } = twoNodes();
    addBoundClaim(world, 'logs', { driver: EBS, handle: addVolume(world), zone: 'eu-west-1a' });
    setClaimPending(world, 'logs');
    addBarePod(world, {
      name: 'app',
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': 'no-such-node' },
        volumes: ['app-data', 'logs'].map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
      },
    });
    edit(world, 'pods', ['app', 'default'], ({ status }) => {
      const message = '0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.';
      status.conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }];
    });
    expect((await diagnoseSandbox(world, APP)).findings[0]?.cause.kind, 'it is young').toBe('moving-now');
    world.advance(120_000);
    const answer = await diagnoseSandbox(world, APP);
    expect(theCause(answer).kind).toBe('no-provisioner');
    expect(answer.findings[0]?.claim).toBe('logs');
  });
});

describe('the provisioner', () => {
  it.each([
    ['moving-now', 'by-itself', 0],
    ['no-provisioner', 'by-person', 1_200_000],
  ])('has begun, and the answer is %s', async (kind, ending, later) => {
    const world = unplacedWithPendingClaim(
      '0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.',
    );
    addClaimEvent(world, 'Provisioning', 'External provisioner is provisioning volume for claim "default/app-data"');
    world.advance(later);
    expect(theCause(await diagnoseSandbox(world, APP))).toMatchObject({ kind, ending });
  });

  it.each([
    ['by-itself', 'wait some minutes', 'rpc error: code = DeadlineExceeded desc = context deadline exceeded'],
    // the code: kubernetes-sigs/gcp-compute-persistent-disk-csi-driver#1837
    ['by-person', 'no capacity', 'rpc error: code = Unavailable desc = ZONE_RESOURCE_POOL_EXHAUSTED'],
    ['by-person', 'higher quota', 'rpc error: code = Internal desc = api error VolumeLimitExceeded: limit'],
    ['by-person', 'grant the permission', "googleapi: Error 403: Required 'compute.disks.create' permission for x"],
  ])('refuses: %s, %s', async (ending, words, says) => {
    const world = unplacedWithPendingClaim('');
    addClaimEvent(world, 'ProvisioningFailed', `failed to provision volume with StorageClass "gp3": ${says}`);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'provisioning-refused', ending });
    expect(cause.next[0]).toContain(words);
  });
});

describe('a generic ephemeral volume', () => {
  const ephemeral = (world: AwsWorld, node: string): void =>
    void addBarePod(world, {
      name: 'app',
      spec: { nodeSelector: { 'kubernetes.io/hostname': node }, volumes: [{ name: 'data', ephemeral: {} }] },
    });

  const notStarted = (world: AwsWorld): void =>
    edit(world, 'pods', ['app', 'default'], ({ status }) => {
      status.phase = 'Pending';
      status.conditions = [];
      status.containerStatuses = [];
    });

  const removeClaim = (world: AwsWorld): void => {
    const claim = getObject(world, 'persistentvolumeclaims', 'app-data', 'default');
    if (claim) writerAs(world, 'person').remove('persistentvolumeclaims', claim);
  };

  it('has no claim yet: nobody is told to create it by hand', async () => {
    const { world, node } = twoNodes();
    removeClaim(world);
    ephemeral(world, node);
    world.advance(120_000);
    notStarted(world);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause.kind).toBe('claim-missing');
    expect(cause.next.join()).toContain('do not create the claim by hand');
  });

  it('has a name that a claim of somebody else has', async () => {
    const { world, node } = twoNodes();
    ephemeral(world, node);
    world.advance(120_000);
    notStarted(world);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'claim-missing', confidence: 'proved' });
    expect(cause.says).toContain('was not made for this pod');
  });

  it('is on a machine that is off: a fence deletes the claim with the pod, and the answer says so first', async () => {
    const { world, scene, other } = twoNodes();
    ephemeral(world, other);
    const pod = getObject(world, 'pods', 'app', 'default');
    edit(world, 'persistentvolumeclaims', ['app-data', 'default'], ({ metadata }) => {
      metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'app', uid: pod?.metadata.uid ?? '' }];
    });
    settle(world);
    stopMachine(world, scene.holder);
    world.advance(180_000);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause.kind).toBe('machine-off');
    expect(cause.next[0]).toMatch(/^kubectl patch pv .*Retain/);
  });
});

it('a StatefulSet was scaled down, and its claim goes with the pod on the machine that is off', async () => {
  const { world, scene, other } = twoNodes();
  addPod(world, 'app', other);
  settle(world);
  stopMachine(world, scene.holder);
  world.advance(180_000);
  edit(world, 'persistentvolumeclaims', ['app-data', 'default'], ({ metadata }) => {
    metadata.finalizers = ['kubernetes.io/pvc-protection'];
    metadata.deletionTimestamp = at(world, -60_000);
  });
  const cause = theCause(await diagnoseSandbox(world, APP));
  expect(cause).toMatchObject({ kind: 'machine-off', ending: 'by-fence' });
  expect(cause.next[0]).toMatch(/^kubectl patch pv .*Retain/);
  expect(cause.next.join()).toContain('deleted together with app');
});

it('a claim that is being deleted: the next claim has to name the volume, else it gets an empty disk', async () => {
  const { world, node } = twoNodes();
  edit(world, 'persistentvolumeclaims', ['app-data', 'default'], ({ metadata }) => {
    metadata.finalizers = ['kubernetes.io/pvc-protection'];
    metadata.deletionTimestamp = at(world);
  });
  addPod(world, 'app', node);
  world.advance(1_000);
  const cause = theCause(await diagnoseSandbox(world, APP));
  expect(cause.kind).toBe('claim-going');
  expect(cause.next.join()).toContain(`spec.volumeName: ${VOLUME}`);
});

describe('a volume that lives on one Node', () => {
  const pinTo = (world: AwsWorld, key: string, value: string): void =>
    edit(world, 'persistentvolumes', [VOLUME], ({ spec }) => {
      spec.csi = { driver: 'topolvm.io', volumeHandle: 'lv-1' };
      const expression = { key, operator: 'In', values: [value] };
      spec.nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } };
    });
  const NO_FIT = "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.";

  it.each(['topology.topolvm.io/node', 'openebs.io/nodename', 'kubernetes.io/hostname'])(
    'by the label %s',
    async (key) => {
      const { world, scene, other } = twoNodes();
      pinTo(world, key, other);
      addUnplaced(world, NO_FIT);
      stopMachine(world, scene.holder);
      world.advance(120_000);
      const cause = theCause(await diagnoseSandbox(world, APP));
      expect(cause).toMatchObject({ kind: 'local-volume', confidence: 'proved' });
      expect(cause.next[0]).toContain(`start ${scene.holder}`);
      expect(cause.next.join()).not.toContain('snapshot');
    },
  );

  it('whose label differs from the name of the Node: nobody is told at once that it is gone', async () => {
    const { world } = twoNodes();
    pinTo(world, 'kubernetes.io/hostname', 'db-host-7');
    addUnplaced(world, NO_FIT);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause.next[0]).toContain('kubectl get nodes --show-labels | grep db-host-7');
  });

  it('whose machine is off, with the pod on it: a fence moves no data', async () => {
    const { world, scene, other } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    pinTo(world, 'kubernetes.io/hostname', other);
    stopMachine(world, scene.holder);
    world.advance(400_000);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'local-volume', ending: 'by-person' });
    expect(cause.next[0]).toContain(`start ${scene.holder}`);
    expect(cause.next.join()).toContain('its replacement waits for the same Node');
  });
});

describe('a pod without a Node', () => {
  it('that no scheduler has looked at', async () => {
    const { world } = twoNodes();
    addUnplaced(world, 'x');
    edit(world, 'pods', ['app', 'default'], ({ status }) => void (status.conditions = []));
    world.advance(300_000);
    edit(world, 'pods', ['app', 'default'], ({ status }) => void (status.conditions = []));
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'not-the-volume', confidence: 'likely' });
    expect(cause.next[0]).toContain('schedulerName');
  });

  it('that scheduling gates keep back', async () => {
    const { world } = twoNodes();
    addUnplaced(world, 'Scheduling is blocked due to non-empty scheduling gates');
    expect(theCause(await diagnoseSandbox(world, APP)).says).toContain('scheduling gates');
  });

  it('because the only Node of the zone is cordoned', async () => {
    const { world } = twoNodes();
    addUnplaced(
      world,
      "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match PersistentVolume's node affinity.",
    );
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'wrong-zone' });
    expect(cause.next[0]).toContain('cordoned');
  });
});
