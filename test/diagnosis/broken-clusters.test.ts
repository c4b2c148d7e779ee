import { describe, expect, it } from 'vitest';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
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
  attachmentOn,
  held,
  mountPending,
  twoNodes,
  unplacedWithPendingClaim,
} from './scenes.ts';

/**
 * Clusters that an expert was asked about before the diagnosis was. Each row has the expert's answer: the cause, what
 * the answer has to say, and what it must not advise.
 */

const APP = 'pod/default/app';

interface Answer {
  readonly kind: string;
  readonly says: string;
  readonly never?: string;
}

/** Diagnoses, and returns what differs from the expert's answer, and the whole text if anything does. */
const differences = async (
  world: AwsWorld,
  { kind, says, never }: Answer,
  target = APP,
): Promise<readonly string[]> => {
  const found = theCause(await diagnoseSandbox(world, target));
  const text = [found.says, ...found.proof, found.waits, ...found.next].join('\n');
  const all = [
    ...(found.kind === kind ? [] : [`${found.kind} instead of ${kind}`]),
    ...(text.includes(says) ? [] : [`it does not say: ${says}`]),
    ...(never !== undefined && text.includes(never) ? [`it says: ${never}`] : []),
  ];
  return all.length === 0 ? [] : [...all, text];
};

type Row = readonly [string, string, Answer];

describe('a claim is Pending, and its provisioner says why', () => {
  const UNBOUND = '0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.';

  it.each<Row>([
    [
      'the source of a clone is gone',
      'error getting handle for DataSource Type PersistentVolumeClaim by Name source: error getting PVC source (namespace "default") from api server: persistentvolumeclaims "source" not found',
      { kind: 'provisioning-refused', says: 'source in the same namespace' },
    ],
    [
      'its snapshot is gone',
      'error getting handle for DataSource Type VolumeSnapshot by Name nightly: error getting snapshot nightly from api server: volumesnapshots.snapshot.storage.k8s.io "nightly" not found',
      { kind: 'provisioning-refused', says: 'VolumeSnapshot nightly' },
    ],
    [
      'the Secret of the StorageClass is gone',
      'failed to get secret "csi-rbd" in namespace "ceph": secrets "csi-rbd" not found',
      { kind: 'provisioning-refused', says: 'Secret csi-rbd' },
    ],
    [
      'a quota of Google Cloud',
      "rpc error: code = Unknown desc = googleapi: Error 403: Quota 'SSD_TOTAL_GB' exceeded. Limit: 500.0 in region europe-west4., quotaExceeded",
      { kind: 'provisioning-refused', says: 'higher quota' },
    ],
    [
      'a key of Google Cloud that the disk service may not use',
      "rpc error: code = Unknown desc = googleapi: Error 400: Cloud KMS error when using key projects/p/locations/l/keyRings/r/cryptoKeys/k: Permission 'cloudkms.cryptoKeyVersions.useToEncrypt' denied on resource, kmsPermissionDenied",
      { kind: 'provisioning-refused', says: 'the key', never: "Cloudfence's own" },
    ],
    [
      'a size that the source does not allow',
      'error getting handle for DataSource Type VolumeSnapshot by Name nightly: requested volume size 1073741824 is less than the size 10737418240 for the source snapshot nightly',
      { kind: 'provisioning-refused', says: 'larger' },
    ],
    [
      'an access mode that a block driver does not have',
      'rpc error: code = InvalidArgument desc = Volume capabilities MULTI_NODE_MULTI_WRITER not supported. Only AccessModes[ReadWriteOnce] supported.',
      { kind: 'provisioning-refused', says: 'make the claim again with ReadWriteOnce' },
    ],
  ])('%s', async (_, says, answer) => {
    const world = unplacedWithPendingClaim(UNBOUND);
    addClaimEvent(world, 'ProvisioningFailed', `failed to provision volume with StorageClass "gp3": ${says}`);
    expect(await differences(world, answer)).toEqual([]);
  });

  it('a populator that is not installed', async () => {
    const world = unplacedWithPendingClaim(UNBOUND);
    const says = 'The data source for this PVC does not match any registered VolumePopulator';
    addClaimEvent(world, 'UnrecognizedDataSourceKind', says);
    expect(
      await differences(world, {
        kind: 'no-provisioner',
        says: 'VolumePopulator',
        never: 'grep -i csi',
      }),
    ).toEqual([]);
  });

  it('asks for a static volume whose earlier claim is gone', async () => {
    const world = unplacedWithPendingClaim(UNBOUND);
    edit(world, 'persistentvolumes', ['pvc-default-app-data'], (volume) => {
      volume.status = { phase: 'Released' };
    });
    edit(world, 'persistentvolumeclaims', ['app-data', 'default'], (claim) => {
      claim.spec.volumeName = 'pvc-default-app-data';
      delete claim.metadata.annotations;
    });
    addClaimEvent(world, 'FailedBinding', 'volume "pvc-default-app-data" already bound to a different claim.');
    expect(
      await differences(world, {
        kind: 'no-volume',
        says: `kubectl patch pv pvc-default-app-data --type json -p '[{"op":"remove","path":"/spec/claimRef"}]'`,
        never: 'set a StorageClass',
      }),
    ).toEqual([]);
  });
});

