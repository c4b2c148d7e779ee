/** How long calls may take, and how often they are sent. Times in ms. */

const ANSWER_LASTS_MS = 5_000;
const READ_LASTS_MS = 10_000;

/** Of gRPC, by which the SDK counts whatever the wire. */
const UNAVAILABLE = 14;

/** A read is tried again by the SDK for some seconds: its own default is ten minutes. New for each call, for the SDK writes into it. */
export const reading = (signal: AbortSignal) => ({
  signal,
  timeout: ANSWER_LASTS_MS,
  retry: {
    retryCodes: [UNAVAILABLE],
    backoffSettings: {
      initialRetryDelayMillis: 200,
      retryDelayMultiplier: 2,
      maxRetryDelayMillis: 2_000,
      initialRpcTimeoutMillis: ANSWER_LASTS_MS,
      rpcTimeoutMultiplier: 1,
      maxRpcTimeoutMillis: ANSWER_LASTS_MS,
      totalTimeoutMillis: READ_LASTS_MS,
    },
  },
});

/** A destructive call leaves once or not at all. */
export const writing = (signal: AbortSignal) => ({ signal, timeout: ANSWER_LASTS_MS, retry: null });

/** The API answers a wait after two minutes at the latest. https://cloud.google.com/compute/docs/reference/rest/v1/zoneOperations/wait */
export const waiting = (signal: AbortSignal) => ({ signal, timeout: 130_000, retry: null });

/**
 * The SDK cancels a request that the signal ends, and yet goes on waiting for credentials that it was promised: whoever
 * gave up waits for neither.
 */
export const unlessGivenUp = async <T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> => {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([call(), promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
};
