import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { announcementsOf } from '../../../incidents/announcement.ts';
import { parseIncident } from '../../../incidents/incident.ts';
import { CloudfenceError } from '../../../fencing/model/errors.ts';
import { openAzure } from '../../../providers/azure/plugin/open.ts';
import { createIncidentKeeper } from '../../../providers/azure/incidents.ts';
import { createSender, lazyCredential } from '../../../providers/azure/rest.ts';
import { patient, prefix, subscription } from '../../sandbox/azure/azure-world.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';

/** For which service each call asks for its token. A service rejects a token for another one. */

let identities: StandIn;
const resources: (string | null)[] = [];

/** https://learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference */
beforeAll(async () => {
  identities = await openStandIn(({ url }) => {
    resources.push(new URL(url, 'http://identities').searchParams.get('resource'));
    return { status: 400, body: { statusCode: 400, message: 'no identity' } };
  });
});
beforeEach(() => {
  vi.stubEnv('AZURE_TOKEN_CREDENTIALS', 'ManagedIdentityCredential');
  vi.stubEnv('IDENTITY_ENDPOINT', identities.url);
  vi.stubEnv('IDENTITY_HEADER', 'secret');
});
afterEach(() => {
  vi.unstubAllEnvs();
  resources.splice(0);
});
afterAll(() => identities.close());

const CHINA = 'https://management.chinacloudapi.cn';
const machine = `${prefix}/virtualmachines/db-0`;
const aks = { name: 'blue', aks: { resourceGroup: 'rg' } };

const keeper = () =>
  createIncidentKeeper(
    {
      container: 'https://incidents.blob.core.windows.net/incidents',
      topic: 'https://t.eventgrid.azure.net/api/events',
    },
    { credential: lazyCredential() },
  );

/** The first message about the fence of an example. */
const tell = async () => {
  const text = readFileSync(new URL('../../incidents/examples/fence.json', import.meta.url), 'utf8');
  const incident = parseIncident(text);
  const [announcement] = incident ? announcementsOf(null, incident) : [];
  if (!announcement) throw new Error('no message is about the example');
  return keeper().announce(announcement, patient());
};

it.each([
  ['a look', 'https://management.azure.com', () => openAndLook(null)],
  ['a look in a sovereign cloud', CHINA, () => openAndLook(CHINA)],
  ['the access to a cluster', 'https://management.azure.com', () => openCluster(null)],
  ['the access to a cluster in a sovereign cloud', CHINA, () => openCluster(CHINA)],
  ['a message to a queue', 'https://servicebus.azure.net', () => send()],
  ['an incident', 'https://storage.azure.com', () => keeper().objects.read('i', patient())],
  ['a message about an incident', 'https://eventgrid.azure.net', () => tell()],
])('%s asks for a token for %s', async (_, resource, call) => {
  await expect(call()).rejects.toBeInstanceOf(CloudfenceError);
  expect(new Set(resources)).toEqual(new Set([resource]));
});

const openAndLook = async (endpoint: string | null) => {
  const { cloud } = await openAzure({ subscription, endpoint });
  return cloud.look([machine], { disks: false }, patient());
};

const openCluster = async (endpoint: string | null) => {
  const { access } = await openAzure({ subscription, endpoint });
  return access.managedCluster(aks, patient());
};

const send = () =>
  createSender({ host: 'my-bus.servicebus.windows.net', credential: lazyCredential() })('events', {
    text: '{}',
    notBefore: null,
    properties: {},
  });
