import { describe, expect, it } from 'vitest';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import type { Condition } from '../../sandbox/cluster/objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addPod, addPodEvent, at, mountPending, twoNodes } from './scenes.ts';

/** The volume is attached, and the kubelet does not finish the mount. */

describe('the kubelet says', () => {
  it.each([
    [
      'driver-not-in-kubelet',
      'MountVolume.MountDevice failed for volume "v" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name ebs.csi.aws.com not found in the list of registered CSI drivers',
    ],
    [
      'mount-hangs',
      'MountVolume.MountDevice failed for volume "v" : rpc error: code = Aborted desc = An operation with the given Volume ID vol-1 already exists',
    ],
    [
      'device-missing',
      'MountVolume.MountDevice failed for volume "v" : rpc error: code = Internal desc = Failed to find device path /dev/xvdam. no device path for device "/dev/xvdam" found',
    ],
    [
      'filesystem-damaged',
      'MountVolume.MountDevice failed for volume "v" : \'fsck\' found errors on device /dev/nvme1n1 but could not correct them',
    ],
    [
      'wrong-filesystem',
      'MountVolume.MountDevice failed for volume "v" : mount failed: wrong fs type, bad option, bad superblock on /dev/nvme1n1',
    ],
    ['wrong-volume-mode', 'volume v has volumeMode Block, but is specified in volumeMounts'],
    [
      'rbd-watcher',
      'MountVolume.MountDevice failed for volume "v" : rpc error: code = Internal desc = rbd image replicapool/csi-vol-1 is still being used',
    ],
    ['storage-not-ready', 'MountVolume.MountDevice failed: volume pvc-1 is not ready for workloads'],
    ['network-storage', 'MountVolume.SetUp failed for volume "v" : mount.nfs: Connection timed out'],
    [
      'windows-mount',
      'MountVolume.MountDevice failed: open \\\\.\\\\pipe\\\\csi-proxy-filesystem-v1: The system cannot find the file specified.',
    ],
    ['mount-refused', 'MountVolume.NodeAffinity check failed for volume "v" : no matching NodeSelectorTerms'],
    ['slow-relabel', 'MountVolume.SetUp failed for volume "v" : conflicting SELinux labels of volume v: a and b'],
    ['mount-failed', 'MountVolume.SetUp failed for volume "v" : something new'],
  ])('%s', async (kind, note) => {
    const { world } = mountPending();
    addPodEvent(world, 'FailedMount', note);
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer).kind, answer.text).toBe(kind);
  });

  it('slow-ownership: the mount works, but it changes the owner of every file', async () => {
    const { world } = mountPending();
    addPodEvent(
      world,
      'VolumePermissionChangeInProgress',
      'Setting volume ownership for vol is taking longer than expected, processed 120000 files.',
    );
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({ kind: 'slow-ownership', ending: 'by-itself' });
  });
});

it('the kubelet reports nothing for minutes', async () => {
  const { world } = mountPending();
  const answer = await diagnoseSandbox(world);
  expect(answer.text).toMatchInlineSnapshot(`
    "
    pod default/app  not started for 5m04s on ip-10-0-0-13.eu-west-1.compute.internal, needs claim app-data
    └ claim app-data  Bound, ReadWriteOnce
      └ volume pvc-default-app-data  ebs.csi.aws.com vol-00000000000000006, eu-west-1a
        ├ attachment to ip-10-0-0-13.eu-west-1.compute.internal  attached, since 00:00:10Z, the kubelet lists it as mounted
        │ └ Node ip-10-0-0-13.eu-west-1.compute.internal  Ready for 5m08s, last Lease 00:05:06Z
        │   └ machine i-00000000000000003  running (running), asked now
        └ disk vol-00000000000000006  in-use, eu-west-1a, attached to i-00000000000000003 since 00:00:11Z
    CAUSE   pvc-default-app-data has been attached to ip-10-0-0-13.eu-west-1.compute.internal since 00:00:10Z, but the kubelet there does not mount it. Only the Node itself shows the reason. [cannot tell: kubelet-stuck]
    PROOF   volumesAttached of ip-10-0-0-13.eu-west-1.compute.internal lists the volume
    WAITS   default/app ← the kubelet of ip-10-0-0-13.eu-west-1.compute.internal.
    NEXT    restart the kubelet of ip-10-0-0-13.eu-west-1.compute.internal
    "
  `);
  expect(theCause(answer)).toMatchObject({ kind: 'kubelet-stuck', confidence: 'cannot-tell' });
});

