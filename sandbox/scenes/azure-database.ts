import { AZURE_DISK, type AzureWorld } from '../azure-sandbox.ts';
import { addDisk, addMachine, type Wanted } from '../azure/scenario.ts';
import { diskIn, machineIn } from '../azure/state.ts';
import { addNode, addStatefulSet } from '../cluster/fixtures.ts';
import { settle } from '../cluster/settle.ts';

/**
 * A database with one disk, on one of two nodes in the same zone: the smallest cluster in which a dead machine matters.
 */
export interface AzureDatabaseScene {
  /** The disk, and the machine that holds it now, by their ids. */
  readonly disk: string;
  readonly holder: string;
  readonly spare: string;
}

/** Older guests read the first three groups of their id in reverse byte order. */
const swapped = (uuid: string): string => uuid.replace(/^(..)(..)(..)(..)-(..)(..)-(..)(..)/, '$4$3$2$1-$6$5-$8$7');

/** The Node of a machine has the machine's computer name. */
export const nodeNameOf = (world: AzureWorld, machine: string): string =>
  machineIn(world, machine)?.computerName.toLowerCase() ?? '';

/** The form of the cloud provider, with only the resource group in lower case. */
const providerIdOf = (armId: string): string =>
  `azure://${armId.replace(/(?<=resourceGroups\/)[^/]+/, (group) => group.toLowerCase())}`;

/** Adds a Node for a machine, even if an earlier machine had the same name. */
export const addNodeOf = (world: AzureWorld, machine: string, guest: { readonly older: boolean }): void => {
  const { armId = '', vmId = '', zone = '' } = machineIn(world, machine) ?? {};
  const name = nodeNameOf(world, machine);
  const systemUUID = guest.older ? swapped(vmId).toUpperCase() : vmId;
  addNode(world, {
    name,
    machine,
    nodeID: name,
    systemUUID,
    providerID: providerIdOf(armId),
    zone: `${world.parts.azure.location}-${zone}`,
    driver: AZURE_DISK,
  });
};

const instances: readonly Wanted[] = [{ set: 'aks-Pool-vmss' }, { set: 'aks-Pool-vmss' }];

/** By default, two instances of a scale set, one of them with an older guest. */
export const azureDatabaseOnTwoNodes = (
  world: AzureWorld,
  wanted: readonly Wanted[] = instances,
): AzureDatabaseScene => {
  const machines = wanted.map((one) => addMachine(world, one));
  machines.forEach((machine, index) => addNodeOf(world, machine, { older: index === 0 }));
  const disk = addDisk(world);
  addStatefulSet(world, {
    name: 'db',
    disks: [{ driver: AZURE_DISK, handle: diskIn(world, disk)?.armId ?? '', zone: `${world.parts.azure.location}-1` }],
  });
  settle(world);
  const holder = diskIn(world, disk)?.attachments[0]?.machine ?? '';
  return { disk, holder, spare: machines.find((machine) => machine !== holder) ?? '' };
};
