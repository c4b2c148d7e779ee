import type { Cloud } from '../fencing/model/cloud.ts';
import { asCloudfenceError, ProofExpired, Refused, Unavailable } from '../fencing/model/errors.ts';
import { isPoweredOff, type MachineFacts, type MachineTarget, type Power } from '../fencing/model/machine.ts';
import { permitUntil, type Permit, PROOF_LASTS_MS } from '../fencing/model/permit.ts';
import type { Clock } from '../fencing/loop/ports.ts';
import type { DrillCloud } from './ports.ts';
import { isWorthAnotherTry } from './tools.ts';

/** Stops and starts the machine of a drill, by its exact id, and only right after a look that allows it. */

/** What the cloud says about the machine, for people. */
export const cloudSays: Readonly<Record<Power, string>> = {
  off: 'the cloud says that it is off',
  'off-if-repeated': 'the cloud says that it is off',
  stopping: 'the cloud says that it is stopping',
  starting: 'the cloud says that it is starting',
  running: 'the cloud says that it runs',
  suspended: 'the cloud says that it is suspended',
  missing: 'the cloud does not know it',
  unknown: 'the cloud does not say whether it runs',
};

export interface MachineTools {
  readonly cloud: Pick<Cloud, 'look' | 'powerOff'>;
  readonly drillCloud: Pick<DrillCloud, 'start'>;
  readonly clock: Clock;
  readonly tell: (says: string) => void;
}

const POLL_MS = 2_000;
const TRIES = 3;

/**
 * Looks at the machine.
 * @throws Refused if the name belongs to another machine now
 */
export const lookAtMachine = async (
  target: MachineTarget,
  { cloud }: Pick<MachineTools, 'cloud'>,
  signal: AbortSignal,
): Promise<MachineFacts> => {
  const [facts] = await cloud.look([target.machine], { disks: false }, signal);
  if (!facts) throw new Refused(`the cloud does not answer for ${target.machine}`);
  const now = facts.incarnation?.id ?? null;
  if (facts.power !== 'missing' && now !== target.incarnation)
    throw new Refused(`${target.machine} is another machine now (${now ?? 'without an id'})`);
  return facts;
};

/** Runs `work` again if its permit ended before the call was sent. */
const withPermit = async <T>(
  { clock }: Pick<MachineTools, 'clock'>,
  work: (permit: Permit) => Promise<T>,
): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work(permitUntil(clock.now().mono + PROOF_LASTS_MS, clock));
    } catch (error) {
      if (!(error instanceof ProofExpired) || tries >= TRIES) throw error;
    }
  }
};

/**
 * Stops the machine without a graceful shutdown, as in a failure. `confirm` checks everything once more and throws if
 * the machine must not be stopped. The call is sent within two seconds of the beginning of that look, or not at all.
 * `leaves` is called right before the request, and its result is returned.
 */
export const stopMachine = <T>(
  target: MachineTarget,
  tools: MachineTools,
  confirm: () => Promise<void>,
  leaves: () => T,
  signal: AbortSignal,
): Promise<T> =>
  withPermit(tools, async (permit) => {
    await confirm();
    permit.check();
    const left = leaves();
    await tools.cloud.powerOff(target, permit, signal);
    return left;
  });

const startOnce = (target: MachineTarget, tools: MachineTools, signal: AbortSignal): Promise<MachineFacts> =>
  withPermit(tools, async (permit) => {
    const facts = await lookAtMachine(target, tools, signal);
    if (isPoweredOff(facts) && !facts.forGood) await tools.drillCloud.start(target, permit, signal);
    return facts;
  });

/** How many looks in a row must say `running`: after a start, and for a machine whose stop may not have been sent. */
const RUNS_FOR = { asked: 2, unasked: 5 };

/** How many looks in a row must say `missing` until the machine counts as gone: one such answer may be wrong. */
const MISSING_FOR = 5;

/** The time limit for a start (ms), and a signal that ends it early. */
export interface StartLimits {
  readonly lasts: number;
  readonly signal: AbortSignal;
}

/** If a later try may succeed, reports the reason and returns null. */
const tryToStart = async (
  target: MachineTarget,
  tools: MachineTools,
  inTime: AbortSignal,
  why: (says: string) => void,
): Promise<MachineFacts | null> => {
  try {
    const facts = await startOnce(target, tools, inTime);
    if (facts.power !== 'running') why(cloudSays[facts.power]);
    return facts;
  } catch (error) {
    if (!isWorthAnotherTry(error)) throw error;
    if (!inTime.aborted) why(asCloudfenceError(error).message);
    return null;
  }
};

/**
 * Starts the machine, and waits until several looks in a row say that it runs. A start may fail after it was accepted,
 * so `starting` is not sufficient. Retries until the deadline.
 *
 * @throws Unavailable with the last answer of the cloud, PermissionDenied, Refused if the machine is gone, or the
 * reason of `signal`
 */
export const startMachine = async (
  target: MachineTarget,
  tools: MachineTools,
  { lasts, signal }: StartLimits,
): Promise<void> => {
  const { clock, tell } = tools;
  const ends = clock.now().mono + lasts;
  const inTime = AbortSignal.any([signal, clock.timeout(lasts)]);
  let [asked, running, missing, last] = [false, 0, 0, 'the cloud does not answer'];
  const why = (says: string): void => {
    if (says !== last) tell(`${target.machine} does not run yet: ${says}`);
    last = says;
  };
  while (clock.now().mono < ends && !inTime.aborted) {
    const facts = await tryToStart(target, tools, inTime, why);
    missing = facts?.power === 'missing' ? missing + 1 : 0;
    if (facts?.forGood || missing >= MISSING_FOR) throw new Refused(`${target.machine} is gone, and cannot be started`);
    asked ||= isPoweredOff(facts);
    running = facts?.power === 'running' ? running + 1 : 0;
    if (running >= (asked ? RUNS_FOR.asked : RUNS_FOR.unasked)) return;
    await clock.sleep(POLL_MS, signal);
  }
  signal.throwIfAborted();
  throw new Unavailable(`${target.machine} does not run after ${Math.round(lasts / 1_000)} s: ${last}`);
};
