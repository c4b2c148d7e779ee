import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Unavailable } from '../../fencing/model/errors.ts';
import { lazyDependencies } from '../../functions/aws/dependencies.ts';
import { openStandIn, type StandIn } from '../providers/stand-in.ts';

/** A service that takes each request and never answers it. */
let silent: StandIn;

beforeAll(async () => {
  silent = await openStandIn(() => new Promise(() => undefined));
  vi.stubEnv('AWS_ENDPOINT_URL', silent.url);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('CLOUDFENCE_DEAD_LETTER_QUEUE_URL', `${silent.url}/111122223333/dead-letters`);
  vi.stubEnv('CLOUDFENCE_FENCERS', 'cloudfence-prod-sweep');
  vi.stubEnv('CLOUDFENCE_SETTINGS', '{"clusters":[]}');
});
afterAll(() => {
  vi.unstubAllEnvs();
  return silent.close();
});

describe.concurrent('a service of AWS that does not answer', () => {
  it('fails the message that was to be sent, and does not hold the function', async () => {
    const { queues } = await lazyDependencies()();
    await expect(queues.dead({ reason: 'no JSON', body: '{' })).rejects.toThrow(/requestTimeout/);
  }, 10_000);

  it('is reported by the doctor, which asked a function for its access', async () => {
    const { fencers: [fencer] = [] } = await lazyDependencies()();
    const asked = fencer?.ask({ question: 'access', machines: [] }, new AbortController().signal);
    await expect(asked).rejects.toBeInstanceOf(Unavailable);
  }, 20_000);
});