describe('a pod that runs and is not ready', () => {
  const unready = () => {
    const begun = twoNodes();
    addPod(begun.world, 'app', begun.node);
    settle(begun.world);
    edit(begun.world, 'pods', ['app', 'default'], ({ status }) => {
      status.conditions = (status.conditions ?? []).map((one): Condition =>
        one.type === 'Ready' ? { ...one, status: 'False' } : one,
      );
    });
    return begun;
  };

  /** Each container of the pod mounts the volume in one of these ways. */
  const mountedIn =
    (...mounts: readonly { readonly readOnly?: boolean }[]) =>
    (world: AwsWorld) =>
      edit(world, 'pods', ['app', 'default'], ({ spec }) => {
        const containers = mounts.map((mount, nth) => ({
          name: `container-${nth}`,
          volumeMounts: [{ name: 'data', mountPath: '/data', ...mount }],
        }));
        Object.assign(spec, { containers });
      });

  it.each([
    [
      'the pod mounts it read-only',
      (world: AwsWorld) =>
        edit(world, 'pods', ['app', 'default'], ({ spec }) => {
          Object.assign(spec, {
            volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'app-data', readOnly: true } }],
          });
        }),
    ],
    [
      'the PersistentVolume is read-only',
      (world: AwsWorld) =>
        edit(world, 'persistentvolumes', ['pvc-default-app-data'], ({ spec }) => {
          if (spec.csi) Object.assign(spec.csi, { readOnly: true });
        }),
    ],
  ])('cannot write: %s', async (words, change) => {
    const { world } = unready();
    change(world);
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer), answer.text).toMatchObject({ kind: 'read-only', confidence: 'likely', proof: [words] });
  });

  it('cannot write if each container mounts the volume read-only', async () => {
    const { world } = unready();
    mountedIn({ readOnly: true }, { readOnly: true })(world);
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({
      kind: 'read-only',
      proof: ['the pod mounts it read-only'],
    });
  });

  it.each([
    ['first', [{ readOnly: true }, {}]],
    ['last', [{ readOnly: false }, { readOnly: true }]],
  ] as const)('can write if one container mounts the volume for that (read-only: the %s)', async (_, mounts) => {
    const { world } = unready();
    mountedIn(...mounts)(world);
    expect(theCause(await diagnoseSandbox(world)).kind).toBe('not-the-volume');
  });

  it('may have a file system that the kernel remounted read-only, which only the Node shows', async () => {
    const { world } = unready();
    const { kind, next } = theCause(await diagnoseSandbox(world));
    expect(kind).toBe('not-the-volume');
    expect(next.join()).toContain('remounted read-only');
  });
});

it('a finalizer keeps a pod that has ended', async () => {
  const { world } = mountPending();
  edit(world, 'pods', ['app', 'default'], ({ metadata }) => {
    metadata.finalizers = ['batch.kubernetes.io/job-tracking'];
    metadata.deletionTimestamp = at(world, -60_000);
    metadata.deletionGracePeriodSeconds = 30;
  });
  expect(theCause(await diagnoseSandbox(world))).toMatchObject({
    kind: 'pod-finalizer',
    says: expect.stringContaining('job-tracking'),
  });
  edit(world, 'persistentvolumeclaims', ['app-data', 'default'], ({ metadata }) => {
    metadata.finalizers = ['kubernetes.io/pvc-protection'];
    metadata.deletionTimestamp = at(world, -60_000);
  });
  expect(theCause(await diagnoseSandbox(world)).kind, 'the claim waits for the pod').toBe('pod-finalizer');
});
