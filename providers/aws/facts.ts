import type { Instance, Volume } from '@aws-sdk/client-ec2';
import { nothingKnown, type Evidence, type MachineFacts, type MachineId } from '../../fencing/machine.ts';
import { attachedDisks } from './attached-disks.ts';
import { classify } from './classify.ts';
import { clustersIn } from './cluster-tags.ts';
import { nodeNamesOf } from './node-names.ts';

interface Sighting {
  readonly region: string;
  readonly requestId: string;
  /** What the disks say; null when they were not asked. */
  readonly volumes: readonly Volume[] | null;
}

const READ_FROM = 'ec2:DescribeInstances';

export const seenFacts = (instance: Instance, machine: MachineId, { region, requestId, volumes }: Sighting): MachineFacts => ({
  machine,
  incarnation: null,
  ...classify(instance),
  generation: instance.LaunchTime?.toISOString() ?? null,
  since: sinceOf(instance),
  nodeNames: nodeNamesOf(machine, instance.PrivateDnsName, region),
  clusters: clustersIn(instance.Tags ?? []),
  zone: instance.Placement?.AvailabilityZone ?? null,
  disks: volumes ? attachedDisks(machine, instance, volumes) : [],
  evidence: evidenceOf(instance, requestId),
});

/** A machine that is up has been so since its launch: only the way down is noted as a transition. */
const sinceOf = ({ State, LaunchTime, StateTransitionReason }: Instance): number | null =>
  State?.Name === 'running' || State?.Name === 'pending' ? (LaunchTime?.getTime() ?? null) : transitionTime(StateTransitionReason);

const evidenceOf = (instance: Instance, requestId: string): Evidence => ({
  state: instance.State?.Name ?? 'none',
  stateReason: instance.StateReason?.Code ?? 'none',
  launchTime: instance.LaunchTime?.toISOString() ?? 'none',
  transition: instance.StateTransitionReason || 'none',
  requestId,
  readFrom: READ_FROM,
});

/** EC2 does not know the id, which proves nothing by itself: https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html */
export const missingFacts = (machine: MachineId, volumes: readonly Volume[] | null): MachineFacts => ({
  ...nothingKnown(machine),
  power: 'missing',
  disks: volumes ? attachedDisks(machine, null, volumes) : [],
  evidence: { state: 'not found', readFrom: READ_FROM },
});

/** EC2 says nothing of it, or that this cannot be an instance id: there is nothing to be proved about it. */
export const unknownFacts = (machine: MachineId, state: string): MachineFacts => ({ ...nothingKnown(machine), power: 'unknown', evidence: { state, readFrom: READ_FROM } });

/** A text for people with a time in it, such as `User initiated (2014-09-15 22:12:11 GMT)`. */
const TRANSITION_TIME = /\((\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}) (?:GMT|UTC)\)$/;

const transitionTime = (reason: string | undefined): number | null => {
  const [, day, time] = TRANSITION_TIME.exec(reason ?? '') ?? [];
  const moment = Date.parse(`${day}T${time}Z`);
  return Number.isNaN(moment) ? null : moment;
};
