import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import type { StandIn } from './stand-in.ts';

/** Virtual time for all timers, also for those of `AbortSignal.timeout`, which no fake timers replace. */
export const useVirtualTime = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const late = new AbortController();
    setTimeout(() => late.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')), ms);
    return late.signal;
  });
};

export const useRealTime = (): void => {
  vi.restoreAllMocks();
  vi.useRealTimers();
};

/** Long enough for a request on a local socket. */
const MOST_TURNS = 10_000;

/** Waits until this many requests have arrived. */
export const arrival = async ({ asked }: StandIn, requests: number): Promise<void> => {
  for (let turn = 0; turn < MOST_TURNS && asked.length < requests; turn += 1) await nextTurn();
  expect(asked).toHaveLength(requests);
};

/** Whether the promise ends within this virtual time (ms), with all that happens on sockets meanwhile. */
export const endsWithin = async (ms: number, promise: Promise<unknown>): Promise<boolean> => {
  const state = { isOver: false };
  const end = (): void => {
    state.isOver = true;
  };
  void promise.then(end, end);
  for (let passed = 0; passed < ms && !state.isOver; passed += 100) {
    await vi.advanceTimersByTimeAsync(100);
    for (let turn = 0; turn < 20 && !state.isOver; turn += 1) await nextTurn();
  }
  return state.isOver;
};
