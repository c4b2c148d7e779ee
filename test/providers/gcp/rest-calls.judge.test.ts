import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { readGkeEndpoint, readSecret, platformAuth } from '../../../providers/gcp/plugin/access.ts';
import { createPublisher } from '../../../providers/gcp/publish.ts';
import { parseJsonOrNull } from '../../../fencing/model/json-text.ts';
import { permissionCheckOf } from '../../contract/discovery/services.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';

/** Checks the calls that providers/gcp makes without the Compute SDK against Google's own documents. */

const judged = permissionCheckOf(['container.v1', 'pubsub.v1', 'secretmanager.v1']);
const hosts = ['container.googleapis.com', 'pubsub.googleapis.com', 'secretmanager.googleapis.com'] as const;

/**
 * Incidents use the XML API, which no document of Google describes. `test/contract/incidents` has a stand-in for it.
 */
const notDescribed = ['storage.googleapis.com'];

let standIn: StandIn | undefined;
afterEach(() => standIn?.close());

const patient = (): AbortSignal => new AbortController().signal;

interface Deed {
  readonly host: (typeof hosts)[number];
  readonly id: string;
  readonly answer: object;
  readonly act: (endpoint: string) => Promise<unknown>;
}

const kept = (secret: string) => (endpoint: string) =>
  readSecret(platformAuth({ endpoint }), { endpoint }, { secret, version: 'latest' }, patient());
const payload = { name: 'projects/1/secrets/s/versions/3', payload: { data: Buffer.from('a').toString('base64') } };

const deeds: readonly Deed[] = [
  {
    host: 'container.googleapis.com',
    id: 'container.projects.locations.clusters.get',
    answer: {
      endpoint: '203.0.113.7',
      status: 'RUNNING',
      masterAuth: { clusterCaCertificate: Buffer.from('a').toString('base64') },
      controlPlaneEndpointsConfig: {
        dnsEndpointConfig: { endpoint: 'a.gke.goog', allowExternalTraffic: true },
        ipEndpointsConfig: { enabled: true, enablePublicEndpoint: true },
      },
    },
    act: (endpoint) =>
      readGkeEndpoint(
        platformAuth({ endpoint }),
        { endpoint },
        { project: 'my-project', location: 'europe-west1', cluster: 'blue' },
        patient(),
      ),
  },
  {
    host: 'secretmanager.googleapis.com',
    id: 'secretmanager.projects.secrets.versions.access',
    answer: payload,
    act: kept('projects/my-project/secrets/s'),
  },
  {
    host: 'secretmanager.googleapis.com',
    id: 'secretmanager.projects.locations.secrets.versions.access',
    answer: payload,
    act: kept('projects/my-project/locations/europe-west3/secrets/s'),
  },
  {
    host: 'pubsub.googleapis.com',
    id: 'pubsub.projects.topics.publish',
    answer: { messageIds: ['1'] },
    act: (endpoint) =>
      createPublisher({ endpoint })('projects/my-project/topics/t1', { text: 'a', attributes: { reason: 'b' } }),
  },
];

it.each(deeds)('$id is called as in Google’s document', async ({ host, id, answer, act }) => {
  let sent: unknown = null;
  standIn = await openStandIn(({ body }) => {
    sent = body.length === 0 ? null : parseJsonOrNull(String(body));
    return { body: answer };
  });
  await act(standIn.url);
  const [{ method, url } = { method: '', url: '' }] = standIn.asked;
  expect(
    judged({
      origin: `https://${host}`,
      verb: method,
      url: new URL(url, `https://${host}`),
      body: sent,
      reply: { status: 200, body: answer },
    }),
  ).toEqual({ id, faults: [] });
});

it('no other service is called: a call that no case above makes fails here', () => {
  const folder = new URL('../../../providers/gcp/', import.meta.url);
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('events'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const named = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/'(?:https:\/\/)?([a-z]+\.googleapis\.com)'/g)].map(([, host]) => host),
    ),
  );
  expect(named).toEqual(new Set([...hosts, ...notDescribed]));
});
