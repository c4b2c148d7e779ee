import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Unavailable } from '../../../fencing/model/errors.ts';
import { awsAccess } from '../../../providers/aws/plugin/access.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';
import { arrival, useRealTime, useVirtualTime } from '../virtual-time.ts';

/** A service that takes each request and never answers it. */
let silent: StandIn;

beforeEach(async () => {
  silent = await openStandIn(() => new Promise(() => undefined));
  vi.stubEnv('AWS_ENDPOINT_URL', silent.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
});
afterEach(() => {
  useRealTime();
  vi.unstubAllEnvs();
  return silent.close();
});

const limits = {
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 100, throwOnRequestTimeout: true },
  maxAttempts: 3,
};
const never = new AbortController().signal;
type Access = ReturnType<typeof awsAccess>;

const services = [
  ['EKS', ({ managedCluster }: Access, signal = never) => managedCluster({ name: 'a', eks: {} }, signal)],
  ['Secrets Manager', ({ secret }: Access, signal = never) => secret({ name: 'a', secret: 's' }, signal)],
  ['Parameter Store', ({ secret }: Access, signal = never) => secret({ name: 'a', parameter: 'p' }, signal)],
] as const;

it.each(services)('a request for the access to a cluster ends although %s does not answer', async (_, ask) => {
  await expect(ask(awsAccess('eu-central-1', limits))).rejects.toBeInstanceOf(Unavailable);
  expect(silent.asked).toHaveLength(3);
});

// Without `throwOnRequestTimeout`, the SDK only logs a warning and continues to wait.
it.each(services)('a request to %s that is not answered within seconds is sent again', async (_, ask) => {
  useVirtualTime();
  const ended = new AbortController();
  const asked = ask(awsAccess('eu-central-1'), ended.signal).catch((error: unknown) => error);
  await arrival(silent, 1);
  await vi.advanceTimersByTimeAsync(10_000);
  await arrival(silent, 2);
  ended.abort();
  expect(await asked).toBeInstanceOf(Error);
});
