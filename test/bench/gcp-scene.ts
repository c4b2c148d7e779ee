import { readFile } from 'node:fs/promises';
import { stopGuest } from '../../sandbox/gce/scenario.ts';
import { handleGce } from '../../sandbox/gce/rest.ts';
import type { GceWorld } from '../../sandbox/gce/state.ts';
import { openLiveGce } from '../cli/live-gce.ts';
import { openStandIn, type Answered, type Request } from '../providers/stand-in.ts';
import { someNodeIsFenced, type FunctionScene } from './function-scene.ts';
import { openTlsFront, trusting } from './tls-front.ts';

/**
 * A machine that has been off for two minutes, and the environment of the function on Google Cloud that has to fence
 * it.
 */

const SECRET = 'projects/sandbox-project/secrets/bench-kubeconfig';

const bodyOf = async (world: GceWorld, kubeconfig: string, { method, url, body }: Request): Promise<Answered> => {
  if (url.startsWith('/compute/')) return handleGce(world, { method, url, body: String(body) });
  // https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys
  if (url.includes('/token')) return { body: { access_token: 'bench', expires_in: 3_600, token_type: 'Bearer' } };
  // https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets.versions/access
  return { body: { name: `${SECRET}/versions/1`, payload: { data: Buffer.from(kubeconfig).toString('base64') } } };
};

const answerOf = async (...asked: Parameters<typeof bodyOf>): Promise<Answered> => ({
  ...(await bodyOf(...asked)),
  headers: { 'content-type': 'application/json; charset=UTF-8', 'metadata-flavor': 'Google' },
});

export const openGcpScene = async (): Promise<FunctionScene> => {
  const sandbox = await openLiveGce(stopGuest);
  const kubeconfig = await readFile(sandbox.kubeconfig, 'utf8');
  const standIn = await openStandIn((request) => answerOf(sandbox.world, kubeconfig, request));
  const front = await openTlsFront(standIn.url);
  return {
    machine: sandbox.scene.holder,
    isFenced: () => someNodeIsFenced(sandbox.world.parts.cluster.objects),
    environment: {
      ...(await trusting(sandbox.folder, [front])),
      CLOUDFENCE_GCP_ENDPOINT: front.url,
      // The source of the tokens of Cloud Run itself, for which a first fence waits.
      GCE_METADATA_HOST: new URL(standIn.url).host,
      METADATA_SERVER_DETECTION: 'assume-present',
      CLOUDFENCE_SETTINGS: JSON.stringify({ clusters: [{ name: 'sandbox', secretManager: { secret: SECRET } }] }),
    },
    close: async () => {
      front.close();
      await Promise.all([standIn.close(), sandbox.close()]);
    },
  };
};
