import { readHints } from '../providers/azure/events/read-hints.ts';
import { azureCloud } from '../providers/azure/index.ts';
import { azureClients } from '../providers/azure/client.ts';
import { machinePath } from '../providers/azure/identity.ts';
import {
  type AzureParts,
  type AzureWorld,
  createAzureSandbox,
  SANDBOX_SUBSCRIPTION,
} from '../sandbox/azure-sandbox.ts';
import { openArmServer } from '../sandbox/azure/arm-server.ts';
import { deallocate, remove, start } from '../sandbox/azure/machines.ts';
import { diskIn, type Machine as VirtualMachine, machineIn, type PowerState } from '../sandbox/azure/state.ts';
import { azureDatabaseOnTwoNodes, nodeNameOf } from '../sandbox/scenes/azure-database.ts';
import { deployFunction, createPlatform } from './platform.ts';
import type { DemoCloud, RunCall, Machine, Scene } from './story.ts';

const powers: Readonly<Partial<Record<PowerState, Machine['power']>>> = { running: 'running', deallocated: 'off' };

const machine = (world: AzureWorld, id: string): Machine => {
  const known = machineIn(world, id);
  if (!known) return { state: 'deleted', power: 'gone', boot: 0 };
  const { power, provisioning, boot } = known;
  const settled = provisioning === 'Succeeded' && power !== null;
  return { state: power ?? 'unknown', power: (settled && powers[power]) || 'between', boot };
};

const change =
  (apply: (world: AzureWorld, machine: VirtualMachine) => unknown) =>
  (world: AzureWorld, id: string): void => {
    const known = machineIn(world, id);
    if (known) apply(world, known);
  };

const scene = (world: AzureWorld): Scene => {
  const { disk: volume, holder, spare } = azureDatabaseOnTwoNodes(world);
  const names = new Map([holder, spare].map((id) => [id, nodeNameOf(world, id)]));
  return { volume, holder, spare, nodeOf: (id) => names.get(id) ?? '' };
};

/** Returns a short name, such as `aks-pool-vmss_1` for an instance of a scale set. */
const shortName = (id: string): string => {
  const path = machinePath(id);
  if (path === null) return id;
  return path.kind === 'vm' ? path.name : `${path.set}_${path.instance}`;
};

/** Returns no token, because the SDK sends no token over plain HTTP. */
const credential = { getToken: async () => null };

/** Does not follow operations, because the SDK would wait in real time. */
const polling = { everyMs: 1, times: 1 } as const;

const clientsAt = (endpoint: string, inTurn: RunCall) => {
  const clients = azureClients({ subscription: SANDBOX_SUBSCRIPTION, credential, endpoint, polling });
  clients.reads.pipeline.addPolicy(
    { name: 'inTurn', sendRequest: (request, next) => inTurn(() => next(request)) },
    { afterPhase: 'Sign' },
  );
  return clients;
};

export const demoCloud: DemoCloud<AzureParts> = {
  name: 'azure',
  title: 'Azure',
  api: 'arm',
  create: createAzureSandbox,
  scene,
  machine,
  shortName,
  shortNode: (node) => node.replace(/^.*-(?=vmss)/, ''),
  showsNothing: {
    'node-gone':
      "Azure's disk driver identifies machines by Node name, so nothing identifies the machine after its Node " +
      'is deleted',
  },
  holders: (world, volume) =>
    (diskIn(world, volume)?.attachments ?? []).map((one) => ({ instance: one.machine, state: one.state })),
  violations: (world) => world.parts.azure.violations,
  stop: change(deallocate),
  destroy: change(remove),
  start: change(start),
  announcements: (world) =>
    world.parts.azure.events.map((event) => ({
      id: event.id,
      event,
      says: event.data.operationName.split('/').slice(-2).join('/'),
    })),
  sweeps: true,
  openServer: (world, arrived) => openArmServer(world, { arrived }),
  environment: (url) => ({ AZURE_SUBSCRIPTION_ID: SANDBOX_SUBSCRIPTION, CLOUDFENCE_AZURE_ENDPOINT: url }),
  connectCloud: (url, inTurn) => azureCloud(clientsAt(url, inTurn)),
  deploy: (parts) =>
    deployFunction(
      parts,
      createPlatform({ readHints, owns: (id) => machinePath(id)?.subscription === SANDBOX_SUBSCRIPTION }),
    ),
};
