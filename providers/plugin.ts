import type { DiskView, DriverFault } from '../diagnosis/model/facts.ts';
import type { DrillCloud } from '../drill/ports.ts';
import type { Cloud, CloudIdentityRules } from '../fencing/model/cloud.ts';
import type { ParsedEvent } from '../fencing/model/hint.ts';
import type { MachineId, VolumeHandle } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { ObjectStore } from '../incidents/keep.ts';
import type { Check } from './check.ts';
import type { StoredKubeconfig, ManagedCluster } from './cluster-entries.ts';
import type { StageWriter } from './stage.ts';
import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { shorten } from '../fencing/model/reason.ts';

/** How to reach the API server of a managed cluster. */
interface ManagedApiServer {
  readonly server: string;
  /** The certificate authority (PEM) of the server. Null when the server has a public certificate. */
  readonly ca: string | null;
  /** Called before each request, so that it can renew a token in time. */
  readonly token: () => Promise<string>;
}

/**
 * The part of the access to a cluster that only a cloud knows. All functions throw `PermissionDenied`, `Unavailable`, `Refused`,
 * or `InvalidConfiguration`.
 */
export interface CloudAccess {
  /** Returns how to reach a cluster that the cloud manages. */
  readonly managedCluster: (entry: ManagedCluster, signal: AbortSignal) => Promise<ManagedApiServer>;
  /** Returns the text of a secret that the cloud keeps. */
  readonly secret: (entry: StoredKubeconfig, signal: AbortSignal) => Promise<string>;
}

/** What a trial of the destructive calls is about. */
export interface PermissionTrial {
  readonly policy: Pick<Policy, 'detach' | 'unreachable'>;
  /** Machines of Nodes. Permissions may depend on properties of a machine or a disk. */
  readonly machines: readonly MachineId[];
}

/** A place in the cloud that must answer, such as a region of an account, and how to try it. */
export interface CloudProbe {
  readonly where: string;
  /** Makes the reads that a fence needs and returns a description of the result. @throws PermissionDenied, Unavailable */
  readonly ask: (signal: AbortSignal) => Promise<string>;
  /**
   * Checks, without side effects, whether these credentials may make each destructive call of a fence.
   *
   * @throws PermissionDenied, Unavailable
   */
  readonly destructiveCalls: (trial: PermissionTrial, signal: AbortSignal) => Promise<readonly Check[]>;
  /** What the trial cannot show on this cloud. Absent for a place without a trial. */
  readonly notTried?: string;
}

/** What Cloudfence needs from a cloud in addition to the `Cloud` interface of fencing. */
export interface OpenedCloud {
  readonly cloud: Cloud;
  /** Reads any event of this cloud, however it is wrapped. */
  readonly readHints: (raw: unknown) => ParsedEvent;
  /**
   * Replaces what an event may name instead of a machine, such as a scale set, with its machines. Absent when events
   * name only machines.
   */
  readonly expand?: (named: readonly MachineId[], signal: AbortSignal) => Promise<readonly MachineId[]>;
  /** One probe for each place whose machines are served. */
  readonly probes: readonly CloudProbe[];
  /** Returns the probes that depend on the machines of Nodes. Absent when there are none. */
  readonly probesOfMachines?: (machines: readonly MachineId[]) => Promise<readonly CloudProbe[]>;
  /**
   * Asks the disks of these volumes what they say about themselves, for a diagnosis. Returns one entry for each disk of
   * this cloud, or throws.
   *
   * @throws Unavailable, PermissionDenied, Refused
   */
  readonly viewDisks: (volumes: readonly VolumeHandle[], signal: AbortSignal) => Promise<readonly DiskView[]>;
  /** Returns what this cloud's error code in the sentence of a CSI driver means, or null. Pure. */
  readonly driverFaultOf: CloudPlugin['driverFaultOf'];
  /** What `cloudfence drill` needs. It is loaded only for a drill. Absent for a cloud without drills. */
  readonly drill?: (machine: MachineId) => Promise<DrillCloud>;
  /** Access to clusters that this cloud manages, or whose credentials it keeps. */
  readonly access: CloudAccess;
}

export interface PermissionTag {
  readonly key: string;
  readonly values: readonly string[];
}

/** The tags that permissions depend on. One tag of each list is enough. */
export interface PermissionTags {
  readonly instances: readonly PermissionTag[];
  readonly volumes: readonly PermissionTag[];
}

/** An account and region, in addition to our own, whose machines are served. */
export interface TerritoryEntry {
  readonly account: string;
  readonly region: string;
  /**
   * ARN of a role in that account. Without a role, our own credentials apply, which means our own account in another
   * region.
   */
  readonly role?: string | undefined;
  readonly externalId?: string | undefined;
  /** URL of the EC2 API, for networks and tests that cannot reach the usual one. */
  readonly endpoint?: string | undefined;
}

/** Reads an environment variable. Returns null when it is unset or empty. */
export type ReadVariable = (name: string) => string | null;

