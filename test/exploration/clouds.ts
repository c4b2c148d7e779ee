import type { Disk } from '@azure/arm-compute';
import type { Instance, Volume } from '@aws-sdk/client-ec2';
import type { CloudIdentityRules } from '../../fencing/model/cloud.ts';
import type { IdentitySource, MachineFacts, MachineId } from '../../fencing/model/machine.ts';
import * as aws from '../../providers/aws/identity.ts';
import { knownMachineFacts as knownToEc2, missingMachineFacts as missingInEc2 } from '../../providers/aws/power.ts';
import * as azure from '../../providers/azure/identity.ts';
import type { Vm } from '../../providers/azure/machines.ts';
import { knownMachineFacts as knownToArm, missingMachineFacts as missingInArm } from '../../providers/azure/power.ts';
import type { DiskRead, Instance as GoogleInstance } from '../../providers/gcp/disks.ts';
import { diskPath, identityRulesFor, instancePath } from '../../providers/gcp/identity.ts';
import {
  knownMachineFacts as knownToGoogle,
  missingMachineFacts as missingInGoogle,
} from '../../providers/gcp/power.ts';

/**
 * The three clouds. Each describes the machine of a small world as its API does, and the shipped functions of its
 * provider read that. So the exploration tests the proof rules that are shipped.
 */

export type MachinePower = 'running' | 'stopping' | 'off' | 'starting' | 'gone' | 'forgotten';

/** What the answer of a cloud depends on. */
export interface Shown {
  readonly power: MachinePower;
  /** The number of machines that have had this name. */
  readonly incarnation: number;
  /** The number of starts. */
  readonly boot: number;
  /** How long ago its start began (ticks). Null unless it is starting. */
  readonly startedFor: number | null;
  /** The machine hibernates, or is in hibernation. */
  readonly hibernates: boolean;
  /** The guest has shut itself down. */
  readonly byGuest: boolean;
  /** The number of detaches. */
  readonly detaches: number;
  readonly hasDisk: boolean;
}

export interface ExploredCloud {
  readonly identityRules: CloudIdentityRules;
  readonly machine: MachineId;
  readonly disk: string;
  readonly driver: string;
  readonly providerID: string;
  readonly providerIDOfAnother: string;
  /** What the firmware reports, for each machine that has had this name. */
  readonly systemUUIDs: readonly string[];
  /** The name of the machine that the driver writes into an attachment. */
  readonly attachedTo: IdentitySource;
  /** The same for another machine whose Node has this name. The driver of Azure writes only the name. */
  readonly attachedToAnother: IdentitySource;
  /** Whether a detach changes the generation. */
  readonly countsDetaches: boolean;
  /** `shown` is what the answer about the machine depends on, and `later` what later answers about its disks do. */
  readonly facts: (shown: Shown, later: Shown) => MachineFacts;
}

/** A time for each number. It is long before every exploration, so it does not age. */
const dateOf = (number: number): Date => new Date(Date.UTC(2020, 0, 1 + number));

const NODE_ID = 'i-0123456789abcdef0';
export const ANOTHER_ID = 'i-0fedcba9876543210';
const VOLUME_ID = 'vol-0123456789abcdef0';
const REGION = 'eu-west-1';

const EC2_STATES = {
  running: 'running',
  stopping: 'stopping',
  off: 'stopped',
  starting: 'pending',
  gone: 'terminated',
} as const;

/** The reason that EC2 gives for a stop. A machine that can hibernate and stops plainly has its own reason. */
const reasonOf = ({ byGuest, hibernates }: Shown): string => {
  if (hibernates) return 'Client.UserInitiatedHibernate';
  return byGuest ? 'Client.InstanceInitiatedShutdown' : 'Client.UserInitiatedShutdown';
};

const instanceOf = (shown: Shown & { readonly power: keyof typeof EC2_STATES }): Instance => ({
  InstanceId: NODE_ID,
  State: { Name: EC2_STATES[shown.power] },
  StateReason: { Code: reasonOf(shown) },
  // EC2 gives no time if the guest or EC2 itself stops the machine.
  StateTransitionReason: shown.byGuest ? '' : 'User initiated (2020-01-01 00:00:00 GMT)',
  HibernationOptions: { Configured: shown.hibernates },
  LaunchTime: dateOf(shown.boot),
  RootDeviceName: '/dev/xvda',
});

const volumeOf = ({ hasDisk }: Shown): Volume => ({
  VolumeId: VOLUME_ID,
  State: hasDisk ? 'in-use' : 'available',
  Attachments: hasDisk ? [{ InstanceId: NODE_ID, VolumeId: VOLUME_ID, Device: '/dev/xvdb', State: 'attached' }] : [],
});

