import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { CloudfenceError } from '../../../fencing/model/errors.ts';
import { announcementsOf } from '../../../incidents/announcement.ts';
import { parseIncident } from '../../../incidents/incident.ts';
import { azureAccess } from '../../../providers/azure/plugin/access.ts';
import { createIncidentKeeper } from '../../../providers/azure/incidents.ts';
import { createSender, type RestOptions } from '../../../providers/azure/rest.ts';
import { base64, kubeconfigOf } from '../../app/access-server.ts';
import { patient, subscription } from '../../sandbox/azure/azure-world.ts';
import { openStandIn, type Answered, type Request } from '../stand-in.ts';

/** For which service each call asks for its token. A service rejects a token for another one. */

const CHINA = 'https://management.chinacloudapi.cn';

/** An identity that gets no token. No call gets further. */
const scopes: unknown[] = [];
afterEach(() => void scopes.splice(0));
const credential: RestOptions['credential'] = {
  getToken: async (scope) => {
    scopes.push(...[scope].flat());
    throw new Error('no identity');
  },
};

const openCluster = (endpoint: string | null) =>
  azureAccess({ credential, endpoint, subscription, now: () => 0 }).managedCluster(
    { name: 'blue', aks: { resourceGroup: 'rg' } },
    patient(),
  );

const send = () =>
  createSender({ host: 'my-bus.servicebus.windows.net', credential })('events', {
    text: '{}',
    notBefore: null,
    properties: {},
  });

const container = 'https://incidents.blob.core.windows.net/incidents';
const topic = 'https://t.westeurope-1.eventgrid.azure.net/api/events';
const keeper = createIncidentKeeper({ container, topic }, { credential });

/** The first message about the fence of an example. */
const tell = async () => {
  const text = readFileSync(new URL('../../incidents/examples/fence.json', import.meta.url), 'utf8');
  const incident = parseIncident(text);
  const [announcement] = incident ? announcementsOf(null, incident) : [];
  if (!announcement) throw new Error('no message is about the example');
  return keeper.announce(announcement, patient());
};

it.each([
  ['the access to a cluster', 'https://management.azure.com', () => openCluster(null)],
  ['the access to a cluster in a sovereign cloud', CHINA, () => openCluster(CHINA)],
  ['a message to a queue', 'https://servicebus.azure.net', () => send()],
  ['an incident', 'https://storage.azure.com', () => keeper.objects.read('i', patient())],
  ['a message about an incident', 'https://eventgrid.azure.net', () => tell()],
])('%s asks for a token for %s', async (_, resource, call) => {
  await expect(call()).rejects.toBeInstanceOf(CloudfenceError);
  expect(new Set(scopes)).toEqual(new Set([`${resource}/.default`]));
});

/** The application that represents every AKS cluster: https://learn.microsoft.com/azure/aks/kubelogin-authentication */
const AKS = '6dae42f8-4368-4678-94ff-3960e28e3630';

/** Issues tokens for AKS that last four minutes, and no others. */
const issuing = () => {
  const resources: (string | null)[] = [];
  const answer = ({ url }: Request): Answered => {
    const resource = new URL(url, 'http://identities').searchParams.get('resource');
    const nth = resources.push(resource);
    if (resource !== AKS) return { status: 400, body: { statusCode: 400, message: 'no identity' } };
    const expires_on = String(Math.floor(Date.now() / 1_000) + 240);
    return { body: { access_token: `token-${nth}`, expires_on, resource, token_type: 'Bearer' } };
  };
  return { resources, answer };
};

/** https://learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference */
it('the identity of the environment gets tokens for ARM of each cloud, and new ones for AKS in time', async () => {
  const { resources, answer } = issuing();
  const cluster = { url: 'https://203.0.113.7', caData: 'PEM' };
  const value = base64(kubeconfigOf(cluster, { exec: { command: 'kubelogin' } }));
  const [identities, arm] = await Promise.all([
    openStandIn(answer),
    openStandIn(() => ({ body: { kubeconfigs: [{ value }] } })),
  ]);
  const thread = new Worker(new URL('identity-thread.ts', import.meta.url), {
    workerData: { arm: arm.url },
    execArgv: [],
    env: {
      AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
      IDENTITY_ENDPOINT: identities.url,
      IDENTITY_HEADER: 'secret',
    },
  });
  const said: unknown[] = [];
  thread.on('message', (answered: unknown) => said.push([answered, ...new Set(resources.splice(0))]));
  expect(await once(thread, 'exit')).toEqual([0]);
  expect(said).toEqual([
    ['PermissionDenied', 'https://management.azure.com'],
    ['PermissionDenied', CHINA],
    ['token-1 token-2', AKS],
    ['token-1 token-2', AKS],
  ]);
  await Promise.all([identities.close(), arm.close()]);
});
