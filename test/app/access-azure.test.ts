import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Unavailable } from '../../fencing/model/errors.ts';
import { openKubernetesServer, type KubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { azureAccess, parseApiServer } from '../../providers/azure/plugin/access.ts';
import type { CloudAccess } from '../../providers/plugin.ts';
import { connectCluster } from '../../app/connect-cluster.ts';
import { FENCE_TOKEN } from '../contract/cluster/sandbox-harness.ts';
import { unhurried } from '../contract/cluster/harness.ts';
import { openStandIn, type StandIn } from '../providers/stand-in.ts';
import { base64, identitiesIn, entryIn, known, kubeconfigOf, openApi, server } from './access-server.ts';

/** From an entry of the configuration to an answer of the API server, over real sockets. */

let apiServer: KubernetesServer;
let arm: StandIn;
beforeAll(async () => {
  apiServer = await openApi();
  arm = await openStandIn(({ url }) => {
    if (url.startsWith('/secrets/')) return { body: { value: kubeconfigOf(apiServer, { token: FENCE_TOKEN }) } };
    const user = url.includes('/managedClusters/local/') ? { token: FENCE_TOKEN } : { exec: { command: 'kubelogin' } };
    return { body: { kubeconfigs: [{ value: base64(kubeconfigOf(apiServer, user)) }] } };
  });
});
afterAll(() => Promise.all([apiServer.close(), arm.close()]));

/** Tokens that this cluster accepts, although Azure did not issue them. */
const credential = { getToken: async () => ({ token: FENCE_TOKEN, expiresOnTimestamp: Number.MAX_SAFE_INTEGER }) };
const accessOf = (subscription: string | null): CloudAccess =>
  azureAccess({ credential, endpoint: arm.url, subscription, now: () => 0 });
const access = () => accessOf('11112222-3333-4444-8555-666677778888');

const AKS = '{ name: blue, aks: { resourceGroup: rg } }';
const vault = () => `{ name: blue, keyVault: { vault: "${arm.url}", secret: kube } }`;

describe('a cluster on Azure that the configuration names', () => {
  it('by AKS accepts an Entra token', async () => {
    expect(await identitiesIn(AKS, access())).toEqual(known);
  });

  it('by a kubeconfig in a Key Vault works without a subscription', async () => {
    expect(await identitiesIn(vault(), accessOf(null))).toEqual(known);
  });

  it('is looked up in the subscription that its entry names', async () => {
    await identitiesIn(
      '{ name: blue, aks: { cluster: green, resourceGroup: rg, subscription: 99992222-3333-4444-8555-666677778888 } }',
      access(),
    );
    expect(arm.asked.at(-1)?.url).toMatch(/^\/subscriptions\/99992222-.*\/managedClusters\/green\/list/);
  });

  it('must accept users of Entra ID', async () => {
    await expect(identitiesIn('{ name: local, aks: { resourceGroup: rg } }', access())).rejects.toThrow(
      /has no Entra ID integration/,
    );
  });

  it('is not contacted if another authority issued its certificate', async () => {
    const imposter = await openKubernetesServer(server);
    const honest = access();
    const misled: CloudAccess = {
      ...honest,
      managedCluster: async (entry, signal) => ({
        ...(await honest.managedCluster(entry, signal)),
        server: imposter.url,
      }),
    };
    await expect(identitiesIn(AKS, misled)).rejects.toBeInstanceOf(Unavailable);
    await imposter.close();
  });

  it('is not looked up without a subscription', async () => {
    await expect(connectCluster(entryIn(AKS), accessOf(null), unhurried())).rejects.toThrow(
      /set AZURE_SUBSCRIPTION_ID/,
    );
  });

  it.each(['{ name: blue, gke: { location: europe-west1, project: p } }', '{ name: blue, parameter: /kube }'])(
    'is not %s',
    async (entry) => {
      await expect(connectCluster(entryIn(entry), access(), unhurried())).rejects.toThrow(
        /azure does not provide the access/,
      );
    },
  );
});

it.each([
  '',
  'clusters: *nobody',
  `a: ${'['.repeat(5_000)}`,
  '- long text\n'.repeat(200_000),
  'clusters: []',
  'clusters: [{ cluster: { server: "http://x", certificate-authority-data: "" } }]',
])('a kubeconfig %.40j from a cloud is rejected', async (text) => {
  await expect(parseApiServer(text, 'AKS')).rejects.toThrow(Unavailable);
});
