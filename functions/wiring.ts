import type { OpenCluster } from '../config/open-clusters.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import type { OpenedCloud } from '../providers/plugin.ts';
import type { WorkItem, Queues } from './messages.ts';
import type { Measured } from './metrics.ts';

/** All that a function of ours is made of; tests hand in another. */
export interface Wiring {
  readonly ports: Omit<Ports, 'signal' | 'observe'>;
  readonly policy: Policy;
  /** Why an item is none of this install's, in words; null when it is one. */
  readonly foreign: (item: Pick<WorkItem, 'machine' | 'account' | 'region'>) => string | null;
  readonly queues: Queues;
  /** Measures as fields of a log line, in the form that this platform makes metrics of. */
  readonly measured: (measures: readonly Measured[]) => object;
  readonly newRunId: () => string;
  readonly log: (line: object) => void;
}

/** A function that fences, as the doctor asks it. */
export interface Fencer {
  readonly name: string;
  /**
   * What it answers to a question. @throws Refused where it fails as a whole; Denied, Unavailable where it cannot be
   * asked
   */
  readonly ask: (question: object, signal: AbortSignal) => Promise<unknown>;
}

/** What the doctor asks beside. */
export interface DoctorWiring extends Wiring {
  readonly kit: OpenedCloud;
  readonly opened: readonly OpenCluster[];
  /** Functions that fence as somebody else than the doctor; left out where all are one identity. */
  readonly fencers?: readonly Fencer[];
}

/** Makes it on the first call and keeps what worked; what failed is tried anew at the next. */
export const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
};
