import type { DiskView, DriverFault } from '../diagnosis/model/facts.ts';
import type { DrillCloud } from '../drill/ports.ts';
import type { Cloud, CloudIdentityRules, ParsedEvent } from '../fencing/model/cloud.ts';
import type { MachineId, VolumeHandle } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { ObjectStore } from '../incidents/store.ts';
import type { Check } from './check.ts';
import type { StoredKubeconfig, ManagedCluster, PermissionTags } from './cluster-entries.ts';
import type { StageWriter } from './stage.ts';
import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { quoteBeginning } from '../fencing/model/foreign-text.ts';

/** How to reach the API server of a managed cluster. */
interface ManagedApiServer {
  readonly server: string;
  /** The certificate authority (PEM) of the server. Null if the server has a public certificate. */
  readonly ca: string | null;
  /** Called before each request, so that it can refresh the token in time. */
  readonly token: () => Promise<string>;
}

/**
 * The part of the access to a cluster that only its cloud provides. All functions throw `PermissionDenied`,
 * `Unavailable`, `Refused`, or `InvalidConfiguration`.
 */
export interface CloudAccess {
  /** Returns how to reach a cluster that the cloud manages. */
  readonly managedCluster: (entry: ManagedCluster, signal: AbortSignal) => Promise<ManagedApiServer>;
  /** Returns the text of a secret that the cloud stores. */
  readonly secret: (entry: StoredKubeconfig, signal: AbortSignal) => Promise<string>;
}

/** The input for a test of the permissions for destructive calls. */
export interface PermissionTrial {
  readonly policy: Pick<Policy, 'detach' | 'unreachable'>;
  /** Machines of Nodes. Permissions may depend on properties of a machine or a disk. */
  readonly machines: readonly MachineId[];
}

/** A scope of the cloud that must answer, such as a region of an account, and a function that checks it. */
export interface CloudProbe {
  readonly where: string;
  /**
   * Makes the reads that a fence needs and returns a description of the result. @throws PermissionDenied, Unavailable
   */
  readonly ask: (signal: AbortSignal) => Promise<string>;
  /**
   * Checks, without side effects, whether these credentials may make each destructive call of a fence.
   *
   * @throws PermissionDenied, Unavailable
   */
  readonly destructiveCalls: (trial: PermissionTrial, signal: AbortSignal) => Promise<readonly Check[]>;
  /** What this check cannot show on this cloud. Absent for a scope without such a check. */
  readonly notTried?: string;
}

/** What Cloudfence needs from a cloud in addition to the `Cloud` interface of fencing. */
export interface OpenedCloud {
  readonly cloud: Cloud;
  /** Reads any event of this cloud, in any envelope. */
  readonly readHints: (raw: unknown) => ParsedEvent;
  /**
   * Replaces other objects that an event may name, such as a scale set, with their machines. Absent if events name only
   * machines.
   */
  readonly expand?: (named: readonly MachineId[], signal: AbortSignal) => Promise<readonly MachineId[]>;
  /** One probe for each scope whose machines are served. */
  readonly probes: readonly CloudProbe[];
  /** Returns the probes that depend on the machines of Nodes. Absent if there are none. */
  readonly probesOfMachines?: (machines: readonly MachineId[]) => Promise<readonly CloudProbe[]>;
  /**
   * Reads what the disks of these volumes say about themselves, for a diagnosis. Returns one entry for each disk of
   * this cloud, or throws.
   *
   * @throws Unavailable, PermissionDenied, Refused
   */
  readonly viewDisks: (volumes: readonly VolumeHandle[], signal: AbortSignal) => Promise<readonly DiskView[]>;
  /** Returns the meaning of this cloud's error code in a message of a CSI driver, or null. Pure. */
  readonly driverFaultOf: CloudPlugin['driverFaultOf'];
  /** What `cloudfence drill` needs. It is loaded only for a drill. Absent for a cloud without drills. */
  readonly drill?: (machine: MachineId) => Promise<DrillCloud>;
  /** Access to clusters that this cloud manages, or whose credentials it stores. */
  readonly access: CloudAccess;
}

/** An additional account and region whose machines are served. */
export interface TerritoryEntry {
  readonly account: string;
  readonly region: string;
  /**
   * ARN of a role in that account. Without a role, the install's own credentials are used, so the entry must be the
   * install's own account in another region.
   */
  readonly role?: string | undefined;
  readonly externalId?: string | undefined;
  /** URL of the EC2 API, for networks and tests that cannot reach the default one. */
  readonly endpoint?: string | undefined;
}

/** Reads an environment variable. Returns null if it is unset or empty. */
export type ReadVariable = (name: string) => string | null;

/** Called whenever requests to the cloud about machines and disks have been sent. */
export type OnRequestsSent = () => void;

