import type { AzureCloudWorld, Machine } from './state.ts';
import { nextSerial } from './state.ts';

const verbOf = ({ set }: Machine, verb: string): string =>
  set
    ? `Microsoft.Compute/virtualMachineScaleSets/virtualMachines/${verb}`
    : `Microsoft.Compute/virtualMachines/${verb}`;

/** ARM publishes nothing about changes outside ARM, such as a guest that shuts itself down. */
export const announce = (world: AzureCloudWorld, machine: Machine, verb: string): void => {
  const { azure } = world.parts;
  azure.events.push({
    id: `00000000-0000-4000-a000-${nextSerial(azure).padStart(12, '0')}`,
    topic: `/subscriptions/${azure.subscription}`,
    subject: machine.armId,
    eventType:
      verb === 'delete' ? 'Microsoft.Resources.ResourceDeleteSuccess' : 'Microsoft.Resources.ResourceActionSuccess',
    eventTime: new Date(world.now()).toISOString(),
    data: {
      operationName: verbOf(machine, verb),
      resourceProvider: 'Microsoft.Compute',
      resourceUri: machine.armId,
      status: 'Succeeded',
      subscriptionId: azure.subscription,
    },
    dataVersion: '2',
    metadataVersion: '1',
  });
};
