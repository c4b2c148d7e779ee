import { gzipSync } from 'node:zlib';
import type { SeededRandom } from './seeded-random.ts';
import type { Engine } from './engine.ts';
import type { Network } from './network.ts';

/**
 * Counts the calls and answers of a storm. EC2 throttles as its documentation says. The retries of the SDK and of
 * kubernetes/connection are below the parts of both that the simulation uses, so they are played here.
 */

/** Answered calls, their bytes, and those bytes after compression. */
export interface Kind {
  readonly calls: number;
  readonly bytes: number;
  readonly sent: number;
}

/** https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html */
const BURST = 100;
const REFILL_PER_MS = 20 / 1_000;

const bucketOf = ({ now }: Engine): (() => boolean) => {
  let tokens = BURST;
  let since = 0;
  return () => {
    tokens = Math.min(BURST, tokens + (now() - since) * REFILL_PER_MS);
    since = now();
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
};

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#response-compression */
const COMPRESSED_FROM = 128 * 1_024;

/** The bytes of an answer. Objects never change, so each is measured once. */
const meterOf = () => {
  const known = new WeakMap<object, number>();
  const sizeOf = (object: object): number => {
    const measured = known.get(object) ?? JSON.stringify(object).length;
    known.set(object, measured);
    return measured;
  };
  return (answer: unknown): Omit<Kind, 'calls'> => {
    if (typeof answer !== 'object' || answer === null) return { bytes: 0, sent: 0 };
    if (!('items' in answer) || !Array.isArray(answer.items)) {
      const bytes = sizeOf(answer);
      return { bytes, sent: bytes };
    }
    const bytes = answer.items.reduce((sum: number, item: object) => sum + sizeOf(item) + 1, 100);
    const isCompressed = bytes >= COMPRESSED_FROM;
    return { bytes, sent: isCompressed ? gzipSync(JSON.stringify(answer.items), { level: 1 }).length : bytes };
  };
};

export interface Counted {
  calls: number;
  bytes: number;
  sent: number;
  declined: number;
  cloudCalls: number;
  cloudThrottles: number;
  readonly kinds: Map<string, Kind>;
}

export const nothingCounted = (): Counted => ({
  calls: 0,
  bytes: 0,
  sent: 0,
  declined: 0,
  cloudCalls: 0,
  cloudThrottles: 0,
  kinds: new Map(),
});

/** How often a client repeats a read that is throttled, and its first pause (ms). */
const RETRIES = { cloud: { tries: 3, pause: 500 }, kubernetes: { tries: 4, pause: 200 } } as const;

const isThrottledRead = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'RequestLimitExceeded' ||
    /TooManyRequests: (read|list|get)/.test(error.message + JSON.stringify(error)));

export const metered = (inner: Network, engine: Engine, random: SeededRandom, counted: Counted): Network => {
  const take = bucketOf(engine);
  const bytesOf = meterOf();
  const once: Network['call'] = (process, call) =>
    inner.call(process, {
      ...call,
      throttled: () => {
        counted.declined += 1;
        counted.calls += 1;
        return call.throttled();
      },
      arrives: (age, hides) => {
        if (call.service === 'cloud') {
          counted.cloudCalls += 1;
          if (!take()) {
            counted.cloudThrottles += 1;
            throw call.throttled();
          }
        }
        const answer = call.arrives(age, hides);
        const { bytes, sent } = call.service === 'kubernetes' ? bytesOf(answer) : { bytes: 0, sent: 0 };
        if (call.service === 'kubernetes') counted.calls += 1;
        counted.bytes += bytes;
        counted.sent += sent;
        if (call.name === undefined) return answer;
        const before = counted.kinds.get(call.name) ?? { calls: 0, bytes: 0, sent: 0 };
        counted.kinds.set(call.name, {
          calls: before.calls + 1,
          bytes: before.bytes + bytes,
          sent: before.sent + sent,
        });
        return answer;
      },
    });
  const pause = (process: Parameters<Network['call']>[0], ms: number): Promise<void> =>
    new Promise((resolve) => engine.after(ms, () => process.notice(resolve), 'answers'));
  return {
    call: async (process, call) => {
      if (call.service === 'queue' || call.isWrite) return once(process, call);
      const { tries, pause: first } = RETRIES[call.service];
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await once(process, call);
        } catch (error) {
          if (attempt >= tries || !isThrottledRead(error)) throw error;
          const most = first * 2 ** (attempt - 1);
          await pause(process, call.service === 'cloud' ? random.between(0, most) : most);
        }
      }
    },
  };
};