export interface CloudOptions {
  /** Reads an environment variable for a setting for which the SDK has no variable. */
  readonly variable: ReadVariable;
  readonly region: string | null;
  /** The account of the credentials. Null if it is not known. */
  readonly account: string | null;
  readonly territories: readonly TerritoryEntry[];
  /**
   * The tags on which the permissions for destructive calls depend, if the install configures them. Each cloud defines
   * their format.
   */
  readonly tags?: PermissionTags | null;
  readonly onRequestsSent?: OnRequestsSent;
}

/** A bucket or container with incidents, opened with the credentials that are found. */
export interface IncidentPlace {
  /** The place as text, such as `the bucket cloudfence-prod-incidents`. */
  readonly where: string;
  readonly objects: ObjectStore;
}

/** Opens a place of incidents. The SDK that finds the credentials is loaded here. @throws CloudfenceError */
export type OpenIncidentPlace = (options: Pick<CloudOptions, 'variable' | 'region'>) => Promise<IncidentPlace>;

/** How a cloud opens the storage of incidents. */
export interface IncidentPlaces {
  /** The format of an address, such as `s3://<bucket>`. */
  readonly form: string;
  /** Returns a function that opens the place at an address, or null if the address has another format. Pure. */
  readonly at: (address: string) => OpenIncidentPlace | null;
}

/** Opens a chain with a person's own credentials. @throws CloudfenceError */
export type OpenTestChain = (options: Pick<CloudOptions, 'variable' | 'region'>) => Promise<TestChain>;

/** How a cloud opens the entrance of events into an install. */
export interface TestChains {
  /** The format of an entrance, such as `<service>-<stage>`. */
  readonly form: string;
  /** Returns a function that opens the chain behind an entrance, or null if the text has another format. Pure. */
  readonly at: (entrance: string) => OpenTestChain | null;
}

/** The part of a cloud that needs no SDK, and functions that open the rest. */
export interface CloudPlugin {
  readonly name: string;
  readonly machineOf: Cloud['machineOf'];
  readonly immutableIdsOf: Cloud['immutableIdsOf'];
  readonly diskOf: Cloud['diskOf'];
  /** Absent if the location of a machine adds nothing to its identity sources and volumes. */
  readonly identityRulesFor?: (machine: MachineId) => Omit<CloudIdentityRules, 'unservedScope'>;
  /** Absent for a cloud whose attachments name their machines, because its disks do not have to be read. */
  readonly machinesNamed?: NonNullable<Cloud['machinesNamed']>;
  readonly readHints: OpenedCloud['readHints'];
  /** Returns what this cloud's error code in the sentence of a CSI driver means, or null. Pure. */
  readonly driverFaultOf: (sentence: string) => DriverFault | null;
  /** Returns whether the id belongs to a machine of the cloud, or to another object that its events may name. Pure. */
  readonly ownsId: (id: MachineId) => boolean;
  /** Absent for a cloud that stores no incidents. */
  readonly incidents?: IncidentPlaces;
  /** Absent for a cloud whose installs accept no test events. */
  readonly testChains?: TestChains;
  /** Opens only the access to clusters. @throws InvalidConfiguration */
  readonly access: (options: CloudOptions) => Promise<CloudAccess>;
  /** Opens the cloud. The SDK is loaded here and nowhere else. @throws InvalidConfiguration */
  readonly open: (options: CloudOptions) => Promise<OpenedCloud>;
  /** Loads the code that `cloudfence init` needs for a stage file of this cloud. */
  readonly stageWriter: () => Promise<StageWriter>;
}

/** The address of a proxy may contain a user and a password. */
const withoutPassword = (text: string): string => text.replace(/^([a-z]+:\/\/)?[^/]*@/i, '$1…@');

const isWebAddress = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text);

/**
 * Reads a variable that contains the URL of a service. Returns null if it is not set.
 * @throws InvalidConfiguration if it contains anything else
 */
export const readUrl = (variable: ReadVariable, name: string): string | null => {
  const text = variable(name);
  if (text === null || isWebAddress(text)) return text;
  throw new InvalidConfiguration([
    `the environment variable ${name} is ${quoteBeginning(withoutPassword(text))}, which is not a URL: write one ` +
      'such as https://host.example, or remove the variable',
  ]);
};

/** A test event of the doctor. It names no machine. */
export interface TestEvent {
  readonly cloudfence: 'test-event';
  readonly id: string;
}

/** The source name of test events on a bus that is shared with others. */
export const TEST_SOURCE = 'cloudfence.test';
export const TEST_DETAIL_TYPE = 'Cloudfence Test Event';

/** The chain through which a cloud's events pass in an install, and a function that sends a test event into it. */
export interface TestChain {
  /** The parts through which the event passes, such as `bus → rule → queue → on-event`. */
  readonly path: string;
  /** The parts of the real chain through which it does not pass. Null if there are none. */
  readonly notTried: string | null;
  /** What to check if the event does not arrive. */
  readonly remedy: string;
  /** The command that shows more details. */
  readonly next: string;
  readonly send: (event: TestEvent, signal: AbortSignal) => Promise<void>;
}
