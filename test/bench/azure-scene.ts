import { readFile } from 'node:fs/promises';
import { handleArm } from '../../sandbox/azure/arm.ts';
import { deallocate } from '../../sandbox/azure/machines.ts';
import { machineIn } from '../../sandbox/azure/state.ts';
import { SANDBOX_SUBSCRIPTION, type AzureWorld } from '../../sandbox/azure-sandbox.ts';
import { openLiveAzure } from '../cli/live-azure.ts';
import { openStandIn, type Answered, type Request } from '../providers/stand-in.ts';
import { someNodeIsFenced, type FunctionScene } from './function-scene.ts';
import { openTlsFront, trusting } from './tls-front.ts';

/** A machine that has been off for two minutes, and the environment of the app on Azure that has to fence it. */

const answerOf = async (
  world: AzureWorld,
  kubeconfig: string,
  { method, url, headers, body }: Request,
): Promise<Answered> => {
  // https://learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference
  if (url.startsWith('/token'))
    return {
      body: {
        access_token: 'bench',
        expires_on: String(Math.floor(Date.now() / 1_000) + 86_400),
        resource: 'x',
        token_type: 'Bearer',
      },
    };
  if (url.startsWith('/secrets/')) return { body: { value: kubeconfig } };
  if (url.startsWith('/events/messages')) return { status: 201, body: '' };
  return handleArm(world, { method, url: `https://${headers.host ?? ''}${url}`, body: String(body) }).answer;
};

const groupOf = (machine: string): string => /\/resourcegroups\/([^/]+)/i.exec(machine)?.[1] ?? '';

export const openAzureScene = async (): Promise<FunctionScene> => {
  const sandbox = await openLiveAzure((world, holder) => {
    const machine = machineIn(world, holder);
    if (machine) deallocate(world, machine);
  });
  const kubeconfig = await readFile(sandbox.kubeconfig, 'utf8');
  const standIn = await openStandIn((request) => answerOf(sandbox.world, kubeconfig, request));
  const front = await openTlsFront(standIn.url);
  return {
    machine: sandbox.scene.holder,
    isFenced: () => someNodeIsFenced(sandbox.world.parts.cluster.objects),
    environment: {
      ...(await trusting(sandbox.folder, [front])),
      CLOUDFENCE_AZURE_ENDPOINT: front.url,
      CLOUDFENCE_BUS__fullyQualifiedNamespace: front.url,
      AZURE_SUBSCRIPTION_ID: SANDBOX_SUBSCRIPTION,
      CLOUDFENCE_RESOURCE_GROUPS: groupOf(sandbox.scene.holder),
      AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
      IDENTITY_ENDPOINT: `${standIn.url}/token`,
      IDENTITY_HEADER: 'bench',
      CLOUDFENCE_SETTINGS: JSON.stringify({
        clusters: [{ name: 'sandbox', keyVault: { vault: front.url, secret: 'bench' } }],
      }),
    },
    close: async () => {
      front.close();
      await Promise.all([standIn.close(), sandbox.close()]);
    },
  };
};
