import { stringify } from 'yaml';
import { openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import type { CloudAccess } from '../../providers/plugin.ts';
import type { ClusterEntry } from '../../providers/cluster-entries.ts';
import { connectCluster } from '../../app/connect-cluster.ts';
import { parseConfiguration } from '../../config/configuration-text.ts';
import { adminOf, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { NODES, unhurried } from '../contract/cluster/harness.ts';

/** An API server behind a real socket, and the access to it from an entry of the configuration. */

export const server = sandboxServer();

export const openApi = async () => {
  await adminOf(server)('POST', NODES, { metadata: { name: 'here' }, spec: { providerID: 'aws:///z/i-1' } });
  return openKubernetesServer(server);
};

/** What the API server says about the Node, if it answers. */
export const known = [{ source: 'providerID', driver: null, value: 'aws:///z/i-1' }];

export const base64 = (text: string): string => Buffer.from(text).toString('base64');

export const kubeconfigOf = (apiServer: { readonly url: string; readonly caData: string }, user: object): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [
      { name: 'c', cluster: { server: apiServer.url, 'certificate-authority-data': base64(apiServer.caData) } },
    ],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user }],
  });

/** @throws InvalidConfiguration */
export const entryIn = (text: string): ClusterEntry => {
  const [entry] = parseConfiguration(`clusters: [${text}]`, 'cf.yaml').clusters;
  if (!entry) throw new Error('no entry');
  return entry;
};

export const identitiesIn = async (entry: string, access: CloudAccess) => {
  const { cluster, close } = await connectCluster(entryIn(entry), access, unhurried());
  try {
    return await cluster.identify('here', unhurried());
  } finally {
    await close();
  }
};