describe('the scheduler finds no Node', () => {
  it.each<Row>([
    [
      'because of taints that this version does not name',
      '0/2 nodes are available: 2 node(s) had untolerated taint(s).',
      { kind: 'not-the-volume', says: 'agent-not-ready', never: 'remove the taint' },
    ],
    [
      'because of taints that this version does not name, beside Nodes of another zone',
      "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match PersistentVolume's node affinity.",
      { kind: 'wrong-zone', says: 'cloudfence.dev/quarantine' },
    ],
    [
      'because its Nodes lack the label of the zone',
      "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.",
      { kind: 'wrong-zone', says: '-L topology.kubernetes.io/zone' },
    ],
    [
      'because of a volume that was gone a moment ago',
      '0/2 nodes are available: 2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s).',
      { kind: 'volume-missing', says: 'non-existent', never: 'does not wait for a volume' },
    ],
  ])('%s', async (_, says, answer) => {
    const { world } = twoNodes();
    addUnplaced(world, says);
    world.advance(120_000);
    expect(await differences(world, answer)).toEqual([]);
  });
});

describe('the kubelet cannot mount the volume', () => {
  const failed =
    'MountVolume.MountDevice failed for volume "pvc-default-app-data" : rpc error: code = Internal desc = ';
  it.each<Row>([
    [
      'a mount option that the file system does not know',
      `${failed}mount failed: exit status 32\nOutput: mount: /x: fsconfig() failed: ext4: Unknown parameter 'fast'.`,
      { kind: 'mount-failed', says: 'mountOptions' },
    ],
    [
      'a pod that wants a device, and a volume with a file system',
      'volume pvc-default-app-data has volumeMode Filesystem, but is specified in volumeDevices',
      { kind: 'wrong-volume-mode', says: 'volumeMode' },
    ],
    [
      'an encrypted volume with another passphrase',
      `${failed}cryptsetup luksOpen failed: No key available with this passphrase.`,
      { kind: 'key-unusable', says: 'passphrase', never: 'format' },
    ],
    [
      'a driver that was installed for another kubelet folder',
      `${failed}mount failed: exit status 32\nOutput: mount: /var/lib/k0s/kubelet/plugins/kubernetes.io/csi: special device /var/lib/kubelet/plugins/x does not exist.`,
      { kind: 'mount-failed', says: '--root-dir' },
    ],
    [
      'multipath without a map of the disk',
      `${failed}failed to find device-mapper multipath device for volume`,
      { kind: 'device-missing', says: 'multipath' },
    ],
    [
      'a resize that the file system does not survive',
      'MountVolume.Setup failed while expanding volume for volume "pvc-default-app-data" : Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = Could not resize volume: resize of device /dev/xvdaa failed: exit status 1. resize2fs output: Please run e2fsck first',
      { kind: 'filesystem-damaged', says: 'snapshot' },
    ],
    [
      'the key of an encrypted share that the Node may not read',
      `${failed}mount.cifs: mount error(13): Permission denied`,
      { kind: 'network-storage', says: 'Secret' },
    ],
  ])('%s', async (_, says, answer) => {
    const { world } = mountPending();
    addPodEvent(world, 'FailedMount', says);
    expect(await differences(world, answer)).toEqual([]);
  });
});

