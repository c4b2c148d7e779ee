import { deallocate, powerOff, remove, start } from '../../../sandbox/azure/machines.ts';
import { addMachine, showAs, stopGuest, type Wanted } from '../../../sandbox/azure/scenario.ts';
import { machineIn, type AzureCloudWorld, type Machine } from '../../../sandbox/azure/state.ts';
import { MINUTE } from '../../sandbox/azure/azure-world.ts';
import type { ProofRow } from './harness.ts';

const SECOND = 1_000;

/** Every state of a machine, as Azure in the sandbox reaches it. `kind` is the kind of the machines. */
export const sandboxAzureTable = (world: AzureCloudWorld, kind: Wanted): readonly ProofRow[] => {
  const made =
    (wanted: Wanted, then: (machine: Machine) => unknown = () => undefined, wait = 0) =>
    async (): Promise<string> => {
      const id = addMachine(world, { ...kind, ...wanted });
      const machine = machineIn(world, id);
      if (machine) then(machine);
      world.advance(wait);
      return id;
    };
  const off = (machine: Machine) => deallocate(world, machine);
  const hardOff = (machine: Machine) => powerOff(world, machine, { skipShutdown: true });
  const on = (machine: Machine) => start(world, machine);
  const shown = (as: Parameters<typeof showAs>[2]) => (machine: Machine) => showAs(world, machine.id, as);
  return [
    { state: 'running', power: 'running', machine: made({}) },
    { state: 'deallocating', power: 'stopping', machine: made({}, off) },
    { state: 'deallocated', power: 'off', machine: made({}, off, MINUTE) },
    {
      state: 'hibernated',
      power: 'suspended',
      machine: made({ canHibernate: true }, (machine) => deallocate(world, machine, true), MINUTE),
    },
    {
      state: 'deallocated, and could have hibernated',
      power: 'off',
      machine: made({ canHibernate: true }, off, MINUTE),
    },
    {
      state: 'stopped, and may have hibernated',
      power: 'suspended',
      machine: made({ canHibernate: true }, hardOff, MINUTE),
    },
    { state: 'stopping', power: 'stopping', machine: made({}, hardOff) },
    { state: 'stopped', power: 'off-if-repeated', machine: made({}, hardOff, MINUTE) },
    { state: 'stopping by itself', power: 'stopping', machine: made({}, ({ id }) => stopGuest(world, id)) },
    {
      state: 'stopped by itself',
      power: 'off-if-repeated',
      machine: made({}, ({ id }) => stopGuest(world, id), MINUTE),
    },
    {
      state: 'starting, and still shown as stopped',
      power: 'stopping',
      machine: made({ power: 'deallocated' }, on, SECOND / 2),
    },
    { state: 'starting', power: 'starting', machine: made({ power: 'deallocated' }, on, 2 * SECOND) },
    {
      state: 'deallocated under an operation',
      power: 'stopping',
      machine: made({ power: 'deallocated' }, shown({ provisioning: 'Updating' })),
    },
    {
      state: 'deallocated after an operation that failed',
      power: 'unknown',
      machine: made({ power: 'deallocated' }, shown({ provisioning: 'Failed' })),
    },
    { state: 'unknown', power: 'unknown', machine: made({}, shown({ power: 'unknown' })) },
    { state: 'without a power state', power: 'unknown', machine: made({}, shown({ power: null })) },
    { state: 'being deleted', power: 'running', machine: made({}, (machine) => remove(world, machine)) },
    { state: 'deleted', power: 'missing', machine: made({}, (machine) => remove(world, machine), MINUTE) },
  ];
};
