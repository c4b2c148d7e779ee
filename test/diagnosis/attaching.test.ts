import { describe, expect, it } from 'vitest';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { put, write } from '../../sandbox/history.ts';
import { addInstance } from '../../sandbox/ec2/scenario.ts';
import { volumeIn, type Volume } from '../../sandbox/ec2/state.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addPod, addUnplaced, at, attachFailed, attachmentOn, twoNodes, unanswered } from './scenes.ts';

/** The attachment to the pod's Node, its driver and attacher, and the cloud. */

const changeDisk = (world: AwsWorld, id: string, change: Partial<Volume>): void => {
  const volume = volumeIn(world, id);
  if (volume) put(world.parts.ec2.volumes, id, { ...volume, ...change });
};

const held = (world: AwsWorld, instance: string, state: 'attached' | 'attaching' | 'detaching' = 'attached') => ({
  attachments: [
    { instance, device: '/dev/xvdz', state, at: world.now() - 1_500_000, deleteOnTermination: false, forced: false },
  ],
});

/** The attacher renewed its Lease this many ms ago. */
const leaseOfAttacher = (world: AwsWorld, ago: number): void =>
  void writerAs(world, 'attacher').create('leases', {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'external-attacher-leader-ebs-csi-aws-com', namespace: 'kube-system' },
    spec: {
      holderIdentity: 'ebs-csi-controller-0',
      renewTime: new Date(world.now() - ago).toISOString().replace('Z', '000Z'),
    },
  });