/** Called whenever questions to the cloud about machines and disks have left. */
export type OnRequestsSent = () => void;

export interface CloudOptions {
  /** Reads an environment variable for a setting for which the plugin's SDK has no variable of its own. */
  readonly variable: ReadVariable;
  readonly region: string | null;
  /** The account of the credentials. Null when it is not given. */
  readonly account: string | null;
  readonly territories: readonly TerritoryEntry[];
  /**
   * The tags that the permissions for destructive calls depend on, if the install configures them. Each cloud defines
   * their form.
   */
  readonly tags?: PermissionTags | null;
  readonly onRequestsSent?: OnRequestsSent;
}

/** A bucket or container in which incidents lie, opened with the credentials that are found. */
export interface IncidentPlace {
  /** The place in words, such as `the bucket cloudfence-prod-incidents`. */
  readonly where: string;
  readonly objects: ObjectStore;
}

/** Opens a place of incidents. The SDK that finds the credentials is loaded here. @throws CloudfenceError */
export type OpenIncidentPlace = (options: Pick<CloudOptions, 'variable' | 'region'>) => Promise<IncidentPlace>;

/** Where a cloud keeps incidents. */
export interface IncidentPlaces {
  /** The form of an address, such as `s3://<bucket>`. */
  readonly form: string;
  /** Returns how to open the place at an address, or null if the address is of another form. Pure. */
  readonly at: (address: string) => OpenIncidentPlace | null;
}

/** Opens a chain with a person's own credentials. @throws CloudfenceError */
export type OpenTestChain = (options: Pick<CloudOptions, 'variable' | 'region'>) => Promise<TestChain>;

/** Where the events of a cloud enter an install. */
export interface TestChains {
  /** The form of an entrance, such as `<service>-<stage>`. */
  readonly form: string;
  /** Returns how to open the chain behind an entrance, or null if the text has another form. Pure. */
  readonly at: (entrance: string) => OpenTestChain | null;
}

/** What is known about a cloud without its SDK, and how to open the rest. */
export interface CloudPlugin {
  readonly name: string;
  readonly machineOf: Cloud['machineOf'];
  readonly immutableIdsOf: Cloud['immutableIdsOf'];
  readonly diskOf: Cloud['diskOf'];
  /** Absent when a machine's place adds nothing to what its identity sources and volumes say. */
  readonly identityRulesFor?: (machine: MachineId) => Omit<CloudIdentityRules, 'unservedScope'>;
  /** Absent for a cloud whose attachments name their machines, because its disks need not be asked. */
  readonly machinesNamed?: NonNullable<Cloud['machinesNamed']>;
  readonly readHints: OpenedCloud['readHints'];
  /** Returns what this cloud's error code in the sentence of a CSI driver means, or null. Pure. */
  readonly driverFaultOf: (sentence: string) => DriverFault | null;
  /** True for the ids of the cloud's machines, and for what its events may name instead. Pure. */
  readonly ownsId: (id: MachineId) => boolean;
  /** Absent for a cloud that keeps no incidents. */
  readonly incidents?: IncidentPlaces;
  /** Absent for a cloud whose installs take no test events. */
  readonly testChains?: TestChains;
  /** Opens only the access to clusters. @throws InvalidConfiguration */
  readonly access: (options: CloudOptions) => Promise<CloudAccess>;
  /** Opens the cloud. The SDK is loaded here and nowhere else. @throws InvalidConfiguration */
  readonly open: (options: CloudOptions) => Promise<OpenedCloud>;
  /** Loads what `cloudfence init` needs for a stage's file of this cloud. */
  readonly stageWriter: () => Promise<StageWriter>;
}

const LONGEST_SHOWN = 100;

const isWebAddress = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text);

/**
 * Reads a variable that holds the URL of a service. Returns null when it is not set.
 * @throws InvalidConfiguration when it holds anything else
 */
export const readUrl = (variable: ReadVariable, name: string): string | null => {
  const text = variable(name);
  if (text === null || isWebAddress(text)) return text;
  throw new InvalidConfiguration([
    `the environment variable ${name} is "${shorten(text, LONGEST_SHOWN)}", which is not a URL: write one such as https://host.example, or remove the variable`,
  ]);
};

/** A test event of the doctor. It names no machine. */
export interface TestEvent {
  readonly cloudfence: 'test-event';
  readonly id: string;
}

/** What names a test event on a bus that others use as well. */
export const TEST_SOURCE = 'cloudfence.test';
export const TEST_DETAIL_TYPE = 'Cloudfence Test Event';

/** The chain that a cloud's events pass in an install, and how the doctor sends a test event into it. */
export interface TestChain {
  /** The parts that the event passes, such as `bus → rule → queue → on-event`. */
  readonly path: string;
  /** What of the chain of real events it does not pass. Null if nothing. */
  readonly notTried: string | null;
  /** Where to look if it does not arrive. */
  readonly remedy: string;
  /** The command that shows more. */
  readonly next: string;
  readonly send: (event: TestEvent, signal: AbortSignal) => Promise<void>;
}
