import { describe, expect, it } from 'vitest';
import { Refused } from '../../../fencing/model/errors.ts';
import { handleArm } from '../../../sandbox/azure/arm.ts';
import { addDisk, addMachine } from '../../../sandbox/azure/scenario.ts';
import { diskIn, machineIn, type AzureCloudWorld, type SimulationSettings } from '../../../sandbox/azure/state.ts';
import { granted } from '../../permits.ts';
import { azureWorld, cloudOf, MINUTE, patient } from './azure-world.ts';

/** The ARM of the sandbox rejects what ARM rejects. Tests what the provider makes of that. */

const peopled = (knobs: Partial<SimulationSettings> = {}, set?: string) => {
  const world = azureWorld(knobs);
  const machine = addMachine(world, { power: 'deallocated', ...(set !== undefined && { set }) });
  const target = { machine, incarnation: machineIn(world, machine)?.vmId ?? null };
  return { world, machine, target, disk: addDisk(world, {}, { machine }) };
};

const isHeld = (world: AzureCloudWorld, disk: string): boolean => {
  world.advance(MINUTE);
  return (diskIn(world, disk)?.attachments.length ?? 0) > 0;
};

describe('an ARM that is late with its versions', () => {
  it.each([
    ['machines', { machines: ['2024-03-01'], disks: ['2026-03-02'] }],
    ['disks', { machines: ['2026-04-01'], disks: ['2024-03-02'] }],
  ])('does not know the version for %s, which says nothing about the resource', async (_, apiVersions) => {
    const { world, machine, target, disk } = peopled({ apiVersions });
    const said = await cloudOf(world)
      .look([machine], { disks: true }, patient())
      .catch((error: unknown) => error);
    if (said instanceof Error) expect(said.message).toMatch(/NoRegisteredProviderFound/);
    else expect(said).not.toMatchObject([{ power: 'missing' }]);
    await expect(cloudOf(world).detach(target, disk, 'plain', granted, patient())).rejects.toThrow(
      /NoRegisteredProviderFound/,
    );
    expect(isHeld(world, disk)).toBe(true);
  });
});

describe('a detach by force', () => {
  it('is accepted for a standalone machine, and for an instance of a set if ARM supports it', async () => {
    for (const { world, target, disk } of [peopled({ forceDetachOnSets: false }), peopled({}, 'Pool')]) {
      await cloudOf(world).detach(target, disk, 'forced', granted, patient());
      expect(isHeld(world, disk)).toBe(false);
    }
  });

  it('is rejected for an instance of a set if ARM does not support it, and a plain detach still works', async () => {
    const { world, target, disk } = peopled({ forceDetachOnSets: false }, 'Pool');
    await expect(cloudOf(world).detach(target, disk, 'forced', granted, patient())).rejects.toBeInstanceOf(Refused);
    expect(isHeld(world, disk)).toBe(true);
    await cloudOf(world).detach(target, disk, 'plain', granted, patient());
    expect(isHeld(world, disk)).toBe(false);
  });

  it('has one name', () => {
    const { world, machine, disk } = peopled();
    const url = `https://management.azure.com${machine}/attachDetachDataDisks?api-version=2026-04-01`;
    const { answer } = handleArm(world, {
      method: 'POST',
      url,
      body: JSON.stringify({ dataDisksToDetach: [{ diskId: disk, detachOption: 'Force' }] }),
    });
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([400, { error: { code: 'InvalidParameter' } }]);
    expect(isHeld(world, disk)).toBe(true);
  });
});
