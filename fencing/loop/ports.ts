import type { Cloud } from '../model/cloud.ts';
import type { Cluster } from '../model/cluster.ts';
import { asCloudfenceError, CloudfenceError, InvalidConfiguration, Unavailable } from '../model/errors.ts';
import type { MachineFacts, MachineId } from '../model/machine.ts';
import type { Observation, RunState, ClusterLocation } from './state.ts';
import type { CommandResult } from './reduce.ts';
import type { Command } from './command.ts';
import type { Moment } from '../rules/view.ts';

export interface Clock {
  readonly now: () => Moment;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Returns a signal that aborts after this many ms. */
  readonly timeout: (ms: number) => AbortSignal;
}

/** Looks at machines that all runs of one invocation share. */
export interface SharedLooks {
  /** Looks once, live. @throws what `Cloud.look` throws, or the reason of `signal` */
  readonly look: (machine: MachineId, disks: boolean, signal: AbortSignal) => Promise<Observation<MachineFacts>>;
}

/** Everything through which a run reaches the outside: clouds, clusters, clocks, and logs. */
export interface Ports {
  readonly cloud: Cloud;
  readonly clusters: readonly Cluster[];
  readonly clock: Clock;
  /** Aborts all calls in progress. */
  readonly signal: AbortSignal;
  /** Absent for a run that does not share its looks. */
  readonly looks?: SharedLooks;
  /** Receives each command and its result. */
  readonly observe: (command: Command, answer: CommandResult, state: RunState) => void;
}

/**
 * Rejects when the signal aborts, even if the call ignores the signal: an SDK may still wait for credentials.
 * @throws the reason of `signal`
 */
export const abortOnSignal = async <T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> => {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(signal.reason);
  signal.addEventListener('abort', giveUp);
  try {
    return await Promise.race([call(), promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
};

/**
 * Returns the error of a call. A call that was interrupted is not a fault, whatever error it throws: it may succeed
 * later. The reason of the signal says who interrupted it, if it was not the time.
 */
export const errorOfCall = (error: unknown, { aborted, reason }: AbortSignal): CloudfenceError => {
  if (!aborted || error instanceof CloudfenceError) return asCloudfenceError(error);
  if (reason instanceof CloudfenceError) return reason;
  return new Unavailable('the time limit ended before an answer arrived', { cause: error });
};

/**
 * Makes a call that ends after `ms`, even if it ignores its signal.
 * @throws Unavailable at that time, or what the call throws
 */
export const endInTime = async <T>(
  ms: number,
  { clock, signal }: Pick<Ports, 'clock' | 'signal'>,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const inFlight = new AbortController();
  const ending = AbortSignal.any([signal, inFlight.signal, clock.timeout(Math.max(0, ms))]);
  try {
    return await abortOnSignal(ending, () => call(ending));
  } catch (error) {
    throw errorOfCall(error, ending);
  } finally {
    inFlight.abort();
  }
};

/**
 * Returns half of the time (ms) that is left until the deadline. Reads that several runs share may take that long, so
 * that the runs still have time to make their own and to report the error.
 */
export const halfOf = (deadline: number, { clock }: Pick<Ports, 'clock'>): number => (deadline - clock.now().mono) / 2;

/** A kubelet that has not renewed its Lease for this long (ms) is silent. */
export const STALE_LEASE_MS = 60_000;

export const clusterAt = (location: ClusterLocation | null, { clusters }: Ports): Cluster => {
  const cluster = clusters.find(({ name }) => name === location?.cluster);
  if (!cluster) throw new InvalidConfiguration([`no cluster is named ${location?.cluster ?? '(none)'}`]);
  return cluster;
};
