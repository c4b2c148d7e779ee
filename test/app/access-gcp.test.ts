import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { gcpAccess } from '../../providers/gcp/plugin/access.ts';
import { connectCluster } from '../../app/connect-cluster.ts';
import { FENCE_TOKEN } from '../contract/cluster/sandbox-harness.ts';
import { unhurried } from '../contract/cluster/harness.ts';
import { openStandIn, type StandIn } from '../providers/stand-in.ts';
import { base64, identitiesIn, entryIn, known, kubeconfigOf, openApi } from './access-server.ts';

/** From an entry of the configuration to an answer of the API server, over real sockets. */

let apiServer: KubernetesServer;
let google: StandIn;
beforeAll(async () => {
  apiServer = await openApi();
  google = await openStandIn(({ url }) =>
    url.includes('/secrets/')
      ? { body: { payload: { data: base64(kubeconfigOf(apiServer, { token: FENCE_TOKEN })) } } }
      : {
          body: {
            endpoint: new URL(apiServer.url).host,
            masterAuth: { clusterCaCertificate: base64(apiServer.caData) },
          },
        },
  );
});
afterAll(() => Promise.all([apiServer.close(), google.close()]));

const access = () => gcpAccess({ endpoint: google.url });
const GKE = '{ name: blue, gke: { location: europe-west1, project: my-project } }';

describe('a cluster on Google Cloud that the configuration names', () => {
  it('by a kubeconfig in Secret Manager works', async () => {
    expect(await identitiesIn('{ name: blue, secretManager: { secret: projects/p/secrets/kube } }', access())).toEqual(
      known,
    );
    expect(google.asked.at(-1)?.url).toBe('/v1/projects/p/secrets/kube/versions/latest:access');
  });

  it('is asked for again if Secret Manager is busy for a moment', async () => {
    let answers = 0;
    const busy = await openStandIn(() => {
      answers += 1;
      const data = base64(kubeconfigOf(apiServer, { token: FENCE_TOKEN }));
      return answers < 2 ? { status: 503 } : { body: { payload: { data } } };
    });
    const entry = '{ name: blue, secretManager: { secret: projects/p/secrets/kube } }';
    expect(await identitiesIn(entry, gcpAccess({ endpoint: busy.url }))).toEqual(known);
    await busy.close();
  });

  it('by GKE accepts a Google token, over the certificate that the container API returns', async () => {
    const ways = access();
    const withToken: typeof ways = {
      ...ways,
      managedCluster: async (entry, signal) => ({
        ...(await ways.managedCluster(entry, signal)),
        token: async () => FENCE_TOKEN,
      }),
    };
    expect(await identitiesIn(GKE, withToken)).toEqual(known);
    expect(google.asked.at(-1)?.url).toBe('/v1/projects/my-project/locations/europe-west1/clusters/blue');
  });

  it.each(['{ name: blue, aks: { resourceGroup: rg } }', '{ name: blue, keyVault: { vault: v, secret: s } }'])(
    'is not %s',
    async (entry) => {
      await expect(connectCluster(entryIn(entry), access(), unhurried())).rejects.toThrow(
        /gcp does not provide the access/,
      );
    },
  );
});