describe('the driver and its attacher', () => {
  it('the driver is not registered on the pod’s Node', async () => {
    const { world, node } = unanswered();
    edit(world, 'csinodes', [node], ({ spec }) => void (spec.drivers = []));
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({ kind: 'driver-not-on-node', confidence: 'proved' });
  });

  it('no attacher answers, and its Lease is missing or old', async () => {
    const { world } = unanswered();
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({ kind: 'attacher-down', confidence: 'likely' });
    leaseOfAttacher(world, 240_000);
    const answer = await diagnoseSandbox(world);
    expect(answer.text).toMatchInlineSnapshot(`
      "
      pod default/app  not started for 5m00s on ip-10-0-0-13.eu-west-1.compute.internal, needs claim app-data
      └ claim app-data  Bound, ReadWriteOnce
        └ volume pvc-default-app-data  ebs.csi.aws.com vol-00000000000000006, eu-west-1a
          ├ attachment to ip-10-0-0-13.eu-west-1.compute.internal  not attached yet, since 00:00:10Z, the kubelet lists it as mounted
          │ └ Node ip-10-0-0-13.eu-west-1.compute.internal  Ready for 5m04s, last Lease 00:05:06Z
          │   └ machine i-00000000000000003  running (running), asked now
          └ disk vol-00000000000000006  available, eu-west-1a, attached to no machine
      CAUSE   The controller of the CSI driver ebs.csi.aws.com does not answer the VolumeAttachment. [proved: attacher-down]
      PROOF   its Lease kube-system/external-attacher-leader-ebs-csi-aws-com was renewed 4m00s ago by ebs-csi-controller-0
      WAITS   default/app ← csi-a9f34f23f3fd874121db8d982377de272b76511152578013610994f6889bf031 ← external-attacher.
      NEXT    find the controller, and find out why it does not run: kubectl get pods -A -o wide | grep -i csi
              if the machine of its Node is off: cloudfence fence <node>
      "
    `);
    expect(theCause(answer)).toMatchObject({ kind: 'attacher-down', confidence: 'proved' });
  });

  it('a VolumeAttachment that no pod uses does not go, and the answer says why', async () => {
    const { world, node, other } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    world.parts.cluster.knobs.attacherDown = true;
    const pod = getObject(world, 'pods', 'app', 'default');
    if (pod) writerAs(world, 'person').remove('pods', pod, 0);
    addPod(world, 'next', node);
    world.advance(200_000);
    edit(world, 'volumeattachments', [attachmentOn(world, other).metadata.name], ({ status }) => {
      status.detachError = {
        time: at(world, -60_000),
        message: 'rpc error: code = Internal desc = Could not detach: api error UnauthorizedOperation: no',
      };
    });
    const answer = await diagnoseSandbox(world);
    expect(answer.text).toMatchInlineSnapshot(`
      "
      pod default/next  not started for 3m20s on ip-10-0-0-13.eu-west-1.compute.internal, needs claim app-data
      └ claim app-data  Bound, ReadWriteOnce
        └ volume pvc-default-app-data  ebs.csi.aws.com vol-00000000000000006, eu-west-1a
          ├ attachment to ip-10-0-0-11.eu-west-1.compute.internal  attached, since 00:00:10Z, detach requested 3m19s ago, detachError 1m00s ago, no pod uses it
          │ └ Node ip-10-0-0-11.eu-west-1.compute.internal  Ready for 3m28s, last Lease 00:03:26Z
          │   └ machine i-00000000000000001  running (running), asked now
          ├ attachment to ip-10-0-0-13.eu-west-1.compute.internal  not attached yet, since 00:02:15Z, the kubelet lists it as mounted
          │ └ Node ip-10-0-0-13.eu-west-1.compute.internal  Ready for 3m28s, last Lease 00:03:26Z
          │   └ machine i-00000000000000003  running (running), asked now
          └ disk vol-00000000000000006  in-use, eu-west-1a, attached to i-00000000000000001 since 00:00:11Z
      CAUSE   No pod uses pvc-default-app-data on ip-10-0-0-11.eu-west-1.compute.internal, but its VolumeAttachment is not deleted: rpc error: code = Internal desc = Could not detach: api error UnauthorizedOperation: no [proved: stale-attachment]
      PROOF   its deletion was requested 3m19s ago
              detachError at 00:02:34Z
              finalizers: external-attacher/ebs-csi-aws-com
              the disk names i-00000000000000001, the machine of that Node
              whether its attacher runs is not known
      WAITS   default/next ← csi-764b2aedb99389997b9d4c2c9e072d606bc855f08153089ab7c1e2e3b2b67ec1 ← the attacher of ebs.csi.aws.com.
      NEXT    fix what the error names: credentials, limits, or the disk itself
              the attacher tries again within five minutes; at once: kubectl annotate volumeattachment csi-764b2aedb99389997b9d4c2c9e072d606bc855f08153089ab7c1e2e3b2b67ec1 nudge=1
              once the cloud shows the disk detached, remove the finalizer of the VolumeAttachment
      "
    `);
    expect(theCause(answer)).toMatchObject({ kind: 'stale-attachment', confidence: 'proved' });
  });

  it('a VolumeAttachment that somebody created keeps the disk, so the cloud refuses another attach', async () => {
    const { world, disk, node, other } = attachFailed(
      'api error VolumeInUse: vol-1 is already attached to an instance',
    );
    const { apiVersion, kind, spec, metadata } = attachmentOn(world, node);
    writerAs(world, 'person').create('volumeattachments', {
      apiVersion,
      kind,
      metadata: { name: attachmentName({ driver: spec.attacher, handle: disk }, other) },
      spec: { ...spec, nodeName: other },
      status: { attached: true },
    });
    const cause = theCause(await diagnoseSandbox(world));
    expect(cause).toMatchObject({
      kind: 'stale-attachment',
      waits: expect.stringContaining('a person who deletes it'),
    });
    expect(cause.next).toEqual([
      expect.stringMatching(/^if nothing on .*: kubectl delete volumeattachment csi-/),
      `the attach for app is tried again within five minutes; at once: kubectl annotate volumeattachment ${metadata.name} nudge=1`,
    ]);
  });
});

