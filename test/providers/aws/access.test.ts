import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Unavailable } from '../../../fencing/model/errors.ts';
import { awsAccess } from '../../../providers/aws/plugin/access.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';

/** A service that takes each request and never answers it. */
let silent: StandIn;

beforeEach(async () => {
  silent = await openStandIn(() => new Promise(() => undefined));
  vi.stubEnv('AWS_ENDPOINT_URL', silent.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
});
afterEach(() => {
  vi.unstubAllEnvs();
  return silent.close();
});

const limits = {
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 100, throwOnRequestTimeout: true },
  maxAttempts: 3,
};
const { managedCluster, secret } = awsAccess('eu-central-1', limits);
const never = new AbortController().signal;

it.each([
  ['EKS', () => managedCluster({ name: 'a', eks: {} }, never)],
  ['Secrets Manager', () => secret({ name: 'a', secret: 's' }, never)],
  ['Parameter Store', () => secret({ name: 'a', parameter: 'p' }, never)],
] as const)('a request for the access to a cluster ends although %s does not answer', async (_, ask) => {
  await expect(ask()).rejects.toBeInstanceOf(Unavailable);
  expect(silent.asked).toHaveLength(3);
});
