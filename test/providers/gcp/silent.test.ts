import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Unavailable } from '../../../fencing/model/errors.ts';
import { lazyDependencies } from '../../../functions/gcp/dependencies.ts';
import { gcpCloud } from '../../../providers/gcp/index.ts';
import { computeClients } from '../../../providers/gcp/client.ts';
import { gcpAccess } from '../../../providers/gcp/plugin/access.ts';
import { createPublisher } from '../../../providers/gcp/publish.ts';
import { AUDIENCE, CALLER } from '../../functions/gcp/install.ts';
import { patient, requestIds } from '../../sandbox/gce/gce-world.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';
import { arrival, endsWithin, useRealTime, useVirtualTime } from '../virtual-time.ts';

/** A service of Google Cloud that takes each request and never answers it. */
let silent: StandIn;

beforeEach(async () => {
  silent = await openStandIn(() => new Promise(() => undefined));
});
afterEach(() => {
  useRealTime();
  vi.unstubAllEnvs();
  return silent.close();
});

const machine = 'projects/p/zones/europe-west1-b/instances/n-1';
const secret = { name: 'blue', secretManager: { secret: 'projects/p/secrets/s', version: 'latest' } };

/** A deployed function asks for the keys of Google's tokens. */
const admitted = async () => {
  vi.stubEnv('CLOUDFENCE_SETTINGS', '{"clusters":[]}');
  vi.stubEnv('CLOUDFENCE_AUDIENCE', AUDIENCE);
  vi.stubEnv('CLOUDFENCE_CALLER', CALLER);
  vi.stubEnv('CLOUDFENCE_CERTIFICATES_URL', silent.url);
  const { letIn } = await lazyDependencies()();
  return letIn('Bearer a.b.c');
};

it.each([
  [
    'a look',
    11_000,
    () =>
      gcpCloud(computeClients({ newRequestId: requestIds(), endpoint: silent.url })).look(
        [machine],
        { disks: false },
        patient(),
      ),
  ],
  [
    'a message',
    11_000,
    () => createPublisher({ endpoint: silent.url })('projects/p/topics/t', { text: '', attributes: {} }),
  ],
  ['the access to a cluster', 25_000, () => gcpAccess({ endpoint: silent.url }).secret(secret, patient())],
  ['the check of a caller', 11_000, () => admitted()],
])('%s that is not answered ends within %i ms', async (_, ms, call) => {
  useVirtualTime();
  const ended = call().catch((error: unknown) => error);
  await arrival(silent, 1);
  expect(await endsWithin(ms, ended)).toBe(true);
  expect(await ended).toBeInstanceOf(Unavailable);
});
