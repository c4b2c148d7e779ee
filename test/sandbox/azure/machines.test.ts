import { describe, expect, it } from 'vitest';
import { readHints } from '../../../providers/azure/events/read-hints.ts';
import { attach, detach } from '../../../sandbox/azure/attachments.ts';
import { deallocate, powerOff, remove, restart, start } from '../../../sandbox/azure/machines.ts';
import { addDisk, addMachine, haltGuest, shutdownTakes, stopGuest } from '../../../sandbox/azure/scenario.ts';
import {
  diskIn,
  disksOf,
  machineIn,
  type AzureCloudWorld,
  type Disk,
  type SimulationSettings,
  type Machine,
} from '../../../sandbox/azure/state.ts';
import { underlyingAzure } from '../../../sandbox/azure/underlying-cloud.ts';
import { azureWorld, cloudOf, MINUTE, NOW, patient } from './azure-world.ts';

const machineOf = (world: AzureCloudWorld, id: string): Machine => {
  const machine = machineIn(world, id);
  if (!machine) throw new Error(`there is no ${id}`);
  return machine;
};

const diskOf = (world: AzureCloudWorld, id: string): Disk => {
  const disk = diskIn(world, id);
  if (!disk) throw new Error(`there is no ${id}`);
  return disk;
};

const one = (knobs: Partial<SimulationSettings> = {}) => {
  const world = azureWorld(knobs);
  const id = addMachine(world);
  return { world, id, now: () => machineOf(world, id) };
};

const mounted = () => {
  const { world, id, now } = one();
  const disk = addDisk(world, {}, { machine: id });
  underlyingAzure.mount(world, disk.toUpperCase(), id);
  return { world, id, now, disk };
};

describe('the life of a machine in the sandbox', () => {
  it('shows a start as stopped first, then as starting, and always as an operation', () => {
    const { world, id, now } = one();
    deallocate(world, now());
    world.advance(MINUTE);
    const seen = new Map<string, number>();
    start(world, now());
    for (; now().power !== 'running'; world.advance(250)) seen.set(`${now().power} ${now().provisioning}`, world.now());
    expect([...seen.keys()]).toEqual(['stopped Updating', 'starting Updating']);
    expect(now()).toMatchObject({ provisioning: 'Succeeded', guest: 'up', boot: 2, operation: null });
    expect(underlyingAzure.bootOf(world, id)).toMatch(/\/2$/);
  });

  it('releases its disks at a deallocation and at a start, but not at a stop', () => {
    const { world, id, now } = one();
    const handed = () => (disksOf(world, id)[0]?.handedOverAt ?? 0) - NOW;
    powerOff(world, now(), { skipShutdown: true });
    world.advance(MINUTE);
    expect([now().power, handed()]).toEqual(['stopped', 0]);
    deallocate(world, now());
    world.advance(MINUTE);
    expect(handed()).toBe(MINUTE + 25_000);
    start(world, now());
    expect(handed()).toBe(2 * MINUTE);
  });

  it('is reported in events about calls to ARM, and in no others', () => {
    const { world, id, now } = one();
    stopGuest(world, id);
    world.advance(MINUTE);
    expect(world.parts.azure.events).toEqual([]);
    start(world, now());
    world.advance(MINUTE);
    deallocate(world, now());
    world.advance(MINUTE);
    remove(world, now());
    const { hints, faults, ignored } = readHints(world.parts.azure.events);
    expect([hints.map(({ machine, because }) => [machine, because]), faults, ignored]).toEqual([
      [
        [id, 'arm-start'],
        [id, 'arm-deallocate'],
        [id, 'arm-delete'],
      ],
      [],
      [],
    ]);
  });

  it('has one operation at a time', () => {
    const { world, now } = one();
    deallocate(world, now());
    expect(() => start(world, now())).toThrow(/in progress/);
    expect(() => restart(world, now())).toThrow(/in progress/);
    expect(() => attach(world, diskOf(world, addDisk(world)), now())).toThrow(/in progress/);
    powerOff(world, now(), { skipShutdown: true });
    world.advance(MINUTE);
    expect(now()).toMatchObject({ power: 'stopped', operation: null });
  });

  it('ends its power when the operating system shuts down, or by force', () => {
    const { world, id, now } = one();
    shutdownTakes(world, id, null);
    deallocate(world, now());
    world.advance(60 * MINUTE);
    expect(now()).toMatchObject({ power: 'deallocating', guest: 'up' });
  });

  it('may be shown as it was a while ago', async () => {
    const { world, id, now } = one({ staleUpTo: 30_000 });
    deallocate(world, now());
    world.advance(40_000);
    const power = async () => (await cloudOf(world).look([id], { disks: false }, patient()))[0]?.power;
    expect(await power()).toBe('stopping');
    world.advance(30_000);
    expect(await power()).toBe('off');
  });
});

describe('disks in the sandbox', () => {
  it('leave a guest that holds them only by force, and that is a violation', () => {
    const { world, disk, now } = mounted();
    detach(world, diskOf(world, disk), now(), false);
    world.advance(10 * MINUTE);
    expect(diskOf(world, disk).attachments).toMatchObject([{ state: 'detaching' }]);
    detach(world, diskOf(world, disk), now(), true);
    world.advance(MINUTE);
    expect(diskOf(world, disk).attachments).toEqual([]);
    expect(world.parts.azure.violations).toMatchObject([{ what: expect.stringContaining('detached') }]);
  });

  it('leave a guest that releases them, or that is down, without a violation', () => {
    const { world, id, disk, now } = mounted();
    detach(world, diskOf(world, disk), now(), false);
    world.advance(MINUTE);
    haltGuest(world, id);
    expect([diskOf(world, disk).attachments, world.parts.azure.violations]).toEqual([[], []]);
  });

  it('cause a violation if they are attached elsewhere while a guest may write', () => {
    const { world, disk, now } = mounted();
    const other = addMachine(world);
    world.parts.azure.disks[disk] = { present: { ...diskOf(world, disk), attachments: [] }, past: [] };
    attach(world, diskOf(world, disk), machineOf(world, other));
    expect(now().guest).toBe('up');
    expect(world.parts.azure.violations).toMatchObject([{ what: expect.stringContaining('attached') }]);
  });

  it('stay with a hibernated guest, whose memory will write again', () => {
    const { world, id, disk } = mounted();
    world.parts.azure.machines[id] = { present: { ...machineOf(world, id), canHibernate: true }, past: [] };
    deallocate(world, machineOf(world, id), true);
    world.advance(MINUTE);
    expect(machineOf(world, id)).toMatchObject({ power: 'deallocated', guest: 'frozen', mounts: [disk] });
    expect(() => detach(world, diskOf(world, disk), machineOf(world, id), true)).toThrow(/hibernated/);
  });

  it('still name a deleted machine for a while', () => {
    const { world, id, disk, now } = mounted();
    remove(world, now());
    world.advance(16_000);
    expect([machineIn(world, id), diskOf(world, disk).attachments]).toMatchObject([undefined, [{ machine: id }]]);
    world.advance(MINUTE);
    expect(diskOf(world, disk).attachments).toEqual([]);
  });
});
