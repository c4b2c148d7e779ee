import { handleArm } from '../../sandbox/azure/arm.ts';
import { deallocate } from '../../sandbox/azure/machines.ts';
import { addDisk, addMachine } from '../../sandbox/azure/scenario.ts';
import { diskIn, machineIn } from '../../sandbox/azure/state.ts';
import {
  apiOf,
  AZURE_DISK,
  createAzureSandbox,
  SANDBOX_SUBSCRIPTION,
  type AzureWorld,
} from '../../sandbox/azure-sandbox.ts';
import { addNodeOf, nodeNameOf } from '../../sandbox/scenes/azure-database.ts';
import type { CloudSandbox, Start } from './cloud-sandbox.ts';

export const openSandbox = (start: Start): CloudSandbox => {
  const world: AzureWorld = createAzureSandbox(start);
  return {
    world,
    addMachine: () => {
      const machine = addMachine(world, { set: 'aks-Pool-vmss' });
      addNodeOf(world, machine, { older: false });
      return machine;
    },
    nodeOf: (machine) => nodeNameOf(world, machine),
    addDisk: () => {
      const handle = diskIn(world, addDisk(world))?.armId ?? '';
      return { driver: AZURE_DISK, handle, zone: `${world.parts.azure.location}-1` };
    },
    stop: (id) => {
      const machine = machineIn(world, id);
      if (machine) deallocate(world, machine);
    },
    api: (settings) => apiOf(world, settings),
    answer: ({ method, url, headers, body }) => {
      const asked = { method, url: `http://${headers.host ?? ''}${url}`, body: String(body) };
      const { call, answer } = handleArm(world, asked);
      return { call, status: answer.status, headers: answer.headers, body: answer.body };
    },
    offStates: /PowerState\/(deallocated|stopped)/,
    environment: (url) => ({ AZURE_SUBSCRIPTION_ID: SANDBOX_SUBSCRIPTION, CLOUDFENCE_AZURE_ENDPOINT: url }),
  };
};
