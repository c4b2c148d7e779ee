import { describe, expect, it } from 'vitest';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { addBarePod, addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addPod, addPodEvent, at, mountPending, twoNodes } from './scenes.ts';

/** The words of file systems, drivers, and kubelets for disks, shares, and directories. */

const APP = 'pod/default/app';
const VOLUME = 'pvc-default-app-data';
const MOUNT = `MountVolume.MountDevice failed for volume "${VOLUME}" : rpc error: code = Internal desc = `;

const failing = (says: string, reason = 'FailedMount'): AwsWorld => {
  const { world } = mountPending();
  addPodEvent(world, reason, says);
  return world;
};

/** The volume is a share of the network: nothing attaches it. */
const onNfs = (world: AwsWorld): void =>
  edit(world, 'persistentvolumes', [VOLUME], ({ spec }) => {
    delete spec.csi;
    Object.assign(spec, { nfs: { server: 'files.example.org', path: '/' } });
  });

describe('a disk does not mount:', () => {
  it.each([
    [
      'mount-failed',
      'multipathd',
      'mount failed: exit status 32\nOutput: mount: /x: /dev/y already mounted or mount point busy.',
    ],
    // dell/csm#896
    [
      'filesystem-damaged',
      'xfs_repair',
      'mount failed: exit status 32\nOutput: mount(2) system call failed: Structure needs cleaning.',
    ],
    [
      'filesystem-damaged',
      'snapshot',
      "mount failed: exit status 32\nOutput: mount: /x: can't read superblock on /dev/y.",
    ],
    [
      'read-only',
      'readOnly',
      'mount failed: exit status 32\nOutput: mount: /dev/y is write-protected but explicit read-write mode requested.',
    ],
    [
      'wrong-filesystem',
      'nouuid',
      'mount failed: exit status 32\nOutput: mount: /x: wrong fs type, bad option, bad superblock on /dev/y.',
    ],
    [
      'network-storage',
      'nfs-common',
      'mount failed: exit status 32\nOutput: mount: /x: bad option; for several filesystems (e.g. nfs, cifs) you might need a /sbin/mount.<type> helper program.',
    ],
    ['mount-failed', 'node plugin', 'mount failed: exit status 32\nOutput: something new'],
    ['mount-hangs', 'node plugin', 'rpc error: code = DeadlineExceeded desc = context deadline exceeded'],
    [
      'mount-refused',
      'create the Secret',
      'fetching NodeStageSecretRef rook/csi failed: secrets "rook-csi-rbd-node" not found',
    ],
  ])('%s, and the advice names %s', async (kind, word, says) => {
    const cause = theCause(await diagnoseSandbox(failing(MOUNT + says), APP));
    expect(cause.kind).toBe(kind);
    expect(cause.next.join()).toContain(word);
    expect(cause.next.join()).not.toMatch(/mkfs|wipefs/);
  });

  it('in block mode', async () => {
    const says = `MapVolume.MapBlockVolume failed for volume "${VOLUME}" : blkUtil.AttachFileDevice failed: losetup failed`;
    expect(theCause(await diagnoseSandbox(failing(says, 'FailedMapVolume'), APP))).toMatchObject({
      kind: 'mount-failed',
    });
  });

  it('because the claim is for one pod, and another pod of the Node has it', async () => {
    const says = `MountVolume.SetUp failed for volume "${VOLUME}" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`;
    expect(theCause(await diagnoseSandbox(failing(says), APP)).kind).toBe('read-write-once-pod');
  });

  it('and the later echo of an earlier kubelet does not hide why', async () => {
    const { world } = mountPending();
    addPodEvent(world, 'FailedMount', `${MOUNT}'fsck' found errors on device /dev/xvdb but could not correct them`);
    edit(world, 'events', ['app.failedmount', 'default'], (event) => void (event.eventTime = at(world, -60_000)));
    addPodEvent(
      world,
      'FailedMountOnFilesystemMismatch',
      'Unable to attach or mount volumes: unmounted volumes=[data]',
    );
    expect(theCause(await diagnoseSandbox(world, APP)).kind).toBe('filesystem-damaged');
  });
});