describe('what the driver answers', () => {
  it.each([
    [
      'attach-limit',
      'Attachment limit exceeded for volume vol-1 on node i-1: operation error EC2: AttachVolume, api error AttachmentLimitExceeded: i-1',
    ],
    [
      'attacher-backs-off',
      'rpc error: code = Internal desc = Could not attach volume: VolumeInUse: vol-1 is already attached to an instance status code: 400',
    ],
    [
      'not-permitted',
      'rpc error: code = Internal desc = api error UnauthorizedOperation: You are not authorized. Encoded authorization failure message: x',
    ],
    ['throttled', 'rpc error: code = Internal desc = api error RequestLimitExceeded: Request limit exceeded.'],
    // kubernetes/kops#3235
    ['disk-busy', "rpc error: code = Internal desc = api error IncorrectState: vol-1 is not 'available'."],
    ['attach-failed', 'rpc error: code = NotFound desc = api error InvalidVolume.NotFound: The volume does not exist'],
    ['wrong-zone', 'rpc error: code = Internal desc = api error InvalidVolume.ZoneMismatch: not in the same zone'],
    [
      'key-unusable',
      'rpc error: code = Internal desc = CustomerKeyHasBeenRevoked: The encrypted volume was unable to access the KMS master key',
    ],
    // the sentence: kubernetes-sigs/azuredisk-csi-driver#879
    [
      'attach-limit',
      'rpc error: code = Internal desc = ERROR CODE: OperationNotAllowed: The maximum number of data disks allowed to be attached to a VM of this size is 4.',
    ],
    ['detach-pending', 'Attach volume failed: ERROR CODE: AttachDiskWhileBeingDetached: Cannot attach data disk'],
    // azuredisk-csi-driver: pkg/azuredisk/azure_controller_common.go, before batches controllerserver.go
    [
      'attach-limit',
      'rpc error: code = Internal desc = could not find enough disk luns(current: 0) for diskMap(map[], len=1), diskURI(d)',
    ],
    [
      'attach-limit',
      'rpc error: code = Unknown desc = all LUNs are used, cannot attach volume "d" to instance "aks-1" (x)',
    ],
    // microsoft/lisa#692
    [
      'attach-limit',
      `ERROR CODE: InvalidParameter: The value '8' of parameter 'dataDisk.lun' is out of range. Value '8' must be between '0' and '7' inclusive.`,
    ],
    ['not-permitted', '"code": "AuthorizationFailed", "message": "The client does not have authorization"'],
    ['lun-taken', 'Code="InvalidParameter" Message="A disk at LUN 3 already exists."'],
    [
      'attach-limit',
      'operation op-1 failed (UNSUPPORTED_OPERATION): Maximum hyperdisk-balanced disks count should be less than or equal to [16], Requested : [17]',
    ],
    [
      'attacher-backs-off',
      "operation op-1 failed (RESOURCE_IN_USE_BY_ANOTHER_RESOURCE): The disk resource 'd' is already being used by 'i'",
    ],
    ['throttled', 'googleapi: Error 403: Too many pending operations on a resource., rateLimitExceeded'],
    [
      'incompatible',
      'rpc error: code = Internal desc = ERROR CODE: InvalidParameter: UltraSSD_LRS can be used only when additionalCapabilities.ultraSSDEnabled is set',
    ],
    ['attach-failed', 'rpc error: code = NotFound desc = Could not find instance i-1'],
    ['attach-failed', 'rpc error: code = Internal desc = something new'],
    [
      'attach-failed',
      `ERROR CODE: ScopeLocked: The scope 'x' cannot perform write operation because following scope(s) are locked`,
    ],
  ])('%s: %s', async (kind, says) => {
    const { world } = attachFailed(says);
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer).kind, answer.text).toBe(kind);
    expect(theCause(answer).proof.join()).toContain(kind === 'attach-failed' ? 'attachError' : says.slice(0, 40));
  });
});

