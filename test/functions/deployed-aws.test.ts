import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { lazyDependencies } from '../../functions/aws/dependencies.ts';
import type { LookAgain } from '../../functions/messages.ts';
import { addInstance } from '../../sandbox/ec2/scenario.ts';
import { ec2WorldOf } from '../providers/aws/another-world.ts';
import { twoTerritories } from '../providers/aws/two-territories.ts';
import { openStandIn, type Answered, type Request, type StandIn } from '../providers/stand-in.ts';
import { ec2World, patient } from '../sandbox/ec2/ec2-world.ts';

/**
 * What a deployed function on AWS does with its environment and its settings: to which queues it sends, which machines
 * it serves, where it asks about them, and which clusters it searches.
 */

const [home, other] = ['111122223333', '444455556666'];

/** The part of SQS that sending needs. */
const taken: object[] = [];
const sent = z.looseObject({ MessageBody: z.string().default('') });
const take = ({ headers, body }: Request): Answered => {
  const text = String(body);
  taken.push({ call: headers['x-amz-target'], ...z.looseObject({}).parse(JSON.parse(text)) });
  const { MessageBody } = sent.parse(JSON.parse(text));
  return { body: { MessageId: 'm-1', MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex') } };
};

let queues: StandIn;
const queueUrl = (name: string): string => `${queues.url}/${home}/${name}`;
const territory = { account: other, region: 'eu-west-1', role: `arn:aws:iam::${other}:role/cloudfence` };

beforeAll(async () => {
  queues = await openStandIn(take);
});
beforeEach(() => {
  const variables = {
    AWS_ENDPOINT_URL: queues.url,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'secret',
    CLOUDFENCE_ACCOUNT: home,
    CLOUDFENCE_QUEUE_URL: queueUrl('events'),
    CLOUDFENCE_DEAD_LETTER_QUEUE_URL: queueUrl('dead-letters'),
    CLOUDFENCE_SETTINGS: JSON.stringify({ clusters: [], territories: [territory] }),
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  taken.splice(0);
});
afterAll(() => queues.close());

describe('a message', () => {
  const later: LookAgain = {
    cloudfence: 'look-again',
    machine: 'i-0633ac2b0d9769723',
    hops: 1,
    because: 'stopping',
    event: 'e-1',
    says: null,
    eventAt: null,
    record: null,
    dryRun: true,
  };

  it('about a later look goes to the queue of events, with its delay', async () => {
    await (await lazyDependencies()()).queues.again(later, 90);
    expect(taken).toEqual([
      {
        call: 'AmazonSQS.SendMessage',
        QueueUrl: queueUrl('events'),
        MessageBody: JSON.stringify(later),
        DelaySeconds: 90,
      },
    ]);
  });

  it('that cannot be read goes to the queue of dead letters, with the reason', async () => {
    await (await lazyDependencies()()).queues.dead({ reason: 'not JSON', body: '{' });
    expect(taken).toEqual([
      {
        call: 'AmazonSQS.SendMessage',
        QueueUrl: queueUrl('dead-letters'),
        MessageBody: '{',
        MessageAttributes: { reason: { DataType: 'String', StringValue: 'not JSON' } },
      },
    ]);
  });

  it('that failed becomes visible again after the delay', async () => {
    await (await lazyDependencies()()).queues.postpone?.('receipt-0', 40);
    expect(taken).toEqual([
      {
        call: 'AmazonSQS.ChangeMessageVisibility',
        QueueUrl: queueUrl('events'),
        ReceiptHandle: 'receipt-0',
        VisibilityTimeout: 40,
      },
    ]);
  });
});

it.each([
  [home, 'eu-central-1', true],
  [home, 'eu-west-1', false],
  [other, 'eu-west-1', true],
  [other, 'eu-central-1', false],
])('a machine of account %s in %s is served: %s', async (account, region, isServed) => {
  const { whyNotServed } = await lazyDependencies()();
  expect(whyNotServed({ machine: 'i-0633ac2b0d9769723', account, region }) === null).toBe(isServed);
});

it('a machine of a configured territory is read there, with the role of that territory', async () => {
  const worlds = { home: ec2World(), other: ec2WorldOf('222233334444', 'eu-west-1') };
  const machine = addInstance(worlds.other);
  const { home, sts, entry, close } = await twoTerritories(worlds);
  vi.stubEnv('AWS_ENDPOINT_URL_EC2', home.url);
  vi.stubEnv('AWS_ENDPOINT_URL_STS', sts.url);
  vi.stubEnv('CLOUDFENCE_SETTINGS', JSON.stringify({ clusters: [], territories: [entry] }));
  const { ports } = await lazyDependencies()();
  expect(await ports.cloud.look([machine], { disks: false }, patient())).toMatchObject([{ machine, power: 'running' }]);
  await close();
});

it('a configured region is the region of this install, and not the region in which the function runs', async () => {
  vi.stubEnv('CLOUDFENCE_SETTINGS', JSON.stringify({ clusters: [], region: 'eu-west-3' }));
  const { whyNotServed } = await lazyDependencies()();
  const isServed = (region: string) => whyNotServed({ machine: 'i-0633ac2b0d9769723', account: home, region }) === null;
  expect([isServed('eu-west-3'), isServed('eu-central-1')]).toEqual([true, false]);
});

it('each configured cluster is searched, and fences are not only simulated', async () => {
  const clusters = ['blue', 'green'].map((name) => ({ name, parameter: `/kube/${name}` }));
  vi.stubEnv('CLOUDFENCE_SETTINGS', JSON.stringify({ clusters }));
  const { ports, policy } = await lazyDependencies()();
  expect(ports.clusters.map(({ name }) => name)).toEqual(['blue', 'green']);
  expect(policy.dryRun).toBe(false);
});

it('a measure has the time of the wall clock, because CloudWatch drops old ones', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 21) });
  const { formatMeasurements } = await lazyDependencies()();
  expect(formatMeasurements([])).toMatchObject({ _aws: { Timestamp: Date.UTC(2026, 10, 21) } });
});

it('chance differs from call to call, so that messages that failed together do not come back together', async () => {
  const { chance } = await lazyDependencies()();
  expect(new Set(Array.from({ length: 10 }, chance)).size).toBeGreaterThan(1);
});
