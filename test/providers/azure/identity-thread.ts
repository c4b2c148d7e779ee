import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
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

const twoTokens = async (): Promise<string> => {
  const { access } = await openAzure({ subscription, endpoint: arm });
  const { token } = await access.managedCluster(aks, patient());
  return `${await token()} ${await token()}`;
};

for (const ask of [() => lookAt(null), () => lookAt('https://management.chinacloudapi.cn'), twoTokens])
  // A thread of this process has no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(await ask());