describe('a share of the network', () => {
  const waiting = (says: string | null): AwsWorld => {
    const { world, node } = twoNodes();
    onNfs(world);
    addPod(world, 'app', node);
    settle(world);
    world.advance(300_000);
    edit(world, 'pods', ['app', 'default'], ({ status }) => {
      status.phase = 'Pending';
      status.containerStatuses = [{ name: 'main', ready: false, state: { waiting: { reason: 'ContainerCreating' } } }];
      status.conditions = [];
    });
    if (says !== null) addPodEvent(world, 'FailedMount', `MountVolume.SetUp failed for volume "${VOLUME}" : ${says}`);
    return world;
  };

  it.each([
    ['network-storage', 'likely', 'exports', 'mount failed: exit status 32'],
    ['network-storage', 'likely', 'reboot', 'mount failed: exit status 32\nOutput: stat: Stale file handle'],
    ['mount-failed', 'likely', 'log', 'something new'],
  ])('%s, %s: %s', async (kind, confidence, word, says) => {
    const cause = theCause(await diagnoseSandbox(waiting(says), APP));
    expect(cause).toMatchObject({ kind, confidence });
    expect(cause.next.join()).toContain(word);
  });

  it('whose server says nothing: the kubelet is not blamed', async () => {
    const cause = theCause(await diagnoseSandbox(waiting(null), APP));
    expect(cause).toMatchObject({ kind: 'network-storage', confidence: 'likely' });
    expect(cause.next.join()).toContain('do not restart the kubelet first');
  });

  it('and the machine of another pod with the same share is cut off: that is not why', async () => {
    const { world, node, other } = twoNodes();
    onNfs(world);
    addPod(world, 'app', other);
    settle(world);
    world.parts.cluster.knobs.partitioned.push(other);
    world.advance(120_000);
    addPod(world, 'next', node);
    world.advance(10_000);
    edit(world, 'pods', ['next', 'default'], ({ status }) => {
      status.phase = 'Pending';
      status.containerStatuses = [{ name: 'main', ready: false, state: { waiting: { reason: 'ContainerCreating' } } }];
      status.conditions = [];
    });
    addPodEvent(
      world,
      'FailedMount',
      `MountVolume.SetUp failed for volume "${VOLUME}" : mount.nfs: Connection timed out`,
      'next',
    );
    const cause = theCause(await diagnoseSandbox(world, 'pod/default/next'));
    expect(cause.kind).toBe('network-storage');
    expect(cause.next.join()).not.toMatch(/stop i-/);
  });
});

describe('a local directory', () => {
  it.each([
    'MountVolume.NewMounter initialization failed for volume "v" : path "/mnt/disks/ssd1" does not exist',
    'MountVolume.SetUp failed for volume "v" : hostPath type check failed: /data is not a directory',
  ])('is missing, and nobody is told to create an empty one: %s', async (says) => {
    const { world } = mountPending();
    edit(world, 'persistentvolumes', [VOLUME], ({ spec }) => {
      delete spec.csi;
      Object.assign(spec, { local: { path: '/mnt/disks/ssd1' } });
    });
    addPodEvent(world, 'FailedMount', says.replace('"v"', `"${VOLUME}"`));
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'device-missing', confidence: 'likely' });
    expect(cause.next.join()).toContain('do not create an empty directory');
  });
});

it('an attached volume is not blamed while another volume of the pod waits for the cloud', async () => {
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
  edit(world, 'pods', ['app', 'default'], ({ status }) => {
    status.phase = 'Pending';
    status.containerStatuses = [{ name: 'main', ready: false, state: { waiting: { reason: 'ContainerCreating' } } }];
    status.conditions = [];
  });
  const attachment = Object.values(world.parts.cluster.objects.volumeattachments).find(
    ({ spec }) => spec.source.persistentVolumeName === 'pvc-default-logs',
  );
  world.parts.cluster.knobs.attacherDown = true;
  edit(world, 'volumeattachments', [attachment?.metadata.name ?? ''], (object) => {
    object.status = {
      attached: false,
      attachError: { time: new Date(world.now()).toISOString(), message: 'api error RequestLimitExceeded: slow down' },
    };
  });
  const answer = await diagnoseSandbox(world, APP);
  expect(theCause(answer), answer.text).toMatchObject({ kind: 'throttled', ending: 'by-itself' });
  expect(answer.findings[0]?.claim).toBe('logs');
});

it('the driver of another system answers the attach, and it is no cloud', async () => {
  const { world } = mountPending();
  const attachment = Object.values(world.parts.cluster.objects.volumeattachments).find(
    ({ spec }) => spec.source.persistentVolumeName === VOLUME,
  );
  world.parts.cluster.knobs.attacherDown = true;
  edit(world, 'volumeattachments', [attachment?.metadata.name ?? ''], (object) => {
    object.status = {
      attached: false,
      attachError: {
        time: new Date(world.now()).toISOString(),
        message: 'rpc error: code = Aborted desc = volume pvc-1 is not ready for workloads',
      },
    };
  });
  expect(theCause(await diagnoseSandbox(world, APP)).kind).toBe('storage-not-ready');
});
