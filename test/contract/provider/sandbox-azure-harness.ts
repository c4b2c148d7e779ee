import { azureCloud } from '../../../providers/azure/index.ts';
import { azureClients } from '../../../providers/azure/client.ts';
import { attach } from '../../../sandbox/azure/attachments.ts';
import { openArmServer } from '../../../sandbox/azure/arm-server.ts';
import { deallocate, remove, start } from '../../../sandbox/azure/machines.ts';
import { addDisk, addMachine, type Wanted } from '../../../sandbox/azure/scenario.ts';
import { diskIn, machineIn, type AzureCloudWorld, type Machine } from '../../../sandbox/azure/state.ts';
import { azureWorld, credential, polling, MINUTE, prefix, subscription } from '../../sandbox/azure/azure-world.ts';
import { azureProviderId, azureVolume } from './azure-names.ts';
import type { NameReuseHarness } from './name-reuse-contract.ts';
import { sandboxAzureTable } from './sandbox-azure-table.ts';

/** Another machine in place of one that is gone. Everything except its name is new. */
const successorOf = ({ name, set }: Machine): Wanted => (set ? { set: set.name } : { name });

/** A proxy between the SDK and the server. It gets the address of the server. */
export type Front = (url: string) => Promise<{ readonly url: string; readonly close: () => Promise<void> }>;

const nothingBetween: Front = async (url) => ({ url, close: async () => undefined });

/** The ARM of the sandbox over HTTP, with the unmodified SDK. `kind` is the kind of its machines. */
export const sandboxAzureHarness = async (
  kind: Wanted,
  unknownMachine: string,
  openFront: Front = nothingBetween,
): Promise<NameReuseHarness> => {
  const world = azureWorld();
  const armServer = await openArmServer(world);
  const front = await openFront(armServer.url);
  const change = async (id: string, apply: (world: AzureCloudWorld, machine: Machine) => unknown): Promise<void> => {
    const machine = machineIn(world, id);
    if (machine) apply(world, machine);
    world.advance(MINUTE);
  };
  const armId = (id: string): string => machineIn(world, id)?.armId ?? diskIn(world, id)?.armId ?? id;
  return {
    cloud: azureCloud(azureClients({ subscription, credential, endpoint: front.url, polling })),
    unknownMachine,
    unknownDisk: `${prefix}/disks/nobody`,
    machine: async () => addMachine(world, kind),
    stop: (id) => change(id, deallocate),
    start: (id) => change(id, start),
    terminate: (id) => change(id, remove),
    afterTermination: { power: 'missing', forGood: false },
    afterPowerOff: 'off-if-repeated',
    proofTable: sandboxAzureTable(world, kind),
    succeed: async (id) => {
      const former = machineIn(world, id);
      await change(id, remove);
      if (former) addMachine(world, successorOf(former));
    },
    attach: async (disk, id) => {
      const free = diskIn(world, disk);
      if (free) await change(id, (_, machine) => attach(world, free, machine));
    },
    disk: async (id) => addDisk(world, {}, id === null ? undefined : { machine: id }),
    holderOf: async (disk) => diskIn(world, disk)?.attachments[0]?.machine ?? null,
    settle: async () => world.advance(MINUTE),
    identitySourceOf: (id) => azureProviderId(armId(id)),
    attachedAs: (id) => ({
      source: 'volumeAttachment',
      driver: 'disk.csi.azure.com',
      value: machineIn(world, id)?.computerName.toLowerCase() ?? '',
    }),
    volumeOf: (id) => azureVolume(armId(id)),
    close: async () => {
      await front.close();
      await armServer.close();
    },
  };
};
