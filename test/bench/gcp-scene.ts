import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { stopGuest } from '../../sandbox/gce/scenario.ts';
import { handleGce } from '../../sandbox/gce/rest.ts';
import type { GceWorld } from '../../sandbox/gce/state.ts';
import { openLiveGce } from '../cli/live-gce.ts';
import { someNodeIsFenced, type FunctionScene } from './function-scene.ts';
import { openTlsFront } from './tls-front.ts';

/** A machine that has been off for two minutes, and the environment of a function on Google Cloud that is to fence it. */

const SECRET = 'projects/sandbox-project/secrets/bench-kubeconfig';

const answerOf = async (world: GceWorld, kubeconfig: string, request: IncomingMessage): Promise<{ readonly status: number; readonly body: string }> => {
  const url = request.url ?? '';
  if (url.startsWith('/compute/')) return handleGce(world, { method: request.method ?? '', url, body: await text(request) });
  // https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys
  if (url.includes('/token')) return { status: 200, body: JSON.stringify({ access_token: 'bench', expires_in: 3_600, token_type: 'Bearer' }) };
  // https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets.versions/access
  return { status: 200, body: JSON.stringify({ name: `${SECRET}/versions/1`, payload: { data: Buffer.from(kubeconfig).toString('base64') } }) };
};

const openDoor = async (world: GceWorld, kubeconfig: string) => {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, body } = await answerOf(world, kubeconfig, request);
    response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8', 'metadata-flavor': 'Google' }).end(body);
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { host: `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, close };
};

export const openGcpScene = async (): Promise<FunctionScene> => {
  const sandbox = await openLiveGce(stopGuest);
  const door = await openDoor(sandbox.world, await readFile(sandbox.kubeconfig, 'utf8'));
  const front = await openTlsFront(`http://${door.host}`);
  const trusted = path.join(sandbox.folder, 'trusted.pem');
  await writeFile(trusted, front.ca);
  return {
    machine: sandbox.scene.holder,
    isFenced: () => someNodeIsFenced(sandbox.world.parts.cluster.objects),
    environment: {
      NODE_EXTRA_CA_CERTS: trusted,
      CLOUDFENCE_GCP_ENDPOINT: front.url,
      // Where Cloud Run's own tokens come from, and so what a first fence waits for.
      GCE_METADATA_HOST: door.host,
      METADATA_SERVER_DETECTION: 'assume-present',
      CLOUDFENCE_SETTINGS: JSON.stringify({ clusters: [{ name: 'sandbox', secretManager: { secret: SECRET } }] }),
    },
    close: async () => {
      front.close();
      door.close();
      await sandbox.close();
    },
  };
};
