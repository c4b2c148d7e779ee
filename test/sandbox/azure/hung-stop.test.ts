import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../fencing/model/policy.ts';
import { deallocate, powerOff } from '../../../sandbox/azure/machines.ts';
import { addMachine, shutdownTakes } from '../../../sandbox/azure/scenario.ts';
import { disksOf, machineIn, type Machine } from '../../../sandbox/azure/state.ts';
import type { AzureWorld } from '../../../sandbox/azure-sandbox.ts';
import { settle } from '../../../sandbox/cluster/settle.ts';
import { listObjects, getObject } from '../../../sandbox/cluster/get-objects.ts';
import { write } from '../../../sandbox/history.ts';
import { addNodeOf, nodeNameOf } from '../../../sandbox/scenes/azure-database.ts';
import { change, react, scene, sweepOnce } from './azure-runs.ts';

/** Azure never says since when a machine has been stopping, and no run lasts for ten minutes. */

const MINUTE = 60_000;
const LABEL = 'cloudfence.node-restriction.kubernetes.io/stopping';
const forced = { unreachable: 'power-off' } as const;
const byPowerOff = (world: AzureWorld, machine: Machine) => powerOff(world, machine, { skipShutdown: false });

const hung = (stop: (world: AzureWorld, machine: Machine) => unknown, hideOsDisk = false) => {
  const made = scene();
  const { world, holder } = made;
  addNodeOf(world, addMachine(world, { set: 'aks-Pool-vmss' }), { older: false });
  settle(world);
  const os = disksOf(world, holder).find((disk) => disk.os);
  if (os && hideOsDisk) write(world.parts.azure.disks, os.id, null, world.now());
  const node = nodeNameOf(world, holder);
  world.parts.cluster.knobs.partitioned.push(node);
  shutdownTakes(world, holder, null);
  change(world, holder, stop, 2 * MINUTE);
  return { ...made, node };
};
type Hung = ReturnType<typeof hung>;

const noted = ({ world, node }: Hung) => getObject(world, 'nodes', node)?.metadata.labels?.[LABEL] ?? null;
const eventReasons = ({ world }: Hung) => listObjects(world, 'events').map(({ reason }) => reason);

const sweepFor = async ({ world }: Hung, minutes: number, policy: Partial<Policy> = {}) => {
  const outcomes = [];
  for (const end = world.now() + minutes * MINUTE; world.now() < end; world.advance(MINUTE))
    outcomes.push(...(await sweepOnce(world, policy)));
  return outcomes;
};

const stops = [
  ['a deallocation', deallocate, false],
  ['a power-off', byPowerOff, false],
  ['a deallocation of a machine without an OS disk', deallocate, true],
] as const;

describe.each(stops)('%s that hangs', (_, stop, hideOsDisk) => {
  it('raises an alarm after ten minutes under the default policy, and nothing is done', async () => {
    const incident = hung(stop, hideOsDisk);
    const before = await sweepFor(incident, 8);
    expect(new Set(before.map(({ reason }) => reason.code))).toEqual(new Set(['stopping']));
    expect(eventReasons(incident)).not.toContain('MachineStoppingTooLong');
    const after = await sweepFor(incident, 5);
    expect(after.at(-1)).toMatchObject({ outcome: 'waiting', reason: { code: 'stopping-too-long' } });
    expect(eventReasons(incident)).toContain('MachineStoppingTooLong');
    expect(after.flatMap(({ steps }) => steps)).toEqual([]);
    expect(incident.world.parts.azure.violations).toEqual([]);
  });

  it('is then powered off if the policy is power-off, proven off, and fenced', async () => {
    const incident = hung(stop, hideOsDisk);
    const { world, holder, disk } = incident;
    await sweepFor(incident, 12, forced);
    await sweepFor(incident, 2);
    expect(['deallocated', 'stopped']).toContain(machineIn(world, holder)?.power);
    expect(disksOf(world, holder).map(({ id }) => id)).not.toContain(disk);
    expect(noted(incident)).toBeNull();
    expect(world.parts.azure.violations).toEqual([]);
  });
});

describe('a machine that has been off for a long time, while the driver detaches its disk,', () => {
  const detachedLate = () => {
    const made = scene();
    made.world.parts.azure.knobs.detachTakes = 30_000;
    change(made.world, made.holder, deallocate, 20 * MINUTE);
    return { ...made, node: nodeNameOf(made.world, made.holder) };
  };
  it.each(['report', 'power-off'] as const)(
    'raises no alarm and is not powered off by an event (%s)',
    async (unreachable) => {
      const incident = detachedLate();
      const outcome = await react(incident.world, incident.holder, 100, { unreachable });
      expect(outcome).toMatchObject({ outcome: 'fenced' });
      expect(outcome.steps.map(({ step }) => step)).toEqual(['mark', 'delete-pod', 'park']);
      expect(eventReasons(incident)).not.toContain('MachineStoppingTooLong');
      expect(incident.world.parts.azure.violations).toEqual([]);
    },
  );
  it.each(['report', 'power-off'] as const)(
    'raises no alarm and is not powered off by sweeps (%s)',
    async (unreachable) => {
      const incident = detachedLate();
      const outcomes = await sweepFor(incident, 5, { unreachable });
      expect(outcomes.map(({ reason }) => reason.code)).not.toContain('stopping-too-long');
      expect(outcomes.flatMap(({ steps }) => steps.map(({ step }) => step))).toEqual(['mark', 'delete-pod', 'park']);
      expect(eventReasons(incident)).not.toContain('MachineStoppingTooLong');
    },
  );
});
