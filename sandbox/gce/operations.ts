import { logOperation } from './audit.ts';
import { nextId, type GceWorld, type Operation } from './state.ts';
import type { OperationError } from './faults.ts';

/** Calls that change something begin an operation, and end with it. */

export const operationNamed = (world: GceWorld, name: string): Operation | undefined =>
  world.parts.gce.operations.find((one) => one.name === name);

type Wanted = Pick<Operation, 'type' | 'target' | 'targetId' | 'requestId'> & Partial<Pick<Operation, 'disk'>>;

export const beginOperation = (world: GceWorld, wanted: Wanted): Operation => {
  const id = nextId(world.parts.gce);
  const operation: Operation = {
    disk: null,
    ...wanted,
    id,
    name: `operation-${world.now()}-${id}`,
    insertedAt: world.now(),
    endedAt: null,
    error: null,
  };
  world.parts.gce.operations.push(operation);
  logOperation(world, operation, 'first');
  return operation;
};

export const endOperation = (world: GceWorld, name: string, error: OperationError | null = null): void => {
  const { operations } = world.parts.gce;
  const index = operations.findIndex((one) => one.name === name);
  const open = operations[index];
  if (!open || open.endedAt !== null) return;
  const done = { ...open, endedAt: world.now(), error };
  operations[index] = done;
  logOperation(world, done, 'last');
};

/** The operation of a repeated call. https://cloud.google.com/compute/docs/reference/rest/v1/instances/detachDisk */
export const knownRequest = (world: GceWorld, requestId: string | null): Operation | undefined =>
  requestId === null ? undefined : world.parts.gce.operations.find((one) => one.requestId === requestId);

export const unfinishedOperations = (world: GceWorld, targetId: string): readonly Operation[] =>
  world.parts.gce.operations.filter((one) => one.targetId === targetId && one.endedAt === null);

/** Completes the operations whose target state the instance has reached. */
export const endOperationsOf = (world: GceWorld, targetId: string, types: readonly Operation['type'][]): void => {
  for (const open of unfinishedOperations(world, targetId))
    if (types.includes(open.type)) endOperation(world, open.name);
};

const STEP_MS = 250;

/** Advances time until the operation is done or the wait ends. */
export const waitFor = (world: GceWorld, name: string): void => {
  const until = world.now() + world.parts.gce.knobs.waitLasts;
  while (operationNamed(world, name)?.endedAt === null && world.now() < until)
    world.advance(Math.min(STEP_MS, until - world.now()));
};
