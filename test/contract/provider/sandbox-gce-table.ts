import type { Power } from '../../../fencing/model/machine.ts';
import { change, resume, start, stop, suspend } from '../../../sandbox/gce/instances.ts';
import { addInstance, failHost, stopGuest } from '../../../sandbox/gce/scenario.ts';
import { instanceIn, type GceWorld, type Instance } from '../../../sandbox/gce/state.ts';
import { MINUTE } from '../../sandbox/gce/gce-world.ts';
import type { ProofRow } from './harness.ts';

/** What is done to a running machine, and how many minutes pass afterwards. */
type Act = readonly [(world: GceWorld, instance: Instance) => unknown, number];

const stopNow = (world: GceWorld, instance: Instance): void => stop(world, instance, true);

const rows: readonly (readonly [string, Power, ...Act[]])[] = [
  ['RUNNING', 'running'],
  ['PENDING_STOP', 'stopping', [(world, instance) => stop(world, instance), 0]],
  ['STOPPING', 'stopping', [stopNow, 1]],
  ['TERMINATED', 'off', [stopNow, 5]],
  ['TERMINATED by its guest', 'off', [(world, { path }) => stopGuest(world, path), 5]],
  ['SUSPENDING', 'stopping', [suspend, 0]],
  ['SUSPENDED', 'suspended', [suspend, 5]],
  ['REPAIRING', 'unknown', [(world, { path }) => failHost(world, path), 0]],
  ['RUNNING after a repair', 'running', [(world, { path }) => failHost(world, path), 5]],
  ['PROVISIONING', 'starting', [stopNow, 5], [start, 0]],
  ['STAGING', 'starting', [stopNow, 5], [start, 0.1]],
  ['RUNNING after a resume', 'running', [suspend, 5], [resume, 5]],
  ['DEPROVISIONING', 'stopping', [(world, instance) => change(world, instance, { status: 'DEPROVISIONING' }), 0]],
];

/** Every status that an instance can have. Its guest never shuts down by itself. */
export const sandboxGceTable = (world: GceWorld): readonly ProofRow[] =>
  rows.map(([state, power, ...acts]) => ({
    state,
    power,
    machine: async () => {
      const path = addInstance(world, { gracefulTakes: 10 * MINUTE, shutdownTakes: null });
      for (const [act, minutes] of acts) {
        const instance = instanceIn(world, path);
        if (instance) act(world, instance);
        world.advance(minutes * MINUTE);
      }
      return path;
    },
  }));
