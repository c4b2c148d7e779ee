import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { InvalidConfiguration, PermissionDenied } from '../../../fencing/model/errors.ts';
import { lazyDependencies, NOT_BEFORE } from '../../../functions/gcp/dependencies.ts';
import { openGceServer } from '../../../sandbox/gce/gce-server.ts';
import { addInstance } from '../../../sandbox/gce/scenario.ts';
import { granted } from '../../permits.ts';
import { openKeyServer, type KeyServer } from '../../providers/gcp/key-server.ts';
import { openStandIn, type Answered, type Request, type StandIn } from '../../providers/stand-in.ts';
import { useRealTime, useVirtualTime } from '../../providers/virtual-time.ts';
import { gceWorld, patient } from '../../sandbox/gce/gce-world.ts';
import { AUDIENCE, bearer, CALLER, claims, DOCTOR } from './install.ts';

/**
 * What a deployed function on Google Cloud does with its environment: whom it admits, to which topics it publishes,
 * which machines it serves, and which clusters it searches.
 */

interface Taken {
  readonly url: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const message = z.object({ messages: z.tuple([z.object({ attributes: z.record(z.string(), z.string()) })]) });
const published: Taken[] = [];
const take = ({ url, body }: Request): Answered => {
  const [{ attributes }] = message.parse(JSON.parse(String(body))).messages;
  published.push({ url, attributes });
  return {};
};

const NOW = Date.UTC(2026, 10, 21);

let keys: KeyServer;
let topics: StandIn;
beforeAll(async () => {
  [keys, topics] = await Promise.all([openKeyServer(), openStandIn(take)]);
});
beforeEach(() => {
  const variables = {
    CLOUDFENCE_SETTINGS: '{"clusters":[]}',
    CLOUDFENCE_GCP_ENDPOINT: topics.url,
    CLOUDFENCE_AUDIENCE: AUDIENCE,
    CLOUDFENCE_CALLER: CALLER,
    CLOUDFENCE_DOCTOR: DOCTOR,
    CLOUDFENCE_CERTIFICATES_URL: keys.url,
    CLOUDFENCE_AGAIN_TOPIC: 'projects/p/topics/again',
    CLOUDFENCE_DEAD_LETTER_TOPIC: 'projects/p/topics/dead-letters',
    CLOUDFENCE_PROJECTS: 'shop,bank',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
});
afterEach(() => {
  vi.unstubAllEnvs();
  useRealTime();
  published.splice(0);
});
afterAll(() => Promise.all([keys.close(), topics.close()]));

describe('a caller', () => {
  it('may push if it is the account that pushes, and ask if it is the account of the doctor', async () => {
    const { letIn, letAsk } = await lazyDependencies()();
    const [pushes, asks] = [bearer(keys), bearer(keys, { email: DOCTOR })];
    await expect(letIn(pushes)).resolves.toBeUndefined();
    await expect(letAsk(asks)).resolves.toBeUndefined();
    await expect(letIn(asks)).rejects.toBeInstanceOf(PermissionDenied);
    await expect(letAsk(pushes)).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('may still push if the process has been running for an hour', async () => {
    const { letIn } = await lazyDependencies()();
    useVirtualTime();
    await expect(letIn(bearer(keys))).resolves.toBeUndefined();
    await vi.advanceTimersByTimeAsync(3_600_000);
    await expect(letIn(bearer(keys))).resolves.toBeUndefined();
  });

  it.each([
    ['CLOUDFENCE_AUDIENCE', 'letIn'],
    ['CLOUDFENCE_CALLER', 'letIn'],
    ['CLOUDFENCE_AUDIENCE', 'letAsk'],
    ['CLOUDFENCE_DOCTOR', 'letAsk'],
  ] as const)('is rejected while %s is not set (%s)', async (missing, check) => {
    vi.stubEnv(missing, '');
    const { [check]: admit } = await lazyDependencies()();
    const email = check === 'letIn' ? CALLER : DOCTOR;
    await expect(admit(bearer(keys, { email }))).rejects.toBeInstanceOf(InvalidConfiguration);
  });

  it.each([
    ['true', true],
    ['false', false],
    ['', false],
  ])('needs no signature if Cloud Run has checked it (%j: %s)', async (behind, isAdmitted) => {
    vi.stubEnv('CLOUDFENCE_BEHIND_CLOUD_RUN', behind);
    const { letIn } = await lazyDependencies()();
    const admitted = letIn(bearer(keys).replace(/\.[^.]+$/, '.SIGNATURE_REMOVED_BY_GOOGLE'));
    expect(
      await admitted.then(
        () => true,
        () => false,
      ),
    ).toBe(isAdmitted);
  });
});

it('behind Cloud Run, a token without a signature is rejected after its expiry', async () => {
  vi.stubEnv('CLOUDFENCE_BEHIND_CLOUD_RUN', 'true');
  const { letIn } = await lazyDependencies()();
  const expired = bearer(keys, { exp: claims().iat }).replace(/\.[^.]+$/, '.SIGNATURE_REMOVED_BY_GOOGLE');
  await expect(letIn(expired)).rejects.toBeInstanceOf(PermissionDenied);
});

it('a later look goes to the topic of waiting messages with its time, and a dead letter to the other one', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW });
  const { queues } = await lazyDependencies()();
  const look = { machine: 'm', hops: 1, because: 'x', event: null, says: null, eventAt: null, record: null };
  await queues.again({ cloudfence: 'look-again', ...look, dryRun: false }, 90);
  await queues.dead({ reason: 'not JSON', body: '{' });
  expect(published).toEqual([
    { url: '/v1/projects/p/topics/again:publish', attributes: { [NOT_BEFORE]: String(NOW + 90_000) } },
    { url: '/v1/projects/p/topics/dead-letters:publish', attributes: { reason: 'not JSON' } },
  ]);
});

/** The largest value of an attribute, in bytes: https://cloud.google.com/pubsub/quotas */
const LARGEST_ATTRIBUTE = 1_024;

it('the reason of a dead letter is not longer than Pub/Sub accepts, also in letters of several bytes', async () => {
  const { queues } = await lazyDependencies()();
  await queues.dead({ reason: '\u00e9\u4e2d'.repeat(1_000), body: '{' });
  const reason = published[0]?.attributes['reason'] ?? '';
  expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(LARGEST_ATTRIBUTE);
  expect(reason).toMatch(/^(?:\u00e9\u4e2d){100,}\u00e9?$/);
});

it('a destructive call has a request id that Compute Engine accepts', async () => {
  const world = gceWorld();
  const machine = addInstance(world);
  const compute = await openGceServer(world);
  vi.stubEnv('CLOUDFENCE_GCP_ENDPOINT', compute.url);
  const { ports } = await lazyDependencies()();
  const look = () => ports.cloud.look([machine], { disks: false }, patient());
  const [facts] = await look();
  await ports.cloud.powerOff({ machine, incarnation: facts?.incarnation?.id ?? null }, granted, patient());
  world.advance(120_000);
  expect(await look()).toMatchObject([{ power: 'off' }]);
  await compute.close();
});

it('each configured cluster is searched, and fences are not only simulated', async () => {
  const clusters = ['blue', 'green'].map((name) => ({ name, secretManager: { secret: `projects/p/secrets/${name}` } }));
  vi.stubEnv('CLOUDFENCE_SETTINGS', JSON.stringify({ clusters }));
  const { ports, policy } = await lazyDependencies()();
  expect(ports.clusters.map(({ name }) => name)).toEqual(['blue', 'green']);
  expect(policy.dryRun).toBe(false);
});

it.each([
  ['20', 20],
  ['', null],
])('the number of deliveries %j is %s', async (text, deliveries) => {
  vi.stubEnv('CLOUDFENCE_DELIVERIES', text);
  expect(await lazyDependencies()()).toMatchObject({ deliveries });
});

it.each([
  ['shop,bank', 'bank', true],
  ['shop,bank', 'shop-2', false],
  ['', 'shop', false],
])('an install for the projects %j serves a machine in project %s: %s', async (projects, project, isServed) => {
  vi.stubEnv('CLOUDFENCE_PROJECTS', projects);
  const { whyNotServed } = await lazyDependencies()();
  const machine = `projects/${project}/zones/europe-west1-b/instances/n-1`;
  expect(whyNotServed({ machine, account: null, region: null }) === null).toBe(isServed);
});
