import type { SeededRandom } from './seeded-random.ts';
import type { Engine } from './engine.ts';
import type { Process } from './process.ts';

/** What may happen to a call on its way. */
export type CallFault =
  /** The server rejects the call before it does anything. */
  | 'throttled'
  | 'server-error'
  /** The server does not know the credentials, for example for a moment after a key was rotated. */
  | 'denied'
  /** The request never arrives. */
  | 'request-lost'
  /** The call takes effect, and its answer never arrives. */
  | 'answer-lost'
  /** The request and the answer take time. */
  | 'slow'
  /** A cloud gives an answer that was true a moment ago. */
  | 'stale'
  /** A cloud does not know a machine that exists. */
  | 'not-found';

export type Service = 'kubernetes' | 'cloud' | 'queue';

/** A period in which calls to a service may fail in one way. */
export interface FaultPeriod {
  readonly fault: CallFault;
  readonly service: Service;
  readonly from: number;
  readonly until: number;
  /** The share of the calls that fail. */
  readonly share: number;
}

/** The terms of the assumption in docs/safety.md (ms). */
export interface Assumption {
  /** How old the answer of a cloud may be. */
  readonly staleness: number;
  /** How long a call may take until it takes effect. */
  readonly transit: number;
  /** The shortest time from a start until the kubelet posts its new boot. */
  readonly bootToPost: number;
  /** The shortest time from a start until the kubelet begins to mount a disk. */
  readonly bootToMount: number;
}

export interface Call<T> {
  readonly service: Service;
  /** The method or the command. */
  readonly name?: string;
  readonly signal: AbortSignal | undefined;
  /** A call with a permit takes at most as long as the assumption says. */
  readonly isWrite: boolean;
  /** The errors of the server itself. */
  readonly throttled: () => Error;
  readonly failed: () => Error;
  readonly denied: () => Error;
  /**
   * Takes effect at the server. `age` is how old the answer of a read may be (ms). `hides`: the answer omits the
   * machine.
   */
  readonly arrives: (age: number, hides: boolean) => T;
}

export interface Network {
  readonly call: <T>(process: Process, call: Call<T>) => Promise<T>;
}

const QUICK_MS = { least: 4, most: 60 } as const;
const SLOW_MS = { least: 400, most: 6_000 } as const;
/** Clients give up after this time. */
const CLIENT_TIMEOUT_MS = 10_000;

interface Surroundings {
  readonly engine: Engine;
  readonly random: SeededRandom;
  readonly faultPeriods: readonly FaultPeriod[];
  readonly assumption: Assumption;
  readonly note: (fault: CallFault) => void;
}

export const createNetwork = ({ engine, random, faultPeriods, assumption, note }: Surroundings): Network => {
  const coming = faultPeriods.toSorted((a, b) => b.from - a.from);
  let present: readonly FaultPeriod[] = [];
  const faultOf = (service: Service): CallFault | null => {
    const now = engine.now();
    for (let next = coming.at(-1); next && next.from <= now; next = coming.at(-1)) {
      present = [...present.filter(({ until }) => until > now), next];
      coming.pop();
    }
    for (const one of present)
      if (one.service === service && now < one.until && random.chance(one.share)) return one.fault;
    return null;
  };
  const takes = (fault: CallFault | null): number =>
    fault === 'slow' ? random.between(SLOW_MS.least, SLOW_MS.most) : random.between(QUICK_MS.least, QUICK_MS.most);
  const call = <T>(
    process: Process,
    { service, signal, isWrite, throttled, failed, denied, arrives }: Call<T>,
  ): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const fault = faultOf(service);
      if (fault) note(fault);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      const answer = (ms: number, settle: () => void): void =>
        engine.after(ms, () => process.notice(settle), 'answers');
      const there = isWrite ? Math.min(takes(fault), assumption.transit) : takes(fault);
      if (fault === 'request-lost') return answer(CLIENT_TIMEOUT_MS, () => reject(new Error('socket hang up')));
      engine.after(there, () => {
        if (fault === 'throttled') return answer(takes(null), () => reject(throttled()));
        if (fault === 'denied') return answer(takes(null), () => reject(denied()));
        if (fault === 'server-error') return answer(takes(null), () => reject(failed()));
        const age = fault === 'stale' ? random.between(0, assumption.staleness) : 0;
        try {
          const result = arrives(age, fault === 'not-found');
          if (fault === 'answer-lost') answer(CLIENT_TIMEOUT_MS - there, () => reject(new Error('socket hang up')));
          else answer(takes(fault), () => resolve(result));
        } catch (error) {
          answer(takes(fault), () => reject(error));
        }
      });
    });
  return { call };
};
