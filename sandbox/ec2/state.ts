import type { InvariantViolation } from '../invariant-violation.ts';
import type { World } from '../world.ts';
import type { Fault } from './faults.ts';
import type { Versioned, VersionedStore } from '../history.ts';
import { current } from '../history.ts';

export type InstanceState = 'pending' | 'running' | 'stopping' | 'stopped' | 'shutting-down' | 'terminated';

export interface StateReason {
  readonly code: string;
  readonly message: string;
}

export interface Instance {
  readonly id: string;
  readonly reservation: string;
  readonly state: InstanceState;
  readonly launchTime: number;
  readonly stateReason: StateReason | null;
  readonly transitionReason: string;
  readonly type: string;
  readonly zone: string;
  readonly privateIp: string;
  readonly privateDnsName: string;
  readonly rootDevice: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly canHibernate: boolean;
  /** A Spot instance. EC2 may interrupt it. */
  readonly spot: boolean;
  readonly managed: boolean;
  readonly onShutdown: 'stop' | 'terminate';
  /** Whether the present stop keeps the memory. */
  readonly hibernating: boolean;
  /** How long the operating system takes to shut down (ms), or null if it never does by itself. */
  readonly shutdownTakes: number | null;
  /** What EC2 does not show: whether the guest executes instructions. A `frozen` guest continues where it stopped. */
  readonly guest: 'up' | 'down' | 'frozen';
  readonly boot: number;
  readonly mounts: readonly string[];
}

export interface Attachment {
  readonly instance: string;
  readonly device: string;
  readonly state: 'attaching' | 'attached' | 'detaching' | 'busy';
  readonly at: number;
  readonly deleteOnTermination: boolean;
  /** Whether the detach in progress was requested with Force. */
  readonly forced: boolean;
}

export interface Volume {
  readonly id: string;
  readonly zone: string;
  readonly multiAttach: boolean;
  readonly managed: boolean;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly attachments: readonly Attachment[];
}

/** Durations in ms of virtual time. */
export interface SimulationSettings {
  /** The maximum age of the state that a describe call returns. */
  staleUpTo: number;
  staleness: 'oldest' | 'seeded';
  bootTakes: number;
  shutdownTakes: number;
  forcedStopTakes: number;
  terminateTakes: number;
  attachTakes: number;
  detachTakes: number;
  forgetAfter: number;
  /** The maximum number of objects in one response of a describe call. */
  pageSize: number;
}

export interface Ec2State {
  readonly account: string;
  readonly region: string;
  readonly knobs: SimulationSettings;
  readonly instances: VersionedStore<Instance>;
  readonly volumes: VersionedStore<Volume>;
  /** All events that EventBridge would deliver, oldest first. */
  readonly events: StateChangeEnvelope[];
  readonly violations: InvariantViolation[];
  readonly faults: Fault[];
  serial: number;
}

export interface WithEc2 {
  readonly ec2: Ec2State;
}

export type Ec2World = World<WithEc2>;

export const emptyEc2 = (
  territory: { readonly account: string; readonly region: string },
  knobs: Partial<SimulationSettings> = {},
): Ec2State => ({
  ...territory,
  knobs: { ...usual, ...knobs },
  instances: {},
  volumes: {},
  events: [],
  violations: [],
  faults: [],
  serial: 0,
});

const usual: SimulationSettings = {
  staleUpTo: 0,
  staleness: 'oldest',
  bootTakes: 15_000,
  shutdownTakes: 20_000,
  forcedStopTakes: 5_000,
  terminateTakes: 10_000,
  attachTakes: 1_500,
  detachTakes: 2_000,
  forgetAfter: 3_600_000,
  pageSize: 1_000,
};

export const nextSerial = (ec2: Ec2State): string => {
  ec2.serial += 1;
  return ec2.serial.toString(16);
};

const everything = <T>(shelf: VersionedStore<T>): readonly T[] =>
  Object.values<Versioned<T>>(shelf).flatMap((kept) => (kept.present ? [kept.present] : []));

export const instanceIn = (world: Ec2World, id: string): Instance | undefined => current(world.parts.ec2.instances, id);
export const volumeIn = (world: Ec2World, id: string): Volume | undefined => current(world.parts.ec2.volumes, id);
export const volumesOf = (world: Ec2World, instance: string): readonly Volume[] =>
  everything(world.parts.ec2.volumes).filter((volume) => attachmentTo(volume, instance));
export const instancesIn = (world: Ec2World): readonly Instance[] => everything(world.parts.ec2.instances);

export const attachmentTo = (volume: Volume, instance: string): Attachment | undefined =>
  volume.attachments.find((attachment) => attachment.instance === instance);

/**
 * The event that EventBridge delivers when an instance changes its state.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html
 */
export interface StateChangeEnvelope {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': 'EC2 Instance State-change Notification';
  readonly source: 'aws.ec2';
  readonly account: string;
  /** The time has only seconds, so it gives no order. */
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: { readonly 'instance-id': string; readonly state: string };
}
