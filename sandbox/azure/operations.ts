import type { AzureCloudWorld, Machine, Operation } from './state.ts';
import { machineIn, nextSerial } from './state.ts';
import { change } from './change.ts';

/** Long-running operations. A machine can have one at a time, and is `Updating` in the meantime. */

export const beginOperation = (world: AzureCloudWorld): Operation => {
  const { azure } = world.parts;
  const operation: Operation = {
    id: `00000000-0000-4000-b000-${nextSerial(azure).padStart(12, '0')}`,
    status: 'InProgress',
    code: null,
  };
  azure.operations[operation.id] = operation;
  return operation;
};

/** An operation that completes immediately. */
export const finishedOperation = (world: AzureCloudWorld): Operation => {
  const operation = beginOperation(world);
  return endOperation(world, operation.id, null) ?? operation;
};

export const endOperation = (world: AzureCloudWorld, id: string | null, code: string | null): Operation | null => {
  const known = id === null ? undefined : world.parts.azure.operations[id];
  if (!known || known.status !== 'InProgress') return null;
  const ended: Operation = { ...known, status: code === null ? 'Succeeded' : 'Failed', code };
  world.parts.azure.operations[ended.id] = ended;
  return ended;
};

/** Makes the machine available for the next operation. */
export const atRest = (world: AzureCloudWorld, machine: Machine): Machine => {
  endOperation(world, machine.operation, null);
  return change(world, machineIn(world, machine.id) ?? machine, {
    operation: null,
    provisioning: 'Succeeded',
    provisionedAt: world.now(),
  });
};
