import type { Instance, Volume } from '@aws-sdk/client-ec2';
import {
  type Evidence,
  type MachineFacts,
  type MachineId,
  emptyMachineFacts,
  type Power,
} from '../../fencing/model/machine.ts';
import { attachedDisks } from './disks.ts';
import { clusterNamesFromTags, candidateNodeNames } from './identity.ts';

/** What EC2's answer proves about an instance: its power state, its boot generation, and the evidence. */

interface Classified {
  readonly power: Power;
  readonly forGood: boolean;
}

/**
 * Reasons that mean a plain shutdown, for machines that could have hibernated instead. `Server.SpotInstanceShutdown` is
 * not in the list, because EC2 also hibernates interrupted Spot instances and documents no other code for that. Neither
 * is `Client.InstanceInitiatedShutdown`: a guest that is set up for hibernation may have hibernated itself. Neither is
 * `Server.InternalError`: it reports a start that failed, and the memory of a hibernated machine may outlast that.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html
 */
const PLAIN_SHUTDOWN: ReadonlySet<string | undefined> = new Set([
  'Client.UserInitiatedShutdown',
  'Server.ScheduledStop',
]);

/** The parts of EC2's answer about power. */
type PowerAnswer = Pick<Instance, 'State' | 'StateReason' | 'HibernationOptions' | 'InstanceLifecycle'>;

/**
 * Returns what EC2's answer proves. Only `stopped` and `terminated` are proof. A hibernated machine resumes from memory
 * and writes again within seconds. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-lifecycle.html
 */
export const classifyPower = (instance: PowerAnswer): Classified => {
  switch (instance.State?.Name) {
    case 'running':
      return alive('running');
    case 'pending':
      return alive('starting');
    case 'stopping':
    case 'shutting-down':
      return alive('stopping');
    case 'stopped':
      return alive(mayBeHibernated(instance) ? 'suspended' : 'off');
    case 'terminated':
      return { power: 'off', forGood: true };
    case undefined:
    default:
      return alive('unknown');
  }
};

const alive = (power: Power): Classified => ({ power, forGood: false });

/**
 * Returns whether the machine can hibernate. If that is unknown, Cloudfence assumes that it can. EC2 may also hibernate
 * a Spot instance whose hibernation is not configured: its Spot request decides.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_SpotMarketOptions.html
 */
const canHibernate = ({ HibernationOptions, InstanceLifecycle }: PowerAnswer): boolean =>
  HibernationOptions?.Configured !== false || InstanceLifecycle === 'spot';

/** If the reason says that the machine hibernated, that always counts. */
const mayBeHibernated = (instance: PowerAnswer): boolean => {
  const reason = instance.StateReason?.Code;
  return reason === 'Client.UserInitiatedHibernate' || (canHibernate(instance) && !PLAIN_SHUTDOWN.has(reason));
};

interface ReadResult {
  readonly region: string;
  readonly requestId: string;
  /** The reports of the disks. Null if the disks were not read. */
  readonly volumes: readonly Volume[] | null;
}

const READ_FROM = 'ec2:DescribeInstances';

export const knownMachineFacts = (
  instance: Instance,
  machine: MachineId,
  { region, requestId, volumes }: ReadResult,
): MachineFacts => ({
  machine,
  incarnation: null,
  ...classifyPower(instance),
  generation: instance.LaunchTime?.toISOString() ?? null,
  since: sinceOf(instance),
  nodeNames: candidateNodeNames(machine, instance.PrivateDnsName, region),
  clusters: clusterNamesFromTags(instance.Tags ?? []),
  zone: instance.Placement?.AvailabilityZone ?? null,
  disks: volumes ? attachedDisks(machine, instance, volumes) : [],
  evidence: evidenceOf(instance, requestId),
});

/**
 * Returns when the present state began. A running machine has been up since its launch. EC2 reports the time of a
 * transition only for stops.
 */
const sinceOf = ({ State, LaunchTime, StateTransitionReason }: Instance): number | null =>
  State?.Name === 'running' || State?.Name === 'pending'
    ? (LaunchTime?.getTime() ?? null)
    : transitionTime(StateTransitionReason);

const evidenceOf = (instance: Instance, requestId: string): Evidence => ({
  state: instance.State?.Name ?? 'none',
  stateReason: instance.StateReason?.Code ?? 'none',
  launchTime: instance.LaunchTime?.toISOString() ?? 'none',
  transition: instance.StateTransitionReason || 'none',
  requestId,
  readFrom: READ_FROM,
});

/**
 * Returns the facts for an id that EC2 does not know. That alone proves nothing:
 * https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
 */
export const missingMachineFacts = (machine: MachineId, volumes: readonly Volume[] | null): MachineFacts => ({
  ...emptyMachineFacts(machine),
  power: 'missing',
  disks: volumes ? attachedDisks(machine, null, volumes) : [],
  evidence: { state: 'not found', readFrom: READ_FROM },
});

/**
 * Returns the facts if EC2 does not answer about the id, or says that it cannot be an instance id. They prove nothing.
 */
export const unknownMachineFacts = (machine: MachineId, state: string): MachineFacts => ({
  ...emptyMachineFacts(machine),
  power: 'unknown',
  evidence: { state, readFrom: READ_FROM },
});

/** Matches the time in a text such as `User initiated (2014-09-15 22:12:11 GMT)`. */
const TRANSITION_TIME = /\((\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}) (?:GMT|UTC)\)$/;

const transitionTime = (reason: string | undefined): number | null => {
  const [, day, time] = TRANSITION_TIME.exec(reason ?? '') ?? [];
  const moment = Date.parse(`${day}T${time}Z`);
  return Number.isNaN(moment) ? null : moment;
};
