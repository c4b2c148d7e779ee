import { inspect } from 'node:util';
import { connectCluster } from '../../../app/connect-cluster.ts';
import { callClock } from '../../../kubernetes/connection.ts';
import { azureAccess } from '../../../providers/azure/plugin/access.ts';
import { gcpAccess } from '../../../providers/gcp/plugin/access.ts';
import type { CloudAccess } from '../../../providers/plugin.ts';
import type { ClusterEntry } from '../../../providers/cluster-entries.ts';
import { unhurried } from '../../contract/cluster/harness.ts';
import { bytesOf, type Damage, damaged, decoded } from '../damage.ts';
import { CANARY, type Reader, type Reading } from '../judge.ts';

/** What a cloud says about a cluster, and the secrets in which it stores a kubeconfig. Nothing leaves this process. */

const server = 'https://127.0.0.1:9';

const kubeconfigOf = (user: object): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': 'Zm9v' } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  });

const stored = kubeconfigOf({ token: CANARY });
const issued = kubeconfigOf({ exec: { command: 'kubelogin', apiVersion: 'client.authentication.k8s.io/v1beta1' } });
const short = JSON.stringify({ server, ca: 'PEM', token: CANARY });

const base64 = (text: string): string => bytesOf(text).toString('base64');

/** How each service wraps a text, and the entry that reads it. */
interface Service {
  readonly cloud: 'azure' | 'gcp';
  readonly entry: ClusterEntry;
  readonly inside: readonly string[];
  readonly wrap: (text: string) => object;
}

const services: readonly Service[] = [
  {
    cloud: 'azure',
    entry: { name: 'c', aks: { resourceGroup: 'rg' } },
    inside: [issued],
    wrap: (text) => ({ kubeconfigs: [{ name: 'user', value: base64(text) }] }),
  },
  {
    cloud: 'azure',
    entry: { name: 'c', keyVault: { vault: 'vault', secret: 'kube' } },
    inside: [stored, short],
    wrap: (text) => ({ id: 'https://vault.vault.azure.net/secrets/kube', value: decoded(text) }),
  },
  {
    cloud: 'gcp',
    entry: { name: 'c', secretManager: { secret: 'projects/p/secrets/kube', version: 'latest' } },
    inside: [stored, short],
    wrap: (text) => ({ name: 'projects/p/secrets/kube', payload: { data: base64(text) } }),
  },
  {
    cloud: 'gcp',
    entry: { name: 'c', gke: { location: 'europe-west1', project: 'my-project' } },
    inside: ['{}'],
    wrap: () => ({
      endpoint: '127.0.0.1:9',
      status: 'RUNNING',
      masterAuth: { clusterCaCertificate: 'Zm9v' },
      controlPlaneEndpointsConfig: {
        dnsEndpointConfig: { endpoint: 'dns.invalid', allowExternalTraffic: false },
        ipEndpointsConfig: { enabled: true, enablePublicEndpoint: true },
      },
    }),
  },
];

/** Every other input corrupts the answer. The others corrupt the kubeconfig in a valid answer. */
const answerTo = ({ inside, wrap }: Service, damage: Damage): string =>
  damage.turn % 2 === 0
    ? damaged(
        inside.map((text) => JSON.stringify(wrap(text))),
        damage,
      )
    : JSON.stringify(wrap(damaged(inside, damage)));

const credential = {
  getToken: async () => ({ token: CANARY, expiresOnTimestamp: Number.MAX_SAFE_INTEGER }),
};

/** The token of a managed cluster comes from the platform, which does not exist here. */
const withToken = (access: CloudAccess): CloudAccess => ({
  ...access,
  managedCluster: async (entry, signal) => ({
    ...(await access.managedCluster(entry, signal)),
    token: async () => CANARY,
  }),
});

const accessTo = ({ cloud }: Service, answer: string): CloudAccess =>
  cloud === 'azure'
    ? azureAccess({
        credential,
        endpoint: null,
        subscription: '11111111-1111-1111-1111-111111111111',
        now: Date.now,
        httpClient: {
          sendRequest: async (request) => ({
            request,
            status: 200,
            headers: request.headers,
            bodyAsText: decoded(answer),
          }),
        },
      })
    : gcpAccess({
        endpoint: 'http://sandbox.invalid',
        fetch: async () =>
          new Response(bytesOf(answer), { status: 200, headers: { 'content-type': 'application/json' } }),
      });

const reached = async (service: Service, answer: string): Promise<Reading> => {
  const signal = unhurried();
  const { cluster, close } = await connectCluster(service.entry, withToken(accessTo(service, answer)), signal, {
    ...callClock,
    sleep: async () => undefined,
  });
  try {
    await cluster.identify('n', signal);
    return { outcome: 'answered', said: [] };
  } finally {
    await close();
  }
};

/** Everything that could be printed about an error, including its causes. */
const inFull = (error: unknown): string => inspect(error, { depth: 20, showHidden: true, maxStringLength: 20_000 });

export const clusterAccessReaders: readonly Reader[] = [
  {
    name: 'access to a cluster',
    share: 40,
    takes: 'json',
    turns: services.flatMap((_, at) => [at * 2, at * 2 + 1]),
    read: async (damage) => {
      const service = services[Math.floor(damage.turn / 2) % services.length];
      if (!service) return { outcome: 'nothing', said: [] };
      try {
        return await reached(service, answerTo(service, damage));
      } catch (error) {
        if (inFull(error).includes(CANARY))
          return { outcome: 'leak', said: [], wrong: [`the error holds a canary: ${inFull(error).slice(0, 2_000)}`] };
        throw error;
      }
    },
  },
];
