import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { CloudfenceError } from '../../../fencing/model/errors.ts';
import { openGcp } from '../../../providers/gcp/plugin/open.ts';
import { gcpAccess } from '../../../providers/gcp/plugin/access.ts';
import { openObjectStore } from '../../../providers/gcp/incidents.ts';
import { createPublisher } from '../../../providers/gcp/publish.ts';
import { patient, requestIds } from '../../sandbox/gce/gce-world.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';

/** How each call asks for its token. Google rejects a call whose token has a smaller scope. */

let folder: string;
let tokens: StandIn;
const scopes: (string | null)[] = [];
/** If it is set, the service calls it with each request, and never answers. */
const service: { takes: (() => void) | null } = { takes: null };

/** The token service of workload identity: https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token */
beforeAll(async () => {
  tokens = await openStandIn(({ body }) => {
    scopes.push(new URLSearchParams(String(body)).get('scope'));
    if (service.takes === null) return { status: 400, body: { error: 'invalid_grant' } };
    service.takes();
    return new Promise(() => undefined);
  });
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
  await writeFile(path.join(folder, 'subject'), 'a token of another issuer');
  const credentials = {
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: tokens.url,
    credential_source: { file: path.join(folder, 'subject') },
  };
  await writeFile(path.join(folder, 'credentials.json'), JSON.stringify(credentials));
});
beforeEach(() => vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', path.join(folder, 'credentials.json')));
afterEach(() => {
  vi.unstubAllEnvs();
  scopes.splice(0);
  service.takes = null;
});
afterAll(() => Promise.all([tokens.close(), rm(folder, { recursive: true })]));

/** Nothing answers here. No call gets this far, because it gets no token. */
const endpoint = 'https://127.0.0.1:1';
const machine = 'projects/p/zones/europe-west1-b/instances/n-1';

const calls = {
  compute: async () => {
    const { cloud } = await openGcp({ endpoint, newRequestId: requestIds() });
    return cloud.look([machine], { disks: false }, patient());
  },
  pubsub: () => createPublisher({ endpoint })('projects/p/topics/t', { text: '{}', attributes: {} }),
  'devstorage.read_write': () => openObjectStore('b', { endpoint }).read('incident', patient()),
  'cloud-platform': async () => {
    const entry = { name: 'blue', secretManager: { secret: 'projects/p/secrets/s', version: 'latest' } };
    return gcpAccess({ endpoint }).secret(entry, patient());
  },
} satisfies Readonly<Record<string, () => Promise<unknown>>>;

it.each(Object.entries(calls))('a token has the scope %s', async (scope, call) => {
  await expect(call()).rejects.toBeInstanceOf(CloudfenceError);
  expect(new Set(scopes)).toEqual(new Set([`https://www.googleapis.com/auth/${scope}`]));
});

it('a call to the store of incidents ends with its signal, even while it waits for a token', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  service.takes = resolve;
  const enough = new AbortController();
  const ended = openObjectStore('b', { endpoint })
    .read('incident', enough.signal)
    .catch((error: unknown) => error);
  await asked;
  enough.abort(new Error('enough'));
  expect(await ended).toBeInstanceOf(CloudfenceError);
}, 10_000);
