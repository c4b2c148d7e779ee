import pLimit from 'p-limit';
import { expect, it } from 'vitest';
import { admitByPace, FIRST_RUNS } from '../../fencing/loop/admission.ts';

/** Runs that last until the test ends them, on a clock whose pauses are all late by the same time. */
const admitted = (runs: number, most: number) => {
  let late = 0;
  let mono = 0;
  let begun = 0;
  const ends: (() => void)[] = [];
  const pauses: (() => void)[] = [];
  const limit = pLimit(FIRST_RUNS);
  const all = Array.from({ length: runs }, () =>
    limit(() => {
      begun += 1;
      return new Promise<void>((resolve) => ends.push(resolve));
    }),
  );
  const aborted = new AbortController();
  const clock = {
    now: () => ({ wall: mono, mono }),
    timeout: () => new AbortController().signal,
    sleep: (ms: number) =>
      new Promise<void>((resolve) => {
        pauses.push(() => {
          mono += ms + late;
          resolve();
        });
      }),
  };
  const admission = admitByPace(limit, most, { clock, signal: aborted.signal });
  const settled = async () => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return {
    begun: () => begun,
    periods: async (count: number, lateMs: number) => {
      late = lateMs;
      for (let nth = 0; nth < count; nth += 1) {
        await settled();
        pauses.shift()?.();
        await settled();
      }
    },
    end: async (count: number) => {
      ends.splice(0, count).forEach((resolve) => resolve());
      await settled();
    },
    abort: () => aborted.abort(),
    admission,
    all,
  };
};

it('begins a few runs at once, and one more in each period in which the process is in time', async () => {
  const { begun, periods } = admitted(100, 8);
  await periods(0, 0);
  expect(begun()).toBe(5);
  await periods(1, 50);
  expect(begun()).toBe(6);
  await periods(9, 0);
  expect(begun()).toBe(8);
});

it('begins no run while the process is late, until most of the active ones have ended', async () => {
  const { begun, periods, end } = admitted(100, 30);
  await periods(5, 0);
  expect(begun()).toBe(10);
  await periods(1, 51);
  await end(5);
  expect(begun()).toBe(10);
  await end(1);
  expect(begun()).toBe(11);
});

it('lets two runs be active, however late the process is', async () => {
  const { begun, periods, end } = admitted(100, 30);
  await periods(20, 5_000);
  await end(4);
  expect(begun()).toBe(6);
});

it('ends when all runs have begun', async () => {
  const { periods, admission } = admitted(7, 30);
  await periods(3, 0);
  await expect(admission).resolves.toBeUndefined();
});

it('needs no pause for a few runs', async () => {
  await expect(admitted(5, 30).admission).resolves.toBeUndefined();
});

it('ends when the signal aborts, although runs wait', async () => {
  const { periods, admission, abort } = admitted(100, 30);
  abort();
  await periods(1, 0);
  await expect(admission).resolves.toBeUndefined();
});
