import type { Tag } from '@aws-sdk/client-ec2';
import type { UnservedScope } from '../../fencing/model/cloud.ts';
import type { DiskId, IdentitySource, MachineId, VolumeHandle } from '../../fencing/model/machine.ts';

/** The identities of EC2 instances: provider IDs, node IDs of the CSI driver, ARNs. Needs no SDK. */

/**
 * Today an id is `i-` and 8 or 17 hexadecimal digits. The pattern also accepts the lengths in between, because EC2
 * itself validates them.
 */
export const INSTANCE_ID = /^i-[0-9a-f]{8,17}$/;

const VOLUME_ID = /^vol-[0-9a-f]{8,17}$/;

/** The self-managed EBS driver, and the driver of EKS Auto Mode. Both use EC2's own ids for machines and volumes. */
const EBS_DRIVERS: ReadonlySet<string> = new Set(['ebs.csi.aws.com', 'ebs.csi.eks.amazonaws.com']);

const isEbs = (driver: string | null): boolean => driver !== null && EBS_DRIVERS.has(driver);

/** `aws:///<zone>/<id>`, `aws:////<id>`, or the bare id. https://github.com/kubernetes/cloud-provider-aws */
const PROVIDER_ID = /^(?:aws:\/\/\/[^/]*\/)?([^/]+)$/;

/**
 * Returns the instance that an identity source names. The EBS driver's node id is the instance id. Returns null for
 * anything that is not an EC2 instance, such as Fargate or a machine of another cloud.
 */
export const machineOf = ({ source, driver, value }: IdentitySource): MachineId | null => {
  switch (source) {
    case 'providerID':
      return instanceId(PROVIDER_ID.exec(value)?.[1]);
    case 'instanceIdAnnotation':
      return instanceId(value);
    case 'systemUUID':
      return null;
    case 'csiNode':
    case 'nodeIdAnnotation':
    case 'volumeAttachment':
      return isEbs(driver) ? instanceId(value) : null;
  }
};

const instanceId = (text: string | undefined): MachineId | null =>
  text !== undefined && INSTANCE_ID.test(text) ? text : null;

const ZONE_OF = /^aws:\/\/\/([^/]+)\/[^/]+$/;

/** Matches `eu-west-1` in `eu-west-1a`, and the region of a local zone such as `us-west-2-lax-1a`. */
const REGION_OF = /^[a-z]+(?:-[a-z]+)+-\d+/;

/** Returns the region of the zone in a providerID, or null if it contains no zone. */
export const regionOfProviderID = (providerID: string): string | null => {
  const zone = ZONE_OF.exec(providerID)?.[1];
  return zone === undefined ? null : (REGION_OF.exec(zone)?.[0] ?? zone);
};

/**
 * Returns the region of a Node's machine if it is not `region`. A providerID contains the zone, and therefore the
 * region. No identity source contains the account.
 */
export const unservedScope = ({ source, value }: IdentitySource, region: string): UnservedScope | null => {
  const named = source === 'providerID' ? regionOfProviderID(value) : null;
  return named === null || named === region
    ? null
    : {
        scope: named,
        remedy: `add ${named} to \`territories\` (docs/aws.md, "Accounts and regions"), or install Cloudfence there`,
      };
};

/** `vol-…`, or `aws://<zone>/vol-…` for volumes of the former in-tree plugin. */
const HANDLE = /^(?:aws:\/\/[^/]*\/)?([^/]+)$/;

/**
 * Returns the EBS volume behind a CSI volume. Returns null for `local-ebs://` handles and for volumes of other drivers,
 * because they are not disks that can be detached.
 */
export const diskOf = ({ driver, handle }: VolumeHandle): DiskId | null => {
  const id = isEbs(driver) ? HANDLE.exec(handle)?.[1] : undefined;
  return id !== undefined && VOLUME_ID.test(id) ? id : null;
};

/**
 * Returns the names under which the Node of an instance may be registered, likeliest first: its private DNS name, then
 * the resource-based forms. Private zones are `<region>.compute.internal` in every region except us-east-1. `aws-cn`
 * and `aws-us-gov` differ only in their public names. DHCP options with a custom domain produce other names.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-naming.html
 */
export const candidateNodeNames = (
  machine: MachineId,
  privateDnsName: string | undefined,
  region: string,
): readonly string[] => {
  const names = [
    privateDnsName?.toLowerCase() ?? '',
    `${machine}.${region}.compute.internal`,
    ...eastern(machine, region),
    machine,
  ];
  return [...new Set(names)].filter((name) => name !== '');
};

const eastern = (machine: MachineId, region: string): readonly string[] =>
  region === 'us-east-1' ? [`${machine}.ec2.internal`] : [];

const OWNERSHIP = 'kubernetes.io/cluster/';
const EKS_NAME = 'aws:eks:cluster-name';

/** Returns the names of the clusters in a machine's tags. https://github.com/kubernetes/cloud-provider-aws */
export const clusterNamesFromTags = (tags: readonly Tag[]): readonly string[] => [...new Set(tags.flatMap(clusterIn))];

const clusterIn = ({ Key, Value }: Tag): readonly string[] => {
  if (Key === EKS_NAME && Value) return [Value];
  const name = Key?.startsWith(OWNERSHIP) ? Key.slice(OWNERSHIP.length) : '';
  return name !== '' && (Value === 'owned' || Value === 'shared') ? [name] : [];
};