describe('the driver cannot attach the disk', () => {
  it.each<Row>([
    [
      'EC2: the instance type has no further slot',
      'rpc error: code = ResourceExhausted desc = Could not attach volume: api error AttachmentLimitExceeded: too many',
      { kind: 'attach-limit', says: 'cordon' },
    ],
    [
      'EC2: the machine does not take this volume type',
      'rpc error: code = Internal desc = api error InvalidParameterValue: io2 Block Express is not supported',
      { kind: 'attach-failed', says: 'fix what the error names', never: 'delete volumeattachment' },
    ],
    [
      'vSphere: the disk is in use by another machine',
      "rpc error: code = Internal desc = failed to attach cns volume: ServerFaultCode: The resource 'volume' is in use.",
      { kind: 'attach-failed', says: 'is in use', never: 'delete volumeattachment' },
    ],
  ])('%s', async (_, says, answer) => {
    expect(await differences(attachFailed(says).world, answer)).toEqual([]);
  });
});

describe('a machine that has the disk', () => {
  const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

  it('runs and reports, but somebody has told Kubernetes that it is off', async () => {
    const { world, other } = held();
    edit(world, 'nodes', [other], ({ spec }) => {
      spec.taints = [...(spec.taints ?? []), { key: OUT_OF_SERVICE, value: 'nodeshutdown', effect: 'NoSchedule' }];
    });
    expect(
      await differences(
        world,
        {
          kind: 'machine-unreachable',
          says: `kubectl taint node ${other} ${OUT_OF_SERVICE}-`,
          never: 'is cut off',
        },
        'pod/default/next',
      ),
    ).toEqual([]);
  });

  it('is off, and the volume is the one of an in-tree plugin that was migrated', async () => {
    const { world, disk, other, scene } = held();
    stopMachine(world, scene.holder);
    world.advance(120_000);
    edit(world, 'persistentvolumes', ['pvc-default-app-data'], ({ spec }) => {
      delete spec.csi;
      Object.assign(spec, { awsElasticBlockStore: { volumeID: `aws://eu-west-1a/${disk}` } });
    });
    expect(
      await differences(
        world,
        {
          kind: 'machine-off',
          says: `cloudfence fence ${other}`,
        },
        'pod/default/next',
      ),
    ).toEqual([]);
  });

  it('failed to detach the disk once, while its driver was upgraded, and a pod there uses it on purpose', async () => {
    const { world, other } = held(600_000);
    const name = attachmentOn(world, other).metadata.name;
    edit(world, 'volumeattachments', [name], (attachment) => {
      attachment.metadata.finalizers = ['external-attacher/ebs-csi-aws-com'];
      attachment.status.detachError = { time: at(world, -20_000), message: 'rpc error: code = Unavailable' };
    });
    expect(
      await differences(
        world,
        {
          kind: 'shared-claim',
          says: 'do not fence',
          never: 'remove the finalizer',
        },
        'pod/default/next',
      ),
    ).toEqual([]);
  });
});

describe('a volume that no claim has any more', () => {
  it('is Released: its data is there, and the answer says how to use it again', async () => {
    const { world } = twoNodes();
    edit(world, 'persistentvolumes', ['pvc-default-app-data'], (volume) => {
      volume.status = { phase: 'Released' };
      if (volume.spec.claimRef) volume.spec.claimRef.name = 'gone';
    });
    world.advance(120_000);
    settle(world);
    expect(
      await differences(
        world,
        {
          kind: 'not-waiting',
          says: '{"op":"remove","path":"/spec/claimRef"}',
        },
        'pv/pvc-default-app-data',
      ),
    ).toEqual([]);
  });

  it('serves a pod on another Node meanwhile', async () => {
    const { world, node } = twoNodes();
    addPod(world, 'app', node);
    settle(world);
    world.advance(120_000);
    expect(await differences(world, { kind: 'not-waiting', says: 'runs' })).toEqual([]);
  });
});