describe('a Node to which no more volumes can be attached', () => {
  it('has its slots counted: what the driver promised, and what is attached', async () => {
    const { world, node } = attachFailed('api error AttachmentLimitExceeded: i-1');
    edit(world, 'csinodes', [node], ({ spec }) => {
      for (const driver of spec.drivers) Object.assign(driver, { allocatable: { count: 25 } });
    });
    const { kind, proof } = theCause(await diagnoseSandbox(world));
    expect([kind, proof[1]]).toEqual([
      'attach-limit',
      `${node} has 0 of the driver's volumes, and its CSINode promises 25: 25 free`,
    ]);
  });

  it('is named by the scheduler, and the slots of the fullest Nodes are counted', async () => {
    const { world, other } = twoNodes();
    edit(world, 'csinodes', [other], ({ spec }) => {
      for (const driver of spec.drivers) Object.assign(driver, { allocatable: { count: 1 } });
    });
    addUnplaced(world, '0/2 nodes are available: 2 node(s) exceed max volume count.');
    const { kind, proof } = theCause(await diagnoseSandbox(world));
    expect(kind).toBe('node-full');
    expect(proof).toContain(`${other} has 1 of the driver's volumes, and its CSINode promises 1: none free`);
  });
});

describe('what the disk itself shows', () => {
  it('an attach that does not end', async () => {
    const { world, scene, disk } = unanswered();
    world.parts.cluster.knobs.attacherDown = false;
    changeDisk(world, disk, held(world, scene.spare, 'attaching'));
    leaseOfAttacher(world, 1_000);
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer), answer.text).toMatchObject({ kind: 'disk-stuck-attaching', confidence: 'proved' });
  });

  it('an attachment to a machine without a Node', async () => {
    const { world, disk } = unanswered();
    changeDisk(world, disk, held(world, addInstance(world)));
    world.parts.cluster.knobs.attacherDown = false;
    world.advance(60_000);
    const answer = await diagnoseSandbox(world);
    expect(answer.text).toMatchInlineSnapshot(`
      "
      pod default/app  not started for 6m00s on ip-10-0-0-13.eu-west-1.compute.internal, needs claim app-data
      └ claim app-data  Bound, ReadWriteOnce
        └ volume pvc-default-app-data  ebs.csi.aws.com vol-00000000000000006, eu-west-1a
          ├ attachment to ip-10-0-0-13.eu-west-1.compute.internal  not attached yet, since 00:00:10Z, attachError 29s ago, the kubelet lists it as mounted
          │ └ Node ip-10-0-0-13.eu-west-1.compute.internal  Ready for 6m04s, last Lease 00:06:06Z
          │   └ machine i-00000000000000003  running (running), asked now
          └ disk vol-00000000000000006  in-use, eu-west-1a, attached to i-00000000000000007 since 23:40:10Z
      CAUSE   The disk vol-00000000000000006 is attached to i-00000000000000007, which is no Node of this cluster (running). [proved: attached-outside]
      PROOF   the disk itself names i-00000000000000007, attached since 2025-12-31T23:40:10.000Z
              no VolumeAttachment names that machine
      WAITS   default/app ← disk ← i-00000000000000007, from which Kubernetes detaches nothing.
      NEXT    find out what uses it on i-00000000000000007, unmount the disk there, and detach it in the cloud
              the attach for app is tried again within five minutes; at once: kubectl annotate volumeattachment csi-a9f34f23f3fd874121db8d982377de272b76511152578013610994f6889bf031 nudge=1
      "
    `);
    expect(theCause(answer)).toMatchObject({ kind: 'attached-outside', confidence: 'proved', ending: 'by-person' });
  });

  it('a disk that the cloud does not know', async () => {
    const { world, disk } = unanswered();
    write(world.parts.ec2.volumes, disk, null, world.now());
    world.advance(60_000);
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({ kind: 'disk-deleted', confidence: 'proved' });
  });

  it('a detach that does not end', async () => {
    const { world, scene, node, other, disk } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    const pod = getObject(world, 'pods', 'app', 'default');
    world.parts.cluster.knobs.attacherDown = true;
    if (pod) writerAs(world, 'person').remove('pods', pod, 0);
    addPod(world, 'next', node);
    world.advance(200_000);
    edit(world, 'volumeattachments', [attachmentOn(world, other).metadata.name], ({ status }) => {
      status.detachError = {
        time: at(world, -60_000),
        message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
      };
    });
    changeDisk(world, disk, held(world, scene.holder, 'detaching'));
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer), answer.text).toMatchObject({ kind: 'disk-busy', confidence: 'proved' });
  });
});
