import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import type { CloudAccess } from '../../../providers/plugin.ts';
import { azure } from '../../../providers/azure/plugin/register.ts';
import { openAzure } from '../../../providers/azure/plugin/open.ts';
import { CloudfenceError } from '../../../fencing/model/errors.ts';
import { patient, prefix, subscription } from '../../sandbox/azure/azure-world.ts';

/**
 * Calls Azure with the identity of its environment. The library keeps the first identity of a process for ever, so
 * these calls have their own thread.
 */

const { arm } = z.object({ arm: z.url() }).parse(workerData);

const aks = { name: 'blue', aks: { resourceGroup: 'rg' } };

const lookAt = async (endpoint: string | null): Promise<string> => {
  const { cloud } = await openAzure({ subscription, endpoint });
  try {
    return JSON.stringify(await cloud.look([`${prefix}/virtualmachines/db-0`], { disks: false }, patient()));
  } catch (error) {
    return error instanceof CloudfenceError ? error.name : String(error);
  }
};

const twoTokens = async (access: CloudAccess): Promise<string> => {
  const { token } = await access.managedCluster(aks, patient());
  return `${await token()} ${await token()}`;
};

/** For a cluster on Azure whose machines are in another cloud. */
const ofPlugin = (): Promise<CloudAccess> => {
  const variables = new Map([['CLOUDFENCE_AZURE_ENDPOINT', arm]]);
  return azure.access({
    account: subscription,
    region: null,
    territories: [],
    variable: (name) => variables.get(name) ?? null,
  });
};

for (const ask of [
  () => lookAt(null),
  () => lookAt('https://management.chinacloudapi.cn'),
  async () => twoTokens((await openAzure({ subscription, endpoint: arm })).access),
  async () => twoTokens(await ofPlugin()),
])
  // A thread of this process has no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(await ask());
