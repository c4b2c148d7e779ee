import { CloudfenceError } from '../fencing/errors.ts';
import type { Clock } from './clock.ts';
import { apiExceptionIn } from './errors.ts';

const TRIES = 4;
const FIRST_PAUSE_MS = 200;
/** A server that wants to be left alone for longer gets its wish: the caller comes back, or the queue does. */
const PATIENCE_MS = 5_000;

/** `Retry-After` in ms; its date form is not used by Kubernetes. https://www.rfc-editor.org/rfc/rfc9110#field.retry-after */
const askedPause = (headers: Readonly<Record<string, string>>): number | null => {
  const seconds = Number(headers['retry-after'] ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1_000 : null;
};

/** How long to wait before the same read may be tried again, or null when it may not. */
const pauseAfter = (error: unknown, tries: number): number | null => {
  if (error instanceof CloudfenceError) return null;
  const exception = apiExceptionIn(error);
  if (exception && exception.code !== 429 && exception.code < 500) return null;
  const pause = askedPause(exception?.headers ?? {}) ?? FIRST_PAUSE_MS * 2 ** (tries - 1);
  return pause <= PATIENCE_MS ? pause : null;
};

/** Tries a read again after 429, 5xx and broken connections. Never meant for writes: whether one took effect, only a look can tell. */
export const retried = async <T>(read: () => Promise<T>, { sleep }: Pick<Clock, 'sleep'>, signal: AbortSignal): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      const pause = tries < TRIES && !signal.aborted ? pauseAfter(error, tries) : null;
      if (pause === null) throw error;
      await sleep(pause, signal);
    }
  }
};
