import { AZURE_DISK, type AzureWorld } from '../azure-sandbox.ts';
import { addDisk, addMachine, type Wanted } from '../azure/scenario.ts';
import { diskIn, machineIn } from '../azure/state.ts';
import { addNode, addStatefulSet } from '../cluster/fixtures.ts';
import { settle } from '../cluster/settle.ts';

/**
 * A database with one disk on one of two nodes in the same zone: the smallest cluster in which a dead machine hurts.
 */
export interface AzureDatabaseScene {
  /** The disk, and the machine that holds it now, by their ids. */
  readonly disk: string;
  readonly holder: string;
  readonly spare: string;
}

/** Older guests read the first three groups of their id with the bytes the other way round. */
const swapped = (uuid: string): string => uuid.replace(/^(..)(..)(..)(..)-(..)(..)-(..)(..)/, '$4$3$2$1-$6$5-$8$7');

/** The Node of a machine bears the name of its computer. */
export const nodeNameOf = (world: AzureWorld, machine: string): string =>
  machineIn(world, machine)?.computerName.toLowerCase() ?? '';

/** As the cloud provider writes it: the resource group alone in lower case. */
const providerIdOf = (armId: string): string =>
  `azure://${armId.replace(/(?<=resourceGroups\/)[^/]+/, (group) => group.toLowerCase())}`;

/** A Node for a machine, also for one that bears the name of another before it. */
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

/** Two instances of a scale set unless told otherwise, one with a guest of the older kind. */
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
