import { defaultStop, start, stopByUser, terminate, type StopOptions } from '../../../sandbox/ec2/instances.ts';
import { addInstance, stopOutOfBand } from '../../../sandbox/ec2/scenario.ts';
import { instanceIn, type Ec2World, type Instance } from '../../../sandbox/ec2/state.ts';
import { MINUTE } from '../../sandbox/ec2/ec2-world.ts';
import type { ProofRow } from './harness.ts';

/** Every state of an instance, as EC2 in the sandbox reaches it. */
export const sandboxEc2Table = (world: Ec2World): readonly ProofRow[] => {
  const made =
    (wanted: Partial<Instance>, then: (instance: Instance) => unknown = () => undefined, wait = 0) =>
    async (): Promise<string> => {
      const id = addInstance(world, wanted);
      const instance = instanceIn(world, id);
      if (instance) then(instance);
      world.advance(wait);
      return id;
    };
  const stopped =
    (order: Partial<StopOptions> = {}) =>
    (instance: Instance) =>
      stopByUser(world, instance, { ...defaultStop, ...order });
  return [
    { state: 'pending', power: 'starting', machine: made({ state: 'stopped' }, (instance) => start(world, instance)) },
    { state: 'running', power: 'running', machine: made({}) },
    { state: 'stopping', power: 'stopping', machine: made({}, stopped()) },
    { state: 'stopping forever', power: 'stopping', machine: made({ shutdownTakes: null }, stopped(), 60 * MINUTE) },
    { state: 'stopped', power: 'off', machine: made({}, stopped(), MINUTE) },
    {
      state: 'hibernated',
      power: 'suspended',
      machine: made({ canHibernate: true }, stopped({ hibernate: true }), MINUTE),
    },
    {
      state: 'stopped, and could have hibernated',
      power: 'off',
      machine: made({ canHibernate: true }, stopped(), MINUTE),
    },
    {
      state: 'switched off by its guest, which may have hibernated itself',
      power: 'suspended',
      machine: made(
        { canHibernate: true },
        ({ id }) => stopOutOfBand(world, id, 'Client.InstanceInitiatedShutdown'),
        MINUTE,
      ),
    },
    {
      state: 'interrupted, and may hibernate',
      power: 'suspended',
      machine: made(
        { canHibernate: true },
        ({ id }) => stopOutOfBand(world, id, 'Server.SpotInstanceShutdown'),
        MINUTE,
      ),
    },
    {
      state: 'a Spot instance that was interrupted, and may hibernate although nothing says so',
      power: 'suspended',
      machine: made({ spot: true }, ({ id }) => stopOutOfBand(world, id, 'Server.SpotInstanceShutdown'), MINUTE),
    },
    {
      state: 'a Spot instance that a person has stopped',
      power: 'off',
      machine: made({ spot: true }, stopped(), MINUTE),
    },
    { state: 'shutting-down', power: 'stopping', machine: made({}, (instance) => terminate(world, instance)) },
    { state: 'terminated', power: 'off', machine: made({}, (instance) => terminate(world, instance), MINUTE) },
  ];
};