export const ec2: ExploredCloud = {
  identityRules: {
    name: 'aws',
    machineOf: aws.machineOf,
    immutableIdsOf: () => [],
    unservedScope: (source) => aws.unservedScope(source, REGION),
    diskOf: aws.diskOf,
  },
  machine: NODE_ID,
  disk: VOLUME_ID,
  driver: 'ebs.csi.aws.com',
  providerID: `aws:///${REGION}a/${NODE_ID}`,
  providerIDOfAnother: `aws:///${REGION}a/${ANOTHER_ID}`,
  systemUUIDs: [],
  attachedTo: { source: 'volumeAttachment', driver: 'ebs.csi.aws.com', value: NODE_ID },
  attachedToAnother: { source: 'volumeAttachment', driver: 'ebs.csi.aws.com', value: ANOTHER_ID },
  countsDetaches: false,
  facts: (shown) => {
    const volumes = [volumeOf(shown)];
    if (shown.power === 'forgotten') return missingInEc2(NODE_ID, volumes);
    return knownToEc2(instanceOf({ ...shown, power: shown.power }), NODE_ID, {
      region: REGION,
      requestId: 'r',
      volumes,
    });
  },
};

const GROUP = '/subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/g/providers/microsoft.compute';
const VM_ID = `${GROUP}/virtualmachines/node-a`;
const MANAGED_DISK = `${GROUP}/disks/data`;
const INCARNATIONS = ['11111111-2222-4333-8444-555555555555', '66666666-7777-4888-8999-aaaaaaaaaaaa'] as const;

/** Whether a machine that starts is `stopped` and shows no operation, for so many ticks. */
const looksStopped = ({ startedFor }: Shown, ticks: number): boolean => startedFor !== null && startedFor < ticks;

const armPower = (shown: Shown, stoppedFor: number): string => {
  const { power, byGuest } = shown;
  if (looksStopped(shown, stoppedFor)) return 'stopped';
  switch (power) {
    case 'off':
      return byGuest ? 'stopped' : 'deallocated';
    case 'stopping':
      return byGuest ? 'stopping' : 'deallocating';
    default:
      return power;
  }
};

const isOperatedOn = ({ power, byGuest }: Shown): boolean => power === 'starting' || (power === 'stopping' && !byGuest);

const vmOf = (shown: Shown, stoppedFor: number): Vm => {
  const busy = isOperatedOn(shown) && !looksStopped(shown, stoppedFor);
  const provisioning = busy ? 'Updating' : 'Succeeded';
  const statuses = [
    { code: `ProvisioningState/${provisioning.toLowerCase()}`, time: dateOf(operationsOf(shown)) },
    { code: `PowerState/${armPower(shown, stoppedFor)}` },
    ...(shown.hibernates && shown.power === 'off' ? [{ code: 'HibernationState/Hibernated' }] : []),
  ];
  return {
    id: VM_ID,
    name: 'node-a',
    vmId: INCARNATIONS[shown.incarnation === 1 ? 0 : 1],
    location: 'westeurope',
    provisioningState: provisioning,
    timeCreated: dateOf(shown.incarnation - 1),
    instanceView: { statuses },
    storageProfile: {
      dataDisks: shown.hasDisk ? [{ lun: 0, createOption: 'Attach', managedDisk: { id: MANAGED_DISK } }] : [],
    },
  };
};

/** Each start, each deallocation, and each detach is an operation. */
const operationsOf = ({ power, boot, byGuest, detaches }: Shown): number =>
  10 * boot + detaches + (power === 'off' && !byGuest ? 5 : 0);

const osDisk = ({ power, boot, byGuest }: Shown): Disk => ({
  location: 'westeurope',
  creationData: { createOption: 'FromImage' },
  diskState: power === 'off' && !byGuest ? 'Reserved' : 'Attached',
  lastOwnershipUpdateTime: dateOf(2 * boot + (power === 'off' && !byGuest ? 1 : 0)),
});

const dataDisk = ({ hasDisk }: Shown): Disk => ({
  location: 'westeurope',
  creationData: { createOption: 'Empty' },
  diskState: hasDisk ? 'Attached' : 'Unattached',
  ...(hasDisk && { managedBy: VM_ID }),
});

/** Which answer about the OS disk, whose change of owner distinguishes boots, comes with one about the machine. */
type OsDiskRead = 'none' | 'as old' | 'later';

