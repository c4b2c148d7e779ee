import { describe, expect, it } from 'vitest';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { theCause } from './any-rig.ts';
import { diagnoseSandbox, edit } from './rig.ts';
import { addClaimEvent, addPod, addPodEvent, addUnplaced, at, mountPending, twoNodes } from './scenes.ts';

/** The claim and its PersistentVolume, the scheduler's words, and what has nothing to do with a volume. */

const VOLUME = 'pvc-default-app-data';

const waitingFor = (change: (world: AwsWorld) => void): AwsWorld => {
  const { world, node } = twoNodes();
  change(world);
  addPod(world, 'app', node);
  world.advance(1_000);
  return world;
};

const pendingClaim = (world: AwsWorld): void =>
  edit(world, 'persistentvolumeclaims', ['app-data', 'default'], (claim) => {
    claim.status = { phase: 'Pending' };
    delete claim.spec.volumeName;
    claim.metadata.annotations = { 'volume.kubernetes.io/storage-provisioner': 'ebs.csi.aws.com' };
  });

describe('the claim', () => {
  it.each<readonly [string, (world: AwsWorld) => void]>([
    [
      'claim-missing',
      (world) => {
        const claim = getObject(world, 'persistentvolumeclaims', 'app-data', 'default');
        if (claim) writerAs(world, 'person').remove('persistentvolumeclaims', claim);
      },
    ],
    [
      'claim-lost',
      (world) =>
        edit(
          world,
          'persistentvolumeclaims',
          ['app-data', 'default'],
          (claim) => void (claim.status = { phase: 'Lost' }),
        ),
    ],
    [
      'claim-going',
      (world) =>
        edit(world, 'persistentvolumeclaims', ['app-data', 'default'], ({ metadata }) => {
          metadata.finalizers = ['kubernetes.io/pvc-protection'];
          metadata.deletionTimestamp = at(world);
        }),
    ],
    [
      'volume-missing',
      (world) => {
        const volume = getObject(world, 'persistentvolumes', VOLUME);
        if (volume) writerAs(world, 'person').remove('persistentvolumes', volume);
      },
    ],
    [
      'volume-going',
      (world) =>
        edit(world, 'persistentvolumes', [VOLUME], ({ metadata }) => {
          metadata.finalizers = ['external-attacher/ebs-csi-aws-com'];
          metadata.deletionTimestamp = at(world);
        }),
    ],
  ])('%s', async (kind, change) => {
    const world = waitingFor(change);
    const answer = await diagnoseSandbox(world, 'pod/default/app');
    expect(theCause(answer), answer.text).toMatchObject({ kind, confidence: 'proved', ending: 'by-person' });
  });

  it.each([
    [
      'provisioning-refused',
      'ProvisioningFailed',
      'failed to provision volume with StorageClass "gp3": rpc error: code = Internal desc = UnauthorizedOperation',
    ],
    [
      'no-provisioner',
      'ExternalProvisioning',
      "Waiting for a volume to be created either by the external provisioner 'ebs.csi.aws.com' or manually by the system administrator.",
    ],
    ['no-volume', 'FailedBinding', 'no persistent volumes available for this claim and no storage class is set'],
  ])('%s', async (kind, reason, note) => {
    const { world } = twoNodes();
    pendingClaim(world);
    addUnplaced(world, '0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.');
    addClaimEvent(world, reason, note);
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer).kind, answer.text).toBe(kind);
    expect(theCause(answer).says + theCause(answer).proof.join()).toContain(note.slice(0, 40));
  });

  it('waits for the scheduler, which has a reason of its own', async () => {
    const { world } = twoNodes();
    pendingClaim(world);
    addUnplaced(world, '0/2 nodes are available: 2 Insufficient cpu.');
    addClaimEvent(world, 'WaitForFirstConsumer', 'waiting for first consumer to be created before binding');
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({
      kind: 'waits-for-consumer',
      says: expect.stringContaining('Insufficient cpu'),
    });
  });
});

describe('the scheduler names', () => {
  it.each([
    ['wrong-zone', "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity."],
    ['node-full', '0/2 nodes are available: 2 node(s) exceed max volume count.'],
    ['not-the-volume', '0/2 nodes are available: 2 Insufficient memory.'],
  ])('%s', async (kind, says) => {
    const { world } = twoNodes();
    addUnplaced(world, says);
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer).kind, answer.text).toBe(kind);
  });

  it('a local volume, which nobody can move', async () => {
    const { world, other } = twoNodes();
    edit(world, 'persistentvolumes', [VOLUME], ({ spec }) => {
      delete spec.csi;
      Object.assign(spec, { local: { path: '/data' } });
      spec.nodeAffinity = {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [other] }] },
          ],
        },
      };
    });
    addUnplaced(
      world,
      "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) had untolerated taint.",
    );
    const answer = await diagnoseSandbox(world);
    expect(answer.text).toMatchInlineSnapshot(`
      "
      pod default/app  not placed for 0s, needs claim app-data
      └ claim app-data  Bound, ReadWriteOnce
        └ volume pvc-default-app-data  local, ip-10-0-0-11.eu-west-1.compute.internal
      CAUSE   pvc-default-app-data lives on ip-10-0-0-11.eu-west-1.compute.internal and nowhere else. Neither Kubernetes, nor the cloud, nor Cloudfence can move its data. [proved: local-volume]
      PROOF   its node affinity names ip-10-0-0-11.eu-west-1.compute.internal
              the scheduler: 0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) had untolerated taint.
      WAITS   default/app ← ip-10-0-0-11.eu-west-1.compute.internal.
      NEXT    bring ip-10-0-0-11.eu-west-1.compute.internal back
              or give the data up: delete the claim and the pod, and let the application replicate from its other members
      "
    `);
    expect(theCause(answer)).toMatchObject({ kind: 'local-volume', confidence: 'proved' });
  });
});

describe('it is not the volume:', () => {
  it('an image that cannot be pulled', async () => {
    const { world } = mountPending();
    edit(world, 'pods', ['app', 'default'], ({ status }) => {
      status.containerStatuses = [
        {
          name: 'main',
          ready: false,
          state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } },
        },
      ];
    });
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({
      kind: 'not-the-volume',
      says: expect.stringContaining('ImagePullBackOff'),
    });
  });

  it('a ConfigMap that does not exist, although the event says FailedMount', async () => {
    const { world } = mountPending();
    addPodEvent(world, 'FailedMount', 'MountVolume.SetUp failed for volume "config" : configmap "app" not found');
    expect(theCause(await diagnoseSandbox(world)).kind).toBe('not-the-volume');
  });
});
