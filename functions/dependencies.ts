import type { OpenCluster } from '../app/open-clusters.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import type { IncidentKeeper, TellingKeeper } from '../incidents/store.ts';
import type { ReadAftermath } from '../incidents/watch.ts';
import type { OpenedCloud, TestChain } from '../providers/plugin.ts';
import type { Queues } from './acknowledge.ts';
import type { WorkItem } from './messages.ts';
import type { Measurement } from './metrics.ts';

/** Everything that a function depends on. Tests pass their own. */
export interface FunctionDependencies {
  readonly ports: Omit<Ports, 'signal' | 'observe'>;
  readonly policy: Policy;
  /** Describes why this install does not serve the item, or returns null if it does. */
  readonly whyNotServed: (item: Pick<WorkItem, 'machine' | 'account' | 'region'>) => string | null;
  readonly queues: Queues;
  /** Absent if the install stores no incidents. */
  readonly incidents?: IncidentKeeper;
  /** Reads what has happened in a cluster since an incident. Returns null for a cluster that is not configured. */
  readonly aftermath?: (cluster: string) => Promise<ReadAftermath | null>;
  /** Returns measures as fields of a log line, in the form that this platform turns into metrics. */
  readonly formatMeasurements: (measures: readonly Measurement[]) => object;
  readonly newRunId: () => string;
  /** Returns a random number from 0 to 1. */
  readonly chance: () => number;
  readonly log: (line: object) => void;
}

/** A deployed function with its own role, and a function with which the doctor asks it. */
export interface ExaminedFunction {
  readonly name: string;
  /**
   * Returns the function's answer to a question.
   * @throws Refused if the function fails as a whole; PermissionDenied or Unavailable if it cannot be asked
   */
  readonly ask: (question: object, signal: AbortSignal) => Promise<unknown>;
}

/**
 * The dependencies of a function that reads for people: the machine behind a name, the cause of a wait, or the state of
 * the clusters.
 */
export interface NamingDependencies extends FunctionDependencies {
  readonly openedCloud: Pick<OpenedCloud, 'viewDisks' | 'driverFaultOf'>;
  readonly openClusters: readonly Pick<OpenCluster, 'cluster' | 'diagnosis' | 'status'>[];
}

/** The dependencies of the doctor, which also needs the opened cloud and clusters. */
export interface DoctorDependencies extends NamingDependencies {
  readonly openedCloud: OpenedCloud;
  readonly openClusters: readonly OpenCluster[];
  /** Functions that fence under an identity other than the doctor's. Absent if all functions share one identity. */
  readonly fencers?: readonly ExaminedFunction[];
  /** Functions with their own roles that only read. */
  readonly readers?: readonly ExaminedFunction[];
  /** Absent outside a deployed function. */
  readonly testChain?: TestChain;
}

/** Calls `make` once and caches the result. After a failure, the next call tries again. */
export const memoized = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
};

/** Returns the clusters, and a function that opens the reads of a cluster at the first use. */
export const clustersOf = <C extends Pick<OpenCluster, 'cluster' | 'aftermath'>>(openClusters: readonly C[]) => ({
  openClusters,
  aftermath: async (name: string): Promise<ReadAftermath | null> =>
    (await openClusters.find(({ cluster }) => cluster.name === name)?.aftermath()) ?? null,
});

/**
 * Returns the keeper of incidents of an install, or nothing if the install has no storage for them. `open` is called
 * with the first incident.
 */
export const incidentsAt = <P>(
  place: P | null,
  open: (place: P) => Promise<TellingKeeper>,
): { readonly incidents?: TellingKeeper } =>
  place === null ? {} : { incidents: lazyIncidentKeeper(memoized(() => open(place))) };

/** Returns a keeper of incidents whose code is loaded with the first incident, because most events cause none. */
const lazyIncidentKeeper = (keeper: () => Promise<TellingKeeper>): TellingKeeper => ({
  objects: {
    read: async (...asked) => (await keeper()).objects.read(...asked),
    write: async (...asked) => (await keeper()).objects.write(...asked),
    remove: async (...asked) => (await keeper()).objects.remove(...asked),
    list: async (...asked) => (await keeper()).objects.list(...asked),
  },
  announce: async (...announcement) => (await keeper()).announce(...announcement),
});
