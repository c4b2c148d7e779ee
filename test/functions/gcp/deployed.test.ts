import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { InvalidConfiguration, PermissionDenied } from '../../../fencing/model/errors.ts';
import { lazyDependencies } from '../../../functions/gcp/dependencies.ts';
import { openKeyServer, type KeyServer } from '../../providers/gcp/key-server.ts';
import { openStandIn, type Answered, type Request, type StandIn } from '../../providers/stand-in.ts';
import { AUDIENCE, bearer, CALLER, DOCTOR } from './install.ts';

/**
 * What a deployed function on Google Cloud does with its environment: whom it admits, to which topics it publishes, and
 * which machines it serves.
 */

const published: string[] = [];
const take = ({ url }: Request): Answered => {
  published.push(url);
  return {};
};

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

it('a later look goes to the topic of waiting messages, and a dead letter to the other one', async () => {
  const { queues } = await lazyDependencies()();
  const look = { machine: 'm', hops: 1, because: 'x', event: null, says: null, eventAt: null, record: null };
  await queues.again({ cloudfence: 'look-again', ...look, dryRun: false }, 90);
  await queues.dead({ reason: 'not JSON', body: '{' });
  expect(published).toEqual(['/v1/projects/p/topics/again:publish', '/v1/projects/p/topics/dead-letters:publish']);
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
