import { DescribeInstancesCommand, DetachVolumeCommand } from '@aws-sdk/client-ec2';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';

/** An EC2 that takes each request and never answers it. */
let silent: StandIn;

beforeEach(async () => {
  silent = await openStandIn(() => new Promise(() => undefined));
});
afterEach(() => {
  vi.useRealTimers();
  return silent.close();
});

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
/** Long enough for a request on a local socket. */
const MOST_TURNS = 10_000;
const arrival = async (requests: number): Promise<void> => {
  for (let turn = 0; turn < MOST_TURNS && silent.asked.length < requests; turn += 1) await setImmediate();
  expect(silent.asked).toHaveLength(requests);
};

// Without `throwOnRequestTimeout`, the SDK only logs a warning and continues to wait.
it('a read that EC2 does not answer is sent again', async () => {
  const { reads } = ec2Clients({ region: 'eu-central-1', credentials, endpoint: silent.url });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const ended = new AbortController();
  const read = reads.send(new DescribeInstancesCommand({}), { abortSignal: ended.signal });
  await arrival(1);
  await vi.advanceTimersByTimeAsync(4_900);
  expect(silent.asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_000);
  await arrival(2);
  ended.abort();
  await expect(read).rejects.toMatchObject({ name: 'AbortError' });
});

it('a destructive call that EC2 does not answer ends, and is not sent again', async () => {
  const { writes } = ec2Clients({ region: 'eu-central-1', credentials, endpoint: silent.url });
  const { signal } = new AbortController();
  const client = writes({ check: () => undefined, through: (agent) => agent, signal });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const ended = client.send(new DetachVolumeCommand({ VolumeId: 'vol-1' })).catch((error: unknown) => error);
  await arrival(1);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await Promise.race([ended, arrival(2)])).toMatchObject({ name: 'TimeoutError' });
  expect(silent.asked).toHaveLength(1);
});
