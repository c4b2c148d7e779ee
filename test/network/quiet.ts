import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

/** Waits until this process has finished everything that the last answers caused. */
export interface Quiet {
  /** Notes that something happened. */
  readonly stir: () => void;
  /** Resolves when nothing has happened for some turns of the event loop, and nothing is under way. */
  readonly settled: () => Promise<void>;
}

/** Turns of the event loop in which nothing happens. A step of a client takes a few. */
const STILL_TURNS = 10;
/** How long nothing happens (ms), in case the kernel delivers late. It only costs time: a round has no length. */
const STILL_MS = 3;

/**
 * Whether a file, a name, or a connection is being opened, read, or closed. Something that is only open does not count.
 */
const underWay = (): boolean =>
  process.getActiveResourcesInfo().some((resource) => /Req|Connect|Write|Shutdown/.test(resource));

export const quietProcess = (): Quiet => {
  let stirs = 0;
  const still = async (): Promise<boolean> => {
    const before = stirs;
    for (let turn = 0; turn < STILL_TURNS; turn += 1) {
      await nextTurn();
      if (stirs !== before || underWay()) return false;
    }
    await delay(STILL_MS);
    await nextTurn();
    return stirs === before && !underWay();
  };
  return {
    stir: () => void (stirs += 1),
    settled: async () => {
      while (!(await still())) continue;
    },
  };
};
