import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { handleArm } from '../../sandbox/azure/arm.ts';
import { deallocate } from '../../sandbox/azure/machines.ts';
import { machineIn } from '../../sandbox/azure/state.ts';
import { SANDBOX_SUBSCRIPTION, type AzureWorld } from '../../sandbox/azure-sandbox.ts';
import { openLiveAzure } from '../cli/live-azure.ts';
import { someNodeIsFenced, type FunctionScene } from './function-scene.ts';
import { openTlsFront } from './tls-front.ts';

/** A machine that has been off for two minutes, and the environment of an app on Azure that is to fence it. */

interface Said {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const answerOf = async (world: AzureWorld, kubeconfig: string, request: IncomingMessage): Promise<Said> => {
  const url = request.url ?? '';
  // https://learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference
  if (url.startsWith('/token')) return { status: 200, body: JSON.stringify({ access_token: 'bench', expires_on: String(Math.floor(Date.now() / 1_000) + 86_400), resource: 'x', token_type: 'Bearer' }) };
  if (url.startsWith('/secrets/')) return { status: 200, body: JSON.stringify({ value: kubeconfig }) };
  if (url.startsWith('/events/messages')) return { status: 201, body: '' };
  return handleArm(world, { method: request.method ?? 'GET', url: `https://${request.headers.host ?? ''}${url}`, body: await text(request) }).answer;
};

const openDoor = async (world: AzureWorld, kubeconfig: string) => {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, body, headers = {} } = await answerOf(world, kubeconfig, request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, close };
};

export const openAzureScene = async (): Promise<FunctionScene> => {
  const sandbox = await openLiveAzure((world, holder) => {
    const machine = machineIn(world, holder);
    if (machine) deallocate(world, machine);
  });
  const door = await openDoor(sandbox.world, await readFile(sandbox.kubeconfig, 'utf8'));
  const front = await openTlsFront(door.url);
  const trusted = path.join(sandbox.folder, 'trusted.pem');
  await writeFile(trusted, front.ca);
  return {
    machine: sandbox.scene.holder,
    isFenced: () => someNodeIsFenced(sandbox.world.parts.cluster.objects),
    environment: {
      NODE_EXTRA_CA_CERTS: trusted,
      CLOUDFENCE_AZURE_ENDPOINT: front.url,
      CLOUDFENCE_BUS__fullyQualifiedNamespace: front.url,
      AZURE_SUBSCRIPTION_ID: SANDBOX_SUBSCRIPTION,
      AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
      IDENTITY_ENDPOINT: `${door.url}/token`,
      IDENTITY_HEADER: 'bench',
      CLOUDFENCE_SETTINGS: JSON.stringify({ clusters: [{ name: 'sandbox', keyVault: { vault: front.url, secret: 'bench' } }] }),
    },
    close: async () => {
      front.close();
      door.close();
      await sandbox.close();
    },
  };
};
