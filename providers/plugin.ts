import type { Cloud, CloudReading } from '../fencing/model/cloud.ts';
import type { ParsedEvent } from '../fencing/model/hint.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { Check } from './check.ts';
import type { KeptKubeconfig, ManagedCluster } from './cluster-entries.ts';

/** How to reach the API server of a managed cluster. */
interface ManagedApiServer {
  readonly server: string;
  /** The certificate authority (PEM) that vouches for the server; null where a public one does. */
  readonly ca: string | null;
  /** Asked before each request, so that it can renew a token in time. */
  readonly token: () => Promise<string>;
}

/**
 * What only a cloud knows of a way into a cluster. All throw `Denied`, `Unavailable`, `Refused` or
 * `InvalidConfiguration`.
 */
export interface CloudAccess {
  /** A cluster that the cloud manages. */
  readonly managedCluster: (entry: ManagedCluster, signal: AbortSignal) => Promise<ManagedApiServer>;
  /** The text of a secret that the cloud keeps. */
  readonly secret: (entry: KeptKubeconfig, signal: AbortSignal) => Promise<string>;
}

/** What orders are tried for. */
export interface Trial {
  readonly policy: Pick<Policy, 'detach' | 'unreachable'>;
  /** Machines of Nodes: permissions may hang on what a machine or a disk is. */
  readonly machines: readonly MachineId[];
}

/** A place of the cloud that has to answer, such as a region of an account, and how to try it. */
export interface CloudProbe {
  readonly where: string;
  /** Makes the reads that a fence needs, and says what came of it. @throws Denied, Unavailable */
  readonly ask: (signal: AbortSignal) => Promise<string>;
  /**
   * Whether these credentials might give each order that a fence gives, found out without harm. @throws Denied,
   * Unavailable
   */
  readonly orders: (trial: Trial, signal: AbortSignal) => Promise<readonly Check[]>;
}

/** What is needed of a cloud beside fencing's own interface. */
export interface OpenedCloud {
  readonly cloud: Cloud;
  /** Any event of this cloud, however it is wrapped. */
  readonly readHints: (raw: unknown) => ParsedEvent;
  /**
   * Machines in the place of what an event may name instead, such as a scale set; left out where events name machines
   * only.
   */
  readonly expand?: (named: readonly MachineId[], signal: AbortSignal) => Promise<readonly MachineId[]>;
  /** One for each place whose machines are served. */
  readonly probes: readonly CloudProbe[];
  /** Those that can be told only once the machines of Nodes are known; left out where there are none. */
  readonly probesFor?: (machines: readonly MachineId[]) => Promise<readonly CloudProbe[]>;
  /** Ways into clusters that this cloud manages, or keeps the credentials of. */
  readonly access: CloudAccess;
}

export interface PermissionTag {
  readonly key: string;
  readonly values: readonly string[];
}

/** Of each list one tag is enough. */
export interface PermissionTags {
  readonly instances: readonly PermissionTag[];
  readonly volumes: readonly PermissionTag[];
}

/** An account and region beside our own whose machines are served. */
export interface TerritoryEntry {
  readonly account: string;
  readonly region: string;
  /**
   * ARN of a role of that account. Without one, our own credentials are good there: our own account in another region.
   */
  readonly role?: string | undefined;
  readonly externalId?: string | undefined;
  /** URL of its API, for networks and tests in which the usual one is out of reach. */
  readonly endpoint?: string | undefined;
}

/** A variable of the environment; null where it is not set, or empty. */
export type ReadVariable = (name: string) => string | null;

export interface CloudOptions {
  /** Where a plugin's SDK has no variable of its own, the plugin asks for one here. */
  readonly variable: ReadVariable;
  readonly region: string | null;
  /** The account that the credentials are of; null where nobody has told it. */
  readonly account: string | null;
  readonly territories: readonly TerritoryEntry[];
  /**
   * The tags that the permissions to give orders hang on, where the install says; what they look like is the cloud's
   * matter.
   */
  readonly tags?: PermissionTags | null;
}

/** What can be known of a cloud without its SDK, and how to open the rest. */
export interface CloudPlugin {
  readonly name: string;
  readonly machineOf: Cloud['machineOf'];
  readonly incarnationsOf: Cloud['incarnationsOf'];
  readonly diskOf: Cloud['diskOf'];
  /** Left out where a machine's place adds nothing to what its identity sources and volumes say. */
  readonly readingFor?: (machine: MachineId) => Omit<CloudReading, 'unservedPlace'>;
  /** Left out by a cloud whose attachments name their machines: its disks need not be asked. */
  readonly machinesNamed?: NonNullable<Cloud['machinesNamed']>;
  readonly readHints: OpenedCloud['readHints'];
  /** True of its machines' ids, and of what its events may name in their place. Pure. */
  readonly owns: (id: MachineId) => boolean;
  /** The ways into clusters alone. @throws InvalidConfiguration */
  readonly access: (options: CloudOptions) => Promise<CloudAccess>;
  /** The SDK is loaded here, and only here. @throws InvalidConfiguration */
  readonly open: (options: CloudOptions) => Promise<OpenedCloud>;
}
