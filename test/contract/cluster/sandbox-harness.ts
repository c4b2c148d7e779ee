import type { CallClock } from '../../../kubernetes/connection.ts';
import { callClock } from '../../../kubernetes/connection.ts';
import { createCluster } from '../../../kubernetes/cluster.ts';
import type { Link } from '../../../kubernetes/exchange.ts';
import { transportLink } from '../../../kubernetes/exchange.ts';
import { neededPermissions } from '../../../kubernetes/doctor.ts';
import { linkFromToken } from '../../../kubernetes/access.ts';
import { openKubernetesServer } from '../../../sandbox/cluster/api/https-server.ts';
import type { ApiServer, PolicyRule } from '../../../sandbox/cluster/api/server.ts';
import { ADMIN_TOKEN, apiServerOf } from '../../../sandbox/cluster/api/server.ts';
import { emptyCluster, storeOf } from '../../../sandbox/cluster/store.ts';
import { inProcess } from '../../sandbox/in-process.ts';
import type { ClusterHarness } from './harness.ts';

export const FENCE_TOKEN = 'fence-token';

/** The identity under test may do exactly what the published permissions allow. */
const rules: readonly PolicyRule[] = neededPermissions.map(
  ({ verb, group, resource, subresource, namespace, name }) => ({
    apiGroups: [group],
    resources: [subresource === undefined ? resource : `${resource}/${subresource}`],
    verbs: [verb],
    ...(namespace !== undefined && { namespaces: [namespace] }),
    ...(name !== undefined && { resourceNames: [name] }),
  }),
);

export const sandboxServer = (settings: Partial<ApiServer> = {}): ApiServer =>
  apiServerOf({
    store: storeOf(emptyCluster()),
    now: () => Date.UTC(2026, 10, 21, 10),
    users: { [ADMIN_TOKEN]: { name: 'admin', rules: 'all' }, [FENCE_TOKEN]: { name: 'cloudfence', rules } },
    ...settings,
  });

export const adminOf =
  (server: ApiServer): ClusterHarness['admin'] =>
  async (method, path, body) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': type };
    const answer = await inProcess(server)(
      { method, path, headers, body: body === undefined ? '' : JSON.stringify(body) },
      undefined,
    );
    return { status: answer.status, body: JSON.parse(answer.body) };
  };

const staged = (server: ApiServer, link: Link, close: () => Promise<void>) => {
  const clock: CallClock = { ...callClock, now: server.now };
  return { cluster: createCluster({ name: 'sandbox', link, clock }), admin: adminOf(server), now: server.now, close };
};

export const openInProcess = async () => {
  const server = sandboxServer();
  return staged(server, transportLink(inProcess(server), FENCE_TOKEN), async () => undefined);
};

export const openOverHttps = async () => {
  const server = sandboxServer();
  const apiServer = await openKubernetesServer(server);
  const link = linkFromToken({ server: apiServer.url, ca: apiServer.caData, token: async () => FENCE_TOKEN });
  return staged(server, link, async () => {
    await link.close();
    await apiServer.close();
  });
};
