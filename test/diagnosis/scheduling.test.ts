import { describe, expect, it } from 'vitest';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import {
  addClaim,
  addClaimEvent,
  addPod,
  addPodEvent,
  addUnplaced,
  at,
  mountPending,
  setClaimPending,
  twoNodes,
} from './scenes.ts';

/** The claim and its PersistentVolume, the words of the scheduler, and causes that have nothing to do with a volume. */

const VOLUME = 'pvc-default-app-data';

const waitingFor = (change: (world: AwsWorld) => void): AwsWorld => {
  const { world, node } = twoNodes();
  change(world);
  addPod(world, 'app', node);
  world.advance(1_000);
  return world;
};

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
    setClaimPending(world);
    addUnplaced(world, '0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.');
    addClaimEvent(world, reason, note);
    world.advance(120_000);
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer).kind, answer.text).toBe(kind);
    expect(theCause(answer).says + theCause(answer).proof.join()).toContain(note.slice(0, 40));
  });

  it.each([
    ['volume-missing', 'data', 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'],
    ['volume-missing', 'data', 'persistentvolume "pvc-gone" not found'],
    ['claim-missing', 'none', 'persistentvolumeclaim "none" not found'],
  ])('%s: the other claim of the pod is unusable, and this one is well', async (kind, claimName, says) => {
    const { world } = twoNodes();
    addClaim(world, 'data');
    edit(world, 'persistentvolumeclaims', ['data', 'default'], ({ spec }) => void (spec.volumeName = 'pvc-gone'));
    addUnplaced(world, `0/2 nodes are available: ${says}. preemption: 0/2 nodes are available.`);
    edit(world, 'pods', ['app', 'default'], ({ spec }) => {
      spec.volumes = [...(spec.volumes ?? []), { name: 'more', persistentVolumeClaim: { claimName } }];
    });
    world.advance(120_000);
    const { findings } = await diagnoseSandbox(world, 'pod/default/app');
    expect(findings).toMatchObject([{ claim: claimName, cause: { kind, confidence: 'proved' } }]);
  });

  it('waits for the scheduler, which has another reason', async () => {
    const { world } = twoNodes();
    setClaimPending(world);
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

  const NO_FIT =
    "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match PersistentVolume's node affinity.";

  /** A pod that the scheduler does not place, with a volume that is on the other Node. */
  const localVolume = () => {
    const begun = twoNodes();
    edit(begun.world, 'persistentvolumes', [VOLUME], ({ spec }) => {
      delete spec.csi;
      Object.assign(spec, { local: { path: '/data' } });
      const expression = { key: 'kubernetes.io/hostname', operator: 'In', values: [begun.other] };
      spec.nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } };
    });
    addUnplaced(begun.world, NO_FIT);
    return begun;
  };

  it('a local volume on a Node that works: the answer does not suggest to give up its data', async () => {
    const { world } = localVolume();
    const answer = await diagnoseSandbox(world);
    const cause = theCause(answer);
    expect(cause, answer.text).toMatchObject({ kind: 'local-volume', confidence: 'proved' });
    expect(cause.next.join()).not.toMatch(/delete/);
  });

  it('a local volume on a Node that Cloudfence has fenced: the release comes first', async () => {
    const { world, other } = localVolume();
    edit(world, 'nodes', [other], ({ metadata }) => {
      const fenced = { 'cloudfence.node-restriction.kubernetes.io/fenced': 'a.b' };
      metadata.labels = { ...metadata.labels, ...fenced };
    });
    expect(theCause(await diagnoseSandbox(world)).next.join()).toContain('cloudfence status');
  });

  it('a local volume on a Node whose machine is off: its data comes back with the machine', async () => {
    const { world, scene } = localVolume();
    stopMachine(world, scene.holder);
    world.advance(120_000);
    const { findings, text } = await diagnoseSandbox(world, 'pod/default/app');
    expect(findings[0]?.cause, text).toMatchObject({ kind: 'local-volume' });
    expect(text).toMatchSnapshot();
  });
});

describe('the volume is not the cause:', () => {
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
