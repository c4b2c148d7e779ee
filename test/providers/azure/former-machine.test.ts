import { describe, expect, it } from 'vitest';
import { Refused } from '../../../fencing/model/errors.ts';
import { attach } from '../../../sandbox/azure/attachments.ts';
import { addFault } from '../../../sandbox/azure/faults.ts';
import { remove } from '../../../sandbox/azure/machines.ts';
import { addDisk, addMachine, type Wanted } from '../../../sandbox/azure/scenario.ts';
import { diskIn, machineIn } from '../../../sandbox/azure/state.ts';
import { azureWorld, cloudOf, MINUTE, patient } from '../../sandbox/azure/azure-world.ts';
import { granted } from '../../permits.ts';

/** Every call would be accepted, so a rejected one was never sent. */

/** A machine that has the name of one that is gone, and holds its disk. */
const successor = (wanted: Wanted) => {
  const world = azureWorld();
  const machine = addMachine(world, { name: 'db-0' });
  const former = { machine, incarnation: machineIn(world, machine)?.vmId ?? null };
  const disk = addDisk(world, {}, { machine });
  const doomed = machineIn(world, machine);
  if (doomed) remove(world, doomed);
  world.advance(MINUTE);
  addMachine(world, { name: 'db-0', ...wanted });
  const [free, heir] = [diskIn(world, disk), machineIn(world, machine)];
  if (free && heir) attach(world, free, heir);
  world.advance(MINUTE);
  return { world, machine, disk, former, cloud: cloudOf(world) };
};

describe('a call for a machine whose name another machine has now', () => {
  it.each(['plain', 'forced'] as const)('detaches no disk from the other machine (%s)', async (mode) => {
    const { world, machine, disk, former, cloud } = successor({ power: 'deallocated' });
    for (const target of [former, { machine, incarnation: null }]) {
      await expect(cloud.detach(target, disk, mode, granted, patient())).rejects.toBeInstanceOf(Refused);
    }
    world.advance(MINUTE);
    expect(diskIn(world, disk)?.attachments).toMatchObject([{ machine, state: 'attached' }]);
    await cloud.detach(
      { machine, incarnation: machineIn(world, machine)?.vmId ?? null },
      disk,
      mode,
      granted,
      patient(),
    );
    world.advance(MINUTE);
    expect(diskIn(world, disk)?.attachments).toEqual([]);
  });

  it('does not power off the other machine', async () => {
    const { world, machine, former, cloud } = successor({});
    for (const target of [former, { machine, incarnation: null }])
      await expect(cloud.powerOff(target, granted, patient())).rejects.toBeInstanceOf(Refused);
    world.advance(MINUTE);
    expect(machineIn(world, machine)?.power).toBe('running');
  });

  it('counts as done if its disk is free, or held by another machine, whichever machine has the name', async () => {
    const { world, machine, former, cloud } = successor({});
    const other = addMachine(world);
    const [free, elsewhere] = [addDisk(world), addDisk(world, {}, { machine: other })];
    addFault(world.parts.azure, { call: 'machine.attachDetachDataDisks', times: Infinity, mishap: { kind: 'drop' } });
    for (const disk of [free, elsewhere]) {
      for (const target of [former, { machine, incarnation: null }])
        await expect(cloud.detach(target, disk, 'forced', granted, patient())).resolves.toBeUndefined();
    }
    expect(diskIn(world, elsewhere)?.attachments).toMatchObject([{ machine: other, state: 'attached' }]);
  });
});
