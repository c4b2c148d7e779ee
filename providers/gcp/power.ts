import {
  type Evidence,
  type MachineFacts,
  type MachineId,
  emptyMachineFacts,
  type Power,
} from '../../fencing/model/machine.ts';
import { attachedDisks, type Instance, type OwnDiskRead } from './disks.ts';
import { clusterNamesFromLabels, type InstancePath, candidateNodeNames } from './identity.ts';

/** What Compute Engine's answer proves about an instance: its power state, its boot generation, and the evidence. */

/**
 * Returns what the status of an instance proves. The API uses `TERMINATED` for a stopped instance, not for a deleted
 * one. Only `TERMINATED` and `STOPPED` are proof. An instance in `REPAIRING` ends in a restart.
 * https://cloud.google.com/compute/docs/instances/instance-lifecycle
 */
export const classifyPower = (status: string | null | undefined): Power => {
  switch (status) {
    case 'RUNNING':
      return 'running';
    case 'PENDING':
    case 'PROVISIONING':
    case 'STAGING':
      return 'starting';
    case 'DEPROVISIONING':
    case 'PENDING_STOP':
    case 'STOPPING':
    case 'SUSPENDING':
      return 'stopping';
    case 'STOPPED':
    case 'TERMINATED':
      return 'off';
    case 'SUSPENDED':
      return 'suspended';
    case null:
    case undefined:
    default:
      return 'unknown';
  }
};

const READ_FROM = 'compute.instances.get';

/**
 * Returns the facts of an instance. `disks` contains the answers of the disks themselves, or null if they were not
 * read.
 */
export const knownMachineFacts = (
  machine: MachineId,
  path: InstancePath,
  instance: Instance,
  disks: readonly OwnDiskRead[] | null,
): MachineFacts => ({
  machine,
  incarnation: { id: String(instance.id), made: momentOf(instance.creationTimestamp) },
  power: classifyPower(instance.status),
  forGood: false,
  generation: generationOf(instance),
  since: sinceOf(instance),
  nodeNames: candidateNodeNames(path, instance.hostname ?? ''),
  clusters: clusterNamesFromLabels(instance.labels),
  zone: path.zone,
  disks: disks ? attachedDisks(path, instance, disks) : [],
  evidence: evidenceOf(instance),
});

/**
 * Returns the generation. It includes the numeric id, because names are reused and two instances may start at the same
 * moment. For a suspended instance, it also includes when it was suspended: nothing documents that a resume changes the
 * time of the last start, and a person's statement about one suspension must not count for the next one.
 */
const generationOf = ({ id, status, lastStartTimestamp, creationTimestamp, ...rest }: Instance): string | null => {
  const started = lastStartTimestamp || creationTimestamp;
  const suspended = status === 'SUSPENDED' ? ` suspended ${rest.lastSuspendedTimestamp || 'at an unknown time'}` : '';
  return started ? `${String(id)} ${started}${suspended}` : null;
};

const sinceOf = ({
  status,
  lastStartTimestamp,
  lastStopTimestamp,
  lastSuspendedTimestamp,
  resourceStatus,
}: Instance): number | null => {
  switch (status) {
    case 'RUNNING':
      return momentOf(lastStartTimestamp);
    case 'STOPPED':
    case 'TERMINATED':
      return momentOf(lastStopTimestamp);
    case 'SUSPENDED':
      return momentOf(lastSuspendedTimestamp);
    case 'PENDING_STOP':
    case 'STOPPING':
      return momentOf(resourceStatus?.shutdownDetails?.requestTimestamp);
    default:
      return null;
  }
};

/** Omits the message of the status, which is text for people without a defined format. */
const evidenceOf = ({ id, status, creationTimestamp, lastStartTimestamp, lastStopTimestamp }: Instance): Evidence => ({
  status: status || 'none',
  id: String(id),
  created: creationTimestamp || 'none',
  lastStart: lastStartTimestamp || 'none',
  lastStop: lastStopTimestamp || 'none',
  readFrom: READ_FROM,
});

/** Parses an RFC 3339 time with a time zone offset. */
const momentOf = (time: string | null | undefined): number | null => {
  const moment = Date.parse(time ?? '');
  return Number.isNaN(moment) ? null : moment;
};

/**
 * Returns the facts for a name that Compute Engine does not know. The answer is the same for an unknown project. Only a
 * witness can distinguish these cases.
 */
export const missingMachineFacts = (machine: MachineId, { zone }: InstancePath): MachineFacts => ({
  ...emptyMachineFacts(machine),
  power: 'missing',
  zone,
  evidence: { status: 'not found', readFrom: READ_FROM },
});

/** Returns the facts for an id that is not the path of an instance. */
export const unknownMachineFacts = (machine: MachineId): MachineFacts => ({
  ...emptyMachineFacts(machine),
  power: 'unknown',
  evidence: { status: 'malformed path' },
});
