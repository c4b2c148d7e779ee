import { Throttled, Unavailable } from '../model/errors.ts';
import { createGroups, type Group, type GroupMember } from './groups.ts';
import type { MachineFacts, MachineId } from '../model/machine.ts';
import type { Ports, SharedLooks } from './ports.ts';
import type { Observation } from './state.ts';

/**
 * Looks at machines for all runs of one occasion. Where one call answers for many machines, the looks that come while
 * another one is under way wait for it, and then go out as one. A run that is alone never waits.
 */

interface WaitingLook extends GroupMember {
  readonly machine: MachineId;
  readonly disks: boolean;
  readonly resolve: (seen: Observation<MachineFacts>) => void;
}

type LookPorts = Pick<Ports, 'cloud' | 'clock' | 'signal'>;

/** Asks for several machines in one call. The time is noted right before, because the age of a proof counts from it. */
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
 * Asks for a machine that the answer leaves out by itself, which says why. The next group does not wait for that.
 * @throws what the cloud's one answer throws, for all of them
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

/** How often a look is made that the cloud throttles. Then the run hears of it, and does what it does. */
const MOST_TRIES = 5;

/**
 * Times (ms) between two calls. The more runs there are, the longer the next call waits for other runs to join it.
 * After the cloud has throttled a call, the time doubles, and each success shortens it again.
 */
const REST_PER_RUN_MS = 100;
const LONGEST_COMPANY_MS = 500;
/**
 * A look with disks comes after the wait for Kubernetes, so it may wait for others to join. With many runs, enough of them
 * join within a short pause.
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

/** The most machines in one call. */
const AT_ONCE = 100;

interface SharingPorts extends LookPorts {
  /** Returns how many runs share the looks now. */
  readonly runs: () => number;
}

/** Returns the looks of one scope, with disks or without. One call is under way at a time. */
const looksOfScope = (ports: SharingPorts): SharedLooks['look'] => {
  const { clock, signal: occasion, runs } = ports;
  /** Time (ms) until the next call. */
  let rest = 0;
  const answer = async (group: Group<WaitingLook>): Promise<void> => {
    try {
      await lookTogether(group, ports);
      rest = Math.max(restForCompany(runs(), group[0].disks), rest * SHORTER);
    } catch (error) {
      if (error instanceof Throttled) {
        rest = restAfterThrottle(rest);
        looks.again(group, MOST_TRIES, error);
      } else if (group.length > 1 && !(error instanceof Unavailable)) {
        // One machine may have made the cloud decline the call for all.
        await lookOneByOne(group, ports);
      } else for (const { reject } of group) reject(error);
    }
  };
  const looks = createGroups<WaitingLook>(async (group) => {
    await answer(group);
    // What ends the occasion ends the looks that wait, too.
    if (rest > 0) await clock.sleep(rest, occasion).catch(() => undefined);
  }, AT_ONCE);
  return (machine, disks, signal) =>
    new Promise((resolve, reject) => {
      const wanted = AbortSignal.any([signal, occasion]);
      looks.add({ machine, disks, signal: wanted, resolve, reject, tries: 0 });
    });
};

/** `runs` returns how many runs share the looks now. */
export const createSharedLooks = (ports: LookPorts, runs: () => number): SharedLooks => {
  const looks = new Map<string, SharedLooks['look']>();
  /** A look that only renews a proof does not wait for those that read disks, which may take longer. */
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
