import { Throttled, Unavailable } from '../model/errors.ts';
import type { MachineFacts, MachineId } from '../model/machine.ts';
import type { Ports, SharedLooks } from './ports.ts';
import type { Observation } from './state.ts';

/**
 * Looks at machines for all runs of one occasion. Where one call answers for many machines, the looks that come while
 * another one is under way wait for it, and then go out as one. A run that is alone never waits.
 */

interface WaitingLook {
  readonly machine: MachineId;
  readonly disks: boolean;
  readonly signal: AbortSignal;
  readonly resolve: (seen: Observation<MachineFacts>) => void;
  readonly reject: (error: unknown) => void;
  /** How often the cloud has throttled it. */
  throttles: number;
}

type LookPorts = Pick<Ports, 'cloud' | 'clock' | 'signal'>;

/** Asks for several machines in one call. The time is noted right before, because the age of a proof counts from it. */
export const lookAtAll = async (
  machines: readonly MachineId[],
  disks: boolean,
  { cloud, clock, signal }: LookPorts,
): Promise<ReadonlyMap<MachineId, Observation<MachineFacts>>> => {
  const askedAt = clock.now();
  const facts = await cloud.look([...new Set(machines)], { disks }, signal);
  const gotAt = clock.now().mono;
  return new Map(facts.map((says) => [says.machine, { says, askedAt, gotAt }]));
};

const missingFrom = (machine: MachineId): Unavailable =>
  new Unavailable(`the response of the cloud does not contain ${machine}`);

const lookAlone = async (machine: MachineId, disks: boolean, ports: LookPorts): Promise<Observation<MachineFacts>> => {
  const seen = (await lookAtAll([machine], disks, ports)).get(machine);
  if (!seen) throw missingFrom(machine);
  return seen;
};

/** @throws what the cloud's one answer throws, for all of them */
const lookTogether = async (batch: readonly WaitingLook[], ports: LookPorts): Promise<void> => {
  const machines = batch.map(({ machine }) => machine);
  const seen = await lookAtAll(machines, batch[0]?.disks ?? false, ports);
  for (const { machine, resolve, reject } of batch) {
    const found = seen.get(machine);
    if (found) resolve(found);
    else reject(missingFrom(machine));
  }
};

/** One machine may have made the cloud decline the call for all, so each is asked for by itself. */
const lookOneByOne = (batch: readonly WaitingLook[], ports: LookPorts): Promise<unknown> =>
  Promise.all(
    batch.map(({ machine, disks, resolve, reject }) => lookAlone(machine, disks, ports).then(resolve, reject)),
  );

/** How often a look is asked again after the cloud has throttled it. Then the run hears of it, and does what it does. */
const MOST_THROTTLES = 4;

/**
 * Times (ms) between two calls. The more runs there are, the longer the next call waits for company. After the cloud has
 * throttled a call, the time doubles, and each success shortens it again.
 */
const REST_PER_RUN_MS = 100;
const LONGEST_COMPANY_MS = 500;
const FIRST_REST_MS = 250;
const LONGEST_REST_MS = 4_000;
const SHORTER = 0.75;

const restForCompany = (runs: number): number => Math.min(LONGEST_COMPANY_MS, Math.max(0, runs - 1) * REST_PER_RUN_MS);

const restAfterThrottle = (rest: number): number => Math.min(LONGEST_REST_MS, Math.max(FIRST_REST_MS, rest * 2));

/** The most machines in one call. */
const AT_ONCE = 100;

/** The looks of one place, with disks or without. One call is under way at a time. */
interface Place {
  waiting: readonly WaitingLook[];
  isWorking: boolean;
  /** Time (ms) until the next call. */
  rest: number;
}

const takeBatch = (place: Place): readonly WaitingLook[] => {
  const wanted = place.waiting.filter(({ signal }) => !signal.aborted);
  place.waiting = wanted.slice(AT_ONCE);
  return wanted.slice(0, AT_ONCE);
};

const askAgain = (place: Place, batch: readonly WaitingLook[], error: Throttled): void => {
  place.rest = restAfterThrottle(place.rest);
  for (const one of batch) one.throttles += 1;
  for (const { reject } of batch.filter(({ throttles }) => throttles > MOST_THROTTLES)) reject(error);
  place.waiting = [...batch.filter(({ throttles }) => throttles <= MOST_THROTTLES), ...place.waiting];
};

interface SharingPorts extends LookPorts {
  /** Returns how many runs share the looks now. */
  readonly runs: () => number;
}

const answer = async (place: Place, batch: readonly WaitingLook[], ports: SharingPorts): Promise<void> => {
  try {
    await lookTogether(batch, ports);
    place.rest = Math.max(restForCompany(ports.runs()), place.rest * SHORTER);
  } catch (error) {
    if (error instanceof Throttled) askAgain(place, batch, error);
    else if (batch.length > 1 && !(error instanceof Unavailable)) await lookOneByOne(batch, ports);
    else for (const { reject } of batch) reject(error);
  }
};

/** Rests until the next call. Whatever ends the occasion ends all looks that wait. */
const restThen = async (place: Place, { clock, signal }: LookPorts): Promise<void> => {
  try {
    if (place.rest > 0) await clock.sleep(place.rest, signal);
  } catch (error) {
    for (const { reject } of place.waiting) reject(error);
    place.waiting = [];
  }
};

/** Answers what waits. Ends in the same moment in which nothing waits, so that no look comes between. */
const work = async (place: Place, ports: SharingPorts): Promise<void> => {
  if (place.isWorking) return;
  for (;;) {
    const batch = takeBatch(place);
    place.isWorking = batch.length > 0;
    if (batch.length === 0) return;
    await answer(place, batch, ports);
    await restThen(place, ports);
  }
};

const lookAt =
  (place: Place, ports: SharingPorts): SharedLooks['look'] =>
  (machine, disks, signal) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      place.waiting = [...place.waiting, { machine, disks, signal, resolve, reject, throttles: 0 }];
      void work(place, ports);
    });

/** `runs` returns how many runs share the looks now. */
export const createSharedLooks = (ports: LookPorts, runs: () => number): SharedLooks => {
  const places = new Map<string, Place>();
  /** A look that only renews a proof does not wait for those that read disks, which may take longer. */
  const placeOf = (name: string, disks: boolean): Place => {
    const key = `${name} ${disks ? 'with' : 'without'} disks`;
    const place = places.get(key) ?? { waiting: [], isWorking: false, rest: 0 };
    places.set(key, place);
    return place;
  };
  return {
    look: (machine, disks, signal) => {
      const name = ports.cloud.placeReadAtOnce?.(machine) ?? null;
      return name === null
        ? lookAlone(machine, disks, { ...ports, signal })
        : lookAt(placeOf(name, disks), { ...ports, runs })(machine, disks, signal);
    },
  };
};
