import { DescribeInstancesCommand, DetachVolumeCommand } from '@aws-sdk/client-ec2';
import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Unavailable } from '../../../fencing/model/errors.ts';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { roleCredentials } from '../../../providers/aws/plugin/open-territories.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';
import { arrival as arrivalAt, endsWithin, useRealTime, useVirtualTime } from '../virtual-time.ts';

/** An EC2 that takes each request and never answers it. */
let silent: StandIn;

beforeEach(async () => {
  silent = await openStandIn(() => new Promise(() => undefined));
});
afterEach(() => {
  useRealTime();
  return silent.close();
});

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
const arrival = (requests: number): Promise<void> => arrivalAt(silent, requests);

// Without `throwOnRequestTimeout`, the SDK only logs a warning and continues to wait.
it('a read that EC2 does not answer is sent again', async () => {
  const { reads } = ec2Clients({ region: 'eu-central-1', credentials, endpoint: silent.url });
  useVirtualTime();
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

it('a request to STS for a role that is not answered is sent again', async () => {
  const role = { arn: 'arn:aws:iam::444455556666:role/cloudfence', externalId: null };
  const assume = roleCredentials(role, { region: 'eu-central-1', credentials, endpoint: silent.url });
  useVirtualTime();
  const assumed = assume().catch((error: unknown) => error);
  for (const nth of [1, 2, 3]) {
    await arrival(nth);
    await vi.advanceTimersByTimeAsync(5_500);
  }
  expect(await assumed).toBeInstanceOf(Unavailable);
});

it('a destructive call that EC2 does not answer ends, and is not sent again', async () => {
  const { writes } = ec2Clients({ region: 'eu-central-1', credentials, endpoint: silent.url });
  const { signal } = new AbortController();
  const client = writes({ check: () => undefined, through: (agent) => agent, signal });
  useVirtualTime();
  const ended = client.send(new DetachVolumeCommand({ VolumeId: 'vol-1' })).catch((error: unknown) => error);
  await arrival(1);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await Promise.race([ended, arrival(2)])).toMatchObject({ name: 'TimeoutError' });
  expect(silent.asked).toHaveLength(1);
});

/** A network that drops packets: a connection neither opens nor fails. */
const dropPackets = () =>
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function drop(this: Socket) {
    return Object.assign(this, { connecting: true });
  });

it('a read over a network that drops packets ends within seconds', async () => {
  useVirtualTime();
  dropPackets();
  const { reads } = ec2Clients({ region: 'eu-central-1', credentials, endpoint: silent.url });
  const ended = reads.send(new DescribeInstancesCommand({})).catch((error: unknown) => error);
  expect(await endsWithin(10_000, ended)).toBe(true);
  expect(await ended).toMatchObject({ name: 'TimeoutError' });
  expect(silent.asked).toEqual([]);
});
