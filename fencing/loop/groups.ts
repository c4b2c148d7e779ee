import { Throttled, Unavailable } from '../model/errors.ts';
import type { MachineFacts, MachineId } from '../model/machine.ts';
import type { Ports, SharedLooks } from './ports.ts';
import type { Observation } from './state.ts';

/**
 * Answers requests in groups. Requests that arrive while a group is being answered form the next group. So one call
 * serves many runs, and a run that is alone never waits for others.
 */

/** A waiting request. Its caller may cancel it. */
export interface GroupMember {
  readonly signal: AbortSignal;
  readonly reject: (error: unknown) => void;
  /** The number of calls that did not answer this request. */
  tries: number;
}

/** The requests that one call answers. A group has at least one request. */
export type Group<T> = readonly [T, ...T[]];

export interface Groups<T> {
  /**
   * Queues a request for the next group. If the signal aborts, the request is rejected with the reason of the signal.
   */
  readonly add: (one: T) => void;
  /**
   * Queues a group again, before requests that arrived later. Rejects requests that have already been tried `most`
   * times.
   */
  readonly again: (group: readonly T[], most: number, error: Error) => void;
  /** Returns the waiting requests. */
  readonly waiting: () => readonly T[];
  /** Returns whether a group is being answered. */
  readonly isAnswering: () => boolean;
}

/** How a queue of requests is answered. */
interface Line<T> {
  waiting: readonly T[];
  isAnswering: boolean;
  /** The maximum number of requests in one group. */
  readonly most: number;
  /** Answers a group. If `answer` throws, all requests of the group are rejected. */
  readonly answer: (group: Group<T>) => Promise<void>;
}

const takeGroup = <T extends GroupMember>(line: Line<T>): Group<T> | null => {
  const wanted = line.waiting.filter(({ signal }) => !signal.aborted);
  line.waiting = wanted.slice(line.most);
  const [first, ...others] = wanted.slice(0, line.most);
  return first ? [first, ...others] : null;
};

/**
 * Answers all waiting requests, group by group. The loop checks for waiting requests and ends synchronously, so no
 * request can arrive in between and be lost.
 */
const work = async <T extends GroupMember>(line: Line<T>): Promise<void> => {
  if (line.isAnswering) return;
  for (;;) {
    const group = takeGroup(line);
    line.isAnswering = group !== null;
    if (!group) return;
    try {
      await line.answer(group);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
};

/** Creates an empty queue of requests. Groups are answered one at a time. */
export const createGroups = <T extends GroupMember>(
  answer: (group: Group<T>) => Promise<void>,
  most = Infinity,
): Groups<T> => {
  const line: Line<T> = { waiting: [], isAnswering: false, most, answer };
  return {
    add: (one) => {
      const { signal, reject } = one;
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason));
      line.waiting = [...line.waiting, one];
      void work(line);
    },
    again: (group, mostTries, error) => {
      for (const one of group) one.tries += 1;
      for (const { reject } of group.filter(({ tries }) => tries >= mostTries)) reject(error);
      line.waiting = [...group.filter(({ tries }) => tries < mostTries), ...line.waiting];
    },
    waiting: () => line.waiting,
    isAnswering: () => line.isAnswering,
  };
};

/**
 * Looks at machines for all runs of one invocation. If one call can read many machines, requests that arrive during a
 * call wait for its end, and are then combined into one call. A run that is alone never waits for others.
 */

interface WaitingLook extends GroupMember {
  readonly machine: MachineId;
  readonly disks: boolean;
  readonly resolve: (seen: Observation<MachineFacts>) => void;
}

type LookPorts = Pick<Ports, 'cloud' | 'clock' | 'signal'>;

/**
 * Reads several machines in one call. The time is noted right before the call, because the age of a proof counts from
 * it.
 */
export const lookAtAll = async (
  machines: readonly MachineId[],
  disks: boolean,
  { cloud, clock, signal }: LookPorts,
): Promise<ReadonlyMap<MachineId, Observation<MachineFacts>>> => {
  const requestedAt = clock.now();
  const facts = await cloud.look([...new Set(machines)], { disks }, signal);
  const receivedAt = clock.now().mono;
  return new Map(facts.map((value) => [value.machine, { value, requestedAt, receivedAt }]));
};

const missingFrom = (machine: MachineId): Unavailable =>
  new Unavailable(`the response of the cloud does not contain ${machine}`);

const lookAlone = async (machine: MachineId, disks: boolean, ports: LookPorts): Promise<Observation<MachineFacts>> => {
  const seen = (await lookAtAll([machine], disks, ports)).get(machine);
  if (!seen) throw missingFrom(machine);
  return seen;
};