const arm = (read: OsDiskRead, stoppedFor = 0): ExploredCloud => ({
  identityRules: {
    name: 'azure',
    machineOf: azure.machineOf,
    immutableIdsOf: azure.immutableIdsOf,
    unservedScope: () => null,
    diskOf: azure.diskOf,
  },
  machine: VM_ID,
  disk: MANAGED_DISK,
  driver: 'disk.csi.azure.com',
  providerID: `azure://${VM_ID}`,
  providerIDOfAnother: `azure://${GROUP}/virtualmachines/node-c`,
  systemUUIDs: INCARNATIONS,
  attachedTo: { source: 'volumeAttachment', driver: 'disk.csi.azure.com', value: 'node-a' },
  attachedToAnother: { source: 'volumeAttachment', driver: 'disk.csi.azure.com', value: 'node-a' },
  countsDetaches: read === 'none',
  facts: (shown, later) =>
    shown.power === 'gone' || shown.power === 'forgotten'
      ? missingInArm(VM_ID, 'ResourceNotFound')
      : knownToArm({
          machine: VM_ID,
          vm: vmOf(shown, stoppedFor),
          requestId: 'r',
          osDisk: read === 'none' ? null : osDisk(read === 'later' ? later : shown),
          dataDisks: new Map([[MANAGED_DISK, dataDisk(shown)]]),
        }),
});

export const azureManaged: ExploredCloud = arm('as old');
export const azureDrifting: ExploredCloud = arm('none');
/** If the answer about the machine is stale, the one about its OS disk is not. */
export const azureTorn: ExploredCloud = arm('later');
/** A machine that starts looks stopped for so many ticks. */
export const azureLookingStopped = (ticks: number): ExploredCloud => arm('as old', ticks);

const PLACE = 'projects/p/zones/europe-west1-b';
const INSTANCE = `${PLACE}/instances/node-a`;
const ANOTHER_INSTANCE = `${PLACE}/instances/node-b`;
const PERSISTENT_DISK = `${PLACE}/disks/data`;
const GOOGLE_IDS = ['1234567890123456789', '9876543210987654321'] as const;
const GOOGLE_STATES = { running: 'RUNNING', stopping: 'STOPPING', off: 'TERMINATED', starting: 'STAGING' } as const;

const googleStatus = ({ power, hibernates }: Shown & { readonly power: keyof typeof GOOGLE_STATES }): string => {
  if (hibernates && power === 'stopping') return 'SUSPENDING';
  return hibernates && power === 'off' ? 'SUSPENDED' : GOOGLE_STATES[power];
};

const googleInstance = (shown: Shown & { readonly power: keyof typeof GOOGLE_STATES }): GoogleInstance => ({
  id: GOOGLE_IDS[shown.incarnation === 1 ? 0 : 1],
  name: 'node-a',
  status: googleStatus(shown),
  creationTimestamp: dateOf(shown.incarnation - 1).toISOString(),
  lastStartTimestamp: dateOf(shown.boot).toISOString(),
  lastStopTimestamp: dateOf(shown.boot).toISOString(),
  lastSuspendedTimestamp: dateOf(shown.boot).toISOString(),
  disks: shown.hasDisk
    ? [
        {
          boot: false,
          type: 'PERSISTENT',
          mode: 'READ_WRITE',
          source: `https://www.googleapis.com/compute/v1/${PERSISTENT_DISK}`,
        },
      ]
    : [],
});

const googleDisk = ({ hasDisk }: Shown): DiskRead => {
  const path = diskPath(PERSISTENT_DISK);
  if (!path) throw new Error(`${PERSISTENT_DISK} is not a disk`);
  const users = hasDisk ? [`https://www.googleapis.com/compute/v1/${INSTANCE}`] : [];
  return { id: PERSISTENT_DISK, path, disk: { name: 'data', status: 'READY', users } };
};

const googlePath = instancePath(INSTANCE);

export const gce: ExploredCloud = {
  identityRules: identityRulesFor(INSTANCE),
  machine: INSTANCE,
  disk: PERSISTENT_DISK,
  driver: 'pd.csi.storage.gke.io',
  providerID: 'gce://p/europe-west1-b/node-a',
  providerIDOfAnother: 'gce://p/europe-west1-b/node-c',
  systemUUIDs: [],
  attachedTo: { source: 'volumeAttachment', driver: 'pd.csi.storage.gke.io', value: INSTANCE },
  attachedToAnother: { source: 'volumeAttachment', driver: 'pd.csi.storage.gke.io', value: ANOTHER_INSTANCE },
  countsDetaches: false,
  facts: (shown) => {
    if (!googlePath) throw new Error(`${INSTANCE} is not an instance`);
    const { power } = shown;
    if (power === 'gone' || power === 'forgotten') return missingInGoogle(INSTANCE, googlePath);
    return knownToGoogle(INSTANCE, googlePath, googleInstance({ ...shown, power }), [googleDisk(shown)]);
  },
};
