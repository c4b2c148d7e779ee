import { describe, expect, it } from 'vitest';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod, addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addPod, addPodEvent, addUnplaced, at, attachmentOn, held, twoNodes, unanswered } from './scenes.ts';

/** Clusters in which the most visible sign misleads, and in which a wrong answer could destroy data. */

const forceDelete = (world: AwsWorld, name: string): void => {
  const pod = getObject(world, 'pods', name, 'default');
  if (pod) writerAs(world, 'person').remove('pods', pod, 0);
};

const NEXT = 'pod/default/next';

describe('the answer does not suggest to delete or reboot what may be in use:', () => {
  it('a force-deleted pod whose kubelet still lists the volume as mounted', async () => {
    const { world, disk, node, other } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    world.parts.cluster.knobs.unmountMs = 3_600_000;
    forceDelete(world, 'app');
    world.advance(120_000);
    addPod(world, 'next', node);
    world.advance(30_000);
    const { apiVersion, kind, spec } = attachmentOn(world, other);
    writerAs(world, 'attach-detach-controller').create('volumeattachments', {
      apiVersion,
      kind,
      metadata: { name: attachmentName({ driver: spec.attacher, handle: disk }, node) },
      spec: { ...spec, nodeName: node },
      status: {
        attached: false,
        attachError: { time: at(world), message: 'api error VolumeInUse: vol-1 is already attached to an instance' },
      },
    });
    const { findings, text } = await diagnoseSandbox(world, NEXT);
    expect(text).toContain('the kubelet lists it as mounted');
    expect(findings[0]?.cause.next.join(), text).not.toContain('delete volumeattachment');
  });

  it('a disk that another PersistentVolume also names', async () => {
    const { world, disk, node, other } = twoNodes();
    addBoundClaim(world, 'twin', { driver: EBS, handle: disk, zone: 'eu-west-1a', volume: 'twin-pv' }, 'reports');
    addBarePod(world, {
      name: 'twin',
      namespace: 'reports',
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': other },
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'twin' } }],
      },
    });
    settle(world);
    addPod(world, 'app', node);
    world.advance(300_000);
    const cause = theCause(await diagnoseSandbox(world, 'pod/default/app'));
    expect(cause).toMatchObject({ kind: 'shared-claim', confidence: 'proved', ending: 'by-person' });
    expect(cause.next.join()).toMatch(/do not fence or reboot/);
  });

  it('a Node that is not Ready, but whose kubelet reports', async () => {
    const { world, other } = held();
    edit(world, 'nodes', [other], ({ status }) => {
      status.conditions = [{ type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'no runtime' }];
    });
    const cause = theCause(await diagnoseSandbox(world, NEXT));
    expect(cause).toMatchObject({ kind: 'machine-unreachable', ending: 'by-person' });
    expect(cause.says).toContain('is not Ready, but its kubelet reports');
  });
});

describe('an old event is not the reason for what holds the pod now:', () => {
  it.each([
    ['FailedMount', 'MountVolume.SetUp failed for volume "config" : configmap "app" not found'],
    ['FailedCreatePodSandBox', 'Failed to create pod sandbox: the network plugin is not ready'],
  ])('%s', async (reason, says) => {
    const { world } = held(1_000);
    addPodEvent(world, reason, says, 'next');
    expect((await diagnoseSandbox(world, NEXT)).findings[0]?.cause.kind).toBe('not-the-volume');
    world.advance(600_000);
    expect((await diagnoseSandbox(world, NEXT)).findings[0]?.cause.kind).toBe('shared-claim');
  });
});

describe('a fence alone does not end the wait:', () => {
  it('both the holder of the volume and the Node of the pod are off', async () => {
    const { world, scene, node } = held();
    for (const machine of [scene.holder, scene.spare]) stopMachine(world, machine);
    world.advance(300_000);
    const cause = theCause(await diagnoseSandbox(world, NEXT));
    expect(cause.kind).toBe('machine-off');
    expect(cause.next.join()).toContain(`then also: cloudfence fence ${node}`);
  });

  it('the Node is opted out, so a person has to act', async () => {
    const { world, scene, other } = held();
    edit(world, 'nodes', [other], ({ metadata }) => {
      metadata.labels = { ...metadata.labels, 'cloudfence.node-restriction.kubernetes.io/opt-out': 'gpu' };
    });
    stopMachine(world, scene.holder);
    world.advance(300_000);
    expect(theCause(await diagnoseSandbox(world, NEXT))).toMatchObject({ kind: 'machine-off', ending: 'by-person' });
  });

  it('the attacher has its Lease and does not act', async () => {
    const { world } = unanswered();
    writerAs(world, 'csi-attacher').create('leases', {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'external-attacher-leader-ebs-csi-aws-com', namespace: 'kube-system' },
      spec: { holderIdentity: 'ebs-csi-controller-0', renewTime: at(world, -2_000) },
    });
    const cause = theCause(await diagnoseSandbox(world));
    expect(cause).toMatchObject({ kind: 'attacher-down', confidence: 'likely', ending: 'by-person' });
    expect(cause.says).toContain('although its attacher runs');
  });

  it('the only Node of the zone is under quarantine', async () => {
    const { world } = twoNodes();
    addUnplaced(
      world,
      "0/2 nodes are available: 1 node(s) had untolerated taint {cloudfence.dev/quarantine: fenced}, 1 node(s) didn't match PersistentVolume's node affinity.",
    );
    const cause = theCause(await diagnoseSandbox(world, 'pod/default/app'));
    expect(cause.next[0]).toContain('Do not remove its taint by hand');
  });
});