const lookOneByOne = (looks: readonly WaitingLook[], ports: LookPorts): Promise<unknown> =>
  Promise.all(
    looks.map(({ machine, disks, resolve, reject }) => lookAlone(machine, disks, ports).then(resolve, reject)),
  );

/**
 * If the answer omits a machine, reads that machine in a separate call, which shows the reason. The next group does not
 * wait for these separate calls.
 * @throws what the shared call throws, for all machines of the group
 */
const lookTogether = async (group: Group<WaitingLook>, ports: LookPorts): Promise<void> => {
  const machines = group.map(({ machine }) => machine);
  const seen = await lookAtAll(machines, group[0].disks, ports);
  for (const { machine, resolve } of group) {
    const found = seen.get(machine);
    if (found) resolve(found);
  }
  const leftOut = group.filter(({ machine }) => !seen.has(machine));
  if (group.length > 1) void lookOneByOne(leftOut, ports);
  else for (const { machine, reject } of leftOut) reject(missingFrom(machine));
};

/** How often a look is tried if the cloud throttles it. After that, the run receives the error and handles it. */
const MOST_TRIES = 5;

/**
 * Pauses (ms) between two calls. With more runs, the pause is longer, so that more of them join the next call. Each
 * throttled call doubles the pause, and each success shortens it again.
 */
const REST_PER_RUN_MS = 100;
const LONGEST_COMPANY_MS = 500;
/**
 * A look with disks follows the wait for Kubernetes, so it may wait longer for others to join. With many runs, a short
 * pause is sufficient for enough of them to join.
 */
const WITH_DISKS = 6;
const LONGEST_WITH_DISKS_MS = 3_000;
const SHARED_BY_MANY_MS = 30_000;
const FIRST_REST_MS = 250;
const LONGEST_REST_MS = 4_000;
const SHORTER = 0.75;

const restForCompany = (runs: number, disks: boolean): number => {
  const rest = Math.max(0, runs - 1) * REST_PER_RUN_MS;
  if (!disks) return Math.min(LONGEST_COMPANY_MS, rest);
  return Math.min(LONGEST_WITH_DISKS_MS, rest * WITH_DISKS, SHARED_BY_MANY_MS / runs);
};

const restAfterThrottle = (rest: number): number => Math.min(LONGEST_REST_MS, Math.max(FIRST_REST_MS, rest * 2));

/** The maximum number of machines in one call. */
const AT_ONCE = 100;

interface SharingPorts extends LookPorts {
  /** Returns the number of runs that share the looks at present. */
  readonly runs: () => number;
}

/** Returns the shared looks of one scope, either with or without disks. Only one call is in progress at a time. */
const looksOfScope = (ports: SharingPorts): SharedLooks['look'] => {
  const { clock, signal: outer, runs } = ports;
  /** The pause (ms) before the next call. */
  let rest = 0;
  const answer = async (group: Group<WaitingLook>): Promise<void> => {
    try {
      await lookTogether(group, ports);
      rest = Math.max(restForCompany(runs(), group[0].disks), rest * SHORTER);
    } catch (error) {
      if (error instanceof Throttled) {
        rest = restAfterThrottle(rest);
        looks.again(group, MOST_TRIES, error);
      } else if (group.length > 1) {
        // A single machine may have caused the cloud to reject the call for all of them. A call that names a machine
        // in an impaired zone fails for the machines of all zones.
        await lookOneByOne(group, ports);
      } else for (const { reject } of group) reject(error);
    }
  };
  const looks = createGroups<WaitingLook>(async (group) => {
    await answer(group);
    // When the invocation is aborted, waiting looks are aborted, too.
    if (rest > 0) await clock.sleep(rest, outer).catch(() => undefined);
  }, AT_ONCE);
  return (machine, disks, signal) =>
    new Promise((resolve, reject) => {
      const wanted = AbortSignal.any([signal, outer]);
      looks.add({ machine, disks, signal: wanted, resolve, reject, tries: 0 });
    });
};

/** `runs` returns the number of runs that share the looks at present. */
export const createSharedLooks = (ports: LookPorts, runs: () => number): SharedLooks => {
  const looks = new Map<string, SharedLooks['look']>();
  /** Looks without disks, which renew a proof, do not wait for looks with disks, which can take longer. */
  const lookAt = (scope: string, disks: boolean): SharedLooks['look'] => {
    const key = `${scope} ${disks ? 'with' : 'without'} disks`;
    const look = looks.get(key) ?? looksOfScope({ ...ports, runs });
    looks.set(key, look);
    return look;
  };
  return {
    look: (machine, disks, signal) => {
      const scope = ports.cloud.sharedLookScope?.(machine) ?? null;
      return scope === null
        ? lookAlone(machine, disks, { ...ports, signal })
        : lookAt(scope, disks)(machine, disks, signal);
    },
  };
};
