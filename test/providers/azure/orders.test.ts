import { describe, expect, it } from 'vitest';
import { Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { memberMachineIds } from '../../../providers/azure/look.ts';
import { scaleSetPath } from '../../../providers/azure/identity.ts';
import { addFault } from '../../../sandbox/azure/faults.ts';
import { addMachine, showAs, type Wanted } from '../../../sandbox/azure/scenario.ts';
import { machineIn } from '../../../sandbox/azure/state.ts';
import { inProcessClient } from '../../../sandbox/azure/in-process-client.ts';
import { azureWorld, clientsOf, cloudOf, MINUTE, patient, prefix } from '../../sandbox/azure/azure-world.ts';
import { granted } from '../../permits.ts';

const pool = `${prefix}/virtualMachineScaleSets/Pool`;

const powered = (wanted: Wanted = {}) => {
  const world = azureWorld();
  const machine = addMachine(world, wanted);
  return { world, machine, target: { machine, incarnation: machineIn(world, machine)?.vmId ?? null } };
};

describe('a power-off', () => {
  it('stops a machine whose operating system never shuts down, even while it is being deallocated', async () => {
    const { world, machine, target } = powered({ shutdownTakes: null });
    await cloudOf(world).powerOff(target, granted, patient());
    world.advance(MINUTE);
    expect(machineIn(world, machine)?.power).toBe('stopped');
    const stuck = powered({
      shutdownTakes: null,
      power: 'deallocating',
      guest: 'up',
      provisioning: 'Updating',
      operation: 'hung',
    });
    await cloudOf(stuck.world).powerOff(stuck.target, granted, patient());
    stuck.world.advance(MINUTE);
    expect(machineIn(stuck.world, stuck.machine)).toMatchObject({ power: 'stopped', guest: 'down' });
  });

  it.each(['starting', 'stopped', 'deallocated'] as const)('is refused for a machine that is %s', async (power) => {
    const { world, machine, target } = powered({ power });
    await expect(cloudOf(world).powerOff(target, granted, patient())).rejects.toBeInstanceOf(Refused);
    world.advance(MINUTE);
    expect(machineIn(world, machine)?.power).toBe(power);
  });

  it.each(['running', 'stopping', 'deallocating', 'unknown', null] as const)(
    'is sent to a machine that shows the power state %s',
    async (power) => {
      const { world, machine, target } = powered();
      showAs(world, machine, { power });
      await cloudOf(world).powerOff(target, granted, patient());
      world.advance(MINUTE);
      expect(machineIn(world, machine)?.power).toBe('stopped');
    },
  );

  it('is refused for a machine that is gone and for a machine of another subscription', async () => {
    const { world, target } = powered();
    const gone = { ...target, machine: `${prefix}/virtualmachines/nobody` };
    const foreign = { ...target, machine: target.machine.replace(/subscriptions\/[^/]+/, 'subscriptions/another') };
    for (const one of [gone, foreign])
      await expect(cloudOf(world).powerOff(one, granted, patient())).rejects.toBeInstanceOf(Refused);
    expect(machineIn(world, target.machine)?.power).toBe('running');
  });

  it('fails if ARM declines it', async () => {
    const { world, machine, target } = powered();
    addFault(world.parts.azure, { call: 'machine.powerOff', mishap: { kind: 'error', code: 'Conflict', status: 409 } });
    const conflict = cloudOf(world).powerOff(target, granted, patient());
    await expect(conflict).rejects.toBeInstanceOf(Unavailable);
    await expect(conflict).rejects.toThrow(/^powerOff\/action returned Conflict/);
    showAs(world, machine, { power: null });
    addFault(world.parts.azure, {
      call: 'machine.powerOff',
      mishap: { kind: 'error', code: 'OperationNotAllowed', status: 409 },
    });
    await expect(cloudOf(world).powerOff(target, granted, patient())).rejects.toBeInstanceOf(Refused);
  });
});

describe('a scale set that is named in place of a machine', () => {
  it('is replaced by its machines, page by page, and everything else stays as it is', async () => {
    const world = azureWorld({ pageSize: 2 });
    const instances = Array.from({ length: 5 }, () => addMachine(world, { set: 'Pool' }));
    addMachine(world, { set: 'other' });
    const alone = addMachine(world);
    const set = `${prefix}/virtualmachinescalesets/pool`;
    expect(await cloudOf(world).expand([alone, set, set, 'i-1'], patient())).toEqual([alone, ...instances, 'i-1']);
  });

  it('is abandoned if the list of its machines never ends', async () => {
    const world = azureWorld();
    addMachine(world, { set: 'Pool' });
    const inner = inProcessClient(world);
    let calls = 0;
    const httpClient: typeof inner = {
      sendRequest: async (request) => {
        const answer = await inner.sendRequest(request);
        calls += 1;
        const nextLink = `https://management.azure.com${prefix}/virtualMachineScaleSets/pool/virtualMachines?api-version=2024-11-01&page=${calls}`;
        return request.url.includes('virtualMachineScaleSets')
          ? { ...answer, bodyAsText: JSON.stringify({ value: [], nextLink }) }
          : answer;
      },
    };
    const asked = cloudOf(world, clientsOf(world, { httpClient })).expand(
      [`${prefix}/virtualmachinescalesets/pool`],
      patient(),
    );
    await expect(asked).rejects.toThrow(/has more than \d+ pages/);
    expect(calls).toBeLessThan(110);
  });

  it('has no machines if it is gone, and is not replaced if it belongs to another subscription', async () => {
    const world = azureWorld();
    addMachine(world, { set: 'Pool' });
    const set = `${prefix}/virtualmachinescalesets/nothing`;
    const foreign = `${prefix.replace(/subscriptions\/[^/]+/, 'subscriptions/another')}/virtualmachinescalesets/pool`;
    expect(await cloudOf(world).expand([set, foreign], patient())).toEqual([foreign]);
  });

  it.each([
    [
      'an instance of a uniform set',
      { id: `${pool}/virtualMachines/3`, instanceId: '3' },
      `${prefix}/virtualmachinescalesets/pool/virtualmachines/3`,
    ],
    [
      'a standalone machine',
      {
        id: `${pool}/virtualMachines/Flex_1`,
        instanceId: 'Flex_1',
        virtualMachineResourceId: `${prefix}/virtualMachines/Flex_1`,
      },
      `${prefix}/virtualmachines/flex_1`,
    ],
    [
      'a standalone machine, under its name alone',
      { id: `${pool}/virtualMachines/Flex_1`, instanceId: 'Flex_1' },
      `${prefix}/virtualmachines/flex_1`,
    ],
    [
      'a standalone machine, whose name ends like a number',
      { id: `${pool}/virtualMachines/Pool_12345678`, instanceId: 'Pool_12345678' },
      `${prefix}/virtualmachines/pool_12345678`,
    ],
    [
      'an instance without its number',
      { id: `${pool}/virtualMachines/Pool_3` },
      `${prefix}/virtualmachinescalesets/pool/virtualmachines/3`,
    ],
    ['something without a name', {}, undefined],
  ])('has members in several forms: %s', (_, member, id) => {
    const set = scaleSetPath(pool);
    expect(set && memberMachineIds(set, { location: 'westeurope', ...member })).toEqual(id === undefined ? [] : [id]);
  });
});
