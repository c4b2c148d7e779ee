import { setTimeout as delay } from 'node:timers/promises';
import type { Testbed } from '../../testbed/testbed-at.ts';
import type { Crash } from './crash.ts';
import { clearAway, setUpCrash } from './crash.ts';
import type { Moments } from './phases.ts';
import { after, isOver, momentsIn } from './phases.ts';
import type { Remedy } from './remedies.ts';
import { watchRecovery, type Watch } from './watch.ts';

/** One recovery. All times are in seconds after the start of its remedy. */
export interface Played {
  readonly moments: Moments;
  /** When the remedy was finished. */
  readonly answered: number;
  /** How long its process took to start, if one was started. */
  readonly loaded: number | null;
}

/** How long a recovery is watched, and how often. */
export interface WatchLimits {
  readonly forMs: number;
  readonly askEc2EveryMs: number;
}

export const watchClosely: WatchLimits = { forMs: 60_000, askEc2EveryMs: 50 };
export const watchSlowly = (seconds: number): WatchLimits => ({ forMs: seconds * 1000, askEc2EveryMs: 500 });

const LOOK_EVERY_MS = 50;

const waitFor = async (watch: Watch, crash: Crash, patienceMs: number): Promise<Moments> => {
  const crashObjects = {
    former: crash.former,
    home: crash.home.name,
    refuge: crash.refuge.name,
    machine: crash.home.instance,
  };
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const moments = momentsIn(watch.seen, crashObjects);
    if (isOver(moments) || performance.now() > deadline) return moments;
    await delay(LOOK_EVERY_MS);
  }
};

const playOn = async (crash: Crash, remedy: Remedy, { forMs, askEc2EveryMs }: WatchLimits): Promise<Played> => {
  const watch = watchRecovery(crash, askEc2EveryMs);
  await crash.home.stop();
  const zero = performance.now();
  const applied = remedy(crash).then((loaded) => ({
    loaded: loaded === null ? null : loaded / 1000,
    answered: (performance.now() - zero) / 1000,
  }));
  const [{ loaded, answered }, moments] = await Promise.all([applied, waitFor(watch, crash, forMs)]);
  await watch.close();
  return { moments: after(zero, moments), answered, loaded };
};

/**
 * Creates a database, takes its machine away, applies the remedy, and watches until everything is well or the time is
 * up.
 */
export const play = async (testbed: Testbed, remedy: Remedy, patience: WatchLimits): Promise<Played> => {
  const crash = await setUpCrash(testbed);
  const played = await playOn(crash, remedy, patience);
  await clearAway(crash);
  return played;
};
