import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { linkFromKubeConfig, linkFromToken } from '../../../kubernetes/access.ts';
import { callClock } from '../../../kubernetes/connection.ts';
import { createCluster } from '../../../kubernetes/cluster.ts';
import type { Link } from '../../../kubernetes/exchange.ts';
import type { ClusterHarness } from '../../contract/cluster/harness.ts';
import { type Api, type Method, openApi } from '../../testbed/api.ts';
import { type ControlPlaneAccess, startBareApiServer } from '../../testbed/control-plane.ts';
import { grantCloudfence } from '../../testbed/installed.ts';

const texts = z.record(z.string(), z.string()).exactOptional();

/** Any object. Lists and errors have hardly any metadata. */
const answered = z.looseObject({
  metadata: z.looseObject({
    name: z.string().default(''),
    uid: z.string().default(''),
    resourceVersion: z.string().default(''),
    deletionTimestamp: z.string().exactOptional(),
    labels: texts,
    annotations: texts,
  }),
});

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const adminOver =
  (api: Api): ClusterHarness['admin'] =>
  async (method, path, body) => {
    const known = methods.find((name) => name === method);
    if (!known) throw new Error(`there is no method ${method}`);
    const answer = await api.call(known, path, body);
    return { status: answer.status, body: answered.parse(answer.body) };
  };

/** Only the API server runs here, so the service account for pods has to be created by the test. */
const prepare = async (api: Api): Promise<void> => {
  await grantCloudfence(api);
  await api.write('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
};

const openStage = async (linkTo: (access: ControlPlaneAccess) => Promise<Link>) => {
  const { access, stop } = await startBareApiServer(prepare);
  const api = openApi(access.server, access.ca, access.tokens.admin);
  const link = await linkTo(access);
  return {
    cluster: createCluster({ name: 'real', link, clock: callClock }),
    admin: adminOver(api),
    now: Date.now,
    close: async () => {
      await Promise.all([link.close(), api.close()]);
      await stop('remove');
    },
  };
};

export const openWithToken = () =>
  openStage(async ({ server, ca, tokens }) => linkFromToken({ server, ca, token: async () => tokens.cloudfence }));

export const openWithKubeConfig = () =>
  openStage(async ({ kubeconfigs }) => linkFromKubeConfig(await readFile(kubeconfigs.cloudfence, 'utf8'), null));
