import { describe, expect, it } from 'vitest';
import { InvalidInput, PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { addFault, forbidden, rateLimitError } from '../../../sandbox/gce/faults.ts';
import { addDisk, addInstance, addLocalSsd } from '../../../sandbox/gce/scenario.ts';
import { instanceIn, type Instance } from '../../../sandbox/gce/state.ts';
import { MINUTE, cloudOf, gceWorld, patient } from '../../sandbox/gce/gce-world.ts';
import { granted } from '../../permits.ts';

const running = (wanted: Partial<Instance> = {}) => {
  const world = gceWorld();
  const machine = addInstance(world, wanted);
  return { world, machine, target: { machine, incarnation: instanceIn(world, machine)?.id ?? null } };
};

describe('a power-off', () => {
  it('gives no time for a graceful shutdown, and ends one that never finishes', async () => {
    const { world, machine, target } = running({ gracefulTakes: 60 * MINUTE, shutdownTakes: null });
    await cloudOf(world).powerOff(target, granted, patient());
    expect(instanceIn(world, machine)?.status).toBe('STOPPING');
    world.advance(2 * MINUTE);
    expect(instanceIn(world, machine)?.status).toBe('TERMINATED');
  });

  it('keeps the data on local SSDs', async () => {
    const { world, machine, target } = running();
    addLocalSsd(world, machine);
    await cloudOf(world).powerOff(target, granted, patient());
    expect([instanceIn(world, machine)?.status, world.parts.gce.violations]).toEqual(['STOPPING', []]);
  });

  it('is refused, with the reason, if that data cannot be kept', async () => {
    const { world, machine, target } = running();
    world.parts.gce.knobs.keepsLocalSsds = false;
    addLocalSsd(world, machine);
    const refused = cloudOf(world).powerOff(target, granted, patient());
    await expect(refused).rejects.toBeInstanceOf(Refused);
    await expect(refused).rejects.toMatchObject({
      message: expect.stringMatching(/^Compute Engine did not power off .* \(compute\.instances\.stop .*local SSDs/),
      cause: expect.any(Error),
    });
    await expect(refused).rejects.toThrow(/--discard-local-ssd$/);
    expect([instanceIn(world, machine)?.status, world.parts.gce.violations]).toEqual(['RUNNING', []]);
  });

  it('is refused for a suspended machine, and without a target', async () => {
    const { world, machine, target } = running({ status: 'SUSPENDED', guest: 'frozen' });
    const untargeted = cloudOf(world).powerOff({ machine, incarnation: null }, granted, patient());
    await expect(untargeted).rejects.toBeInstanceOf(Refused);
    await expect(untargeted).rejects.toThrow(`does not power off ${machine}, because it does not exist`);
    const refused = cloudOf(world).powerOff(target, granted, patient());
    await expect(refused).rejects.toThrow(/^compute\.instances\.stop returned resourceNotReady/);
    await expect(refused).rejects.not.toThrow(/local SSDs/);
    expect(instanceIn(world, machine)?.guest).toBe('frozen');
  });

  it('is not sent for an ID that names no instance', async () => {
    const { world } = running();
    const nobody = { machine: 'i-0123456789abcdef0', incarnation: '1' };
    const declined = cloudOf(world).powerOff(nobody, granted, patient());
    await expect(declined).rejects.toBeInstanceOf(InvalidInput);
    await expect(declined).rejects.toThrow('i-0123456789abcdef0 is not an instance of Compute Engine');
  });

  it('that is refused does not mention local SSDs if the machine has none', async () => {
    const { world, machine, target } = running();
    addDisk(world, {}, { instance: machine });
    const mishap = { kind: 'error', reason: 'invalid', status: 400 } as const;
    addFault(world.parts.gce, { method: 'instances.stop', mishap });
    const refused = cloudOf(world).powerOff(target, granted, patient());
    await expect(refused).rejects.toBeInstanceOf(Refused);
    await expect(refused).rejects.not.toThrow(/local SSDs/);
  });

  it('that the service is too busy for does not mention local SSDs', async () => {
    const { world, machine, target } = running();
    addLocalSsd(world, machine);
    addFault(world.parts.gce, { method: 'instances.stop', mishap: rateLimitError });
    const failed = cloudOf(world).powerOff(target, granted, patient());
    await expect(failed).rejects.toBeInstanceOf(Unavailable);
    await expect(failed).rejects.not.toThrow(/local SSDs/);
  });

  it('is denied if the permission is missing', async () => {
    const { world, target } = running();
    addFault(world.parts.gce, { method: 'instances.stop', mishap: forbidden });
    await expect(cloudOf(world).powerOff(target, granted, patient())).rejects.toBeInstanceOf(PermissionDenied);
  });
});

describe('a witness', () => {
  it('needs every disk to be found, and an error is no answer', async () => {
    const { world, machine } = running();
    const [held, free] = [addDisk(world, {}, { instance: machine }), addDisk(world)];
    const unknown = [`${free}-not`, `${free}-neither`];
    const gone = `${machine}-gone`;
    expect(await cloudOf(world).witness(machine, [...unknown, free, held], patient())).toBe('held');
    expect(await cloudOf(world).witness(gone, [free, held], patient())).toBe('released');
    expect(await cloudOf(world).witness(gone, [free, held, ...unknown], patient())).toBe('none');
    expect(await cloudOf(world).witness(gone, unknown, patient())).toBe('none');
    expect(await cloudOf(world).witness(gone, [], patient())).toBe('none');
    addFault(world.parts.gce, { method: 'disks.get', mishap: forbidden });
    await expect(cloudOf(world).witness(gone, [held], patient())).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('counts only if it could be attached to the machine: a wrong project knows no machine either', async () => {
    const { world, machine } = running();
    const zonal = addDisk(world, { path: 'projects/my-project/zones/europe-west1-b/disks/next-door' });
    const regional = addDisk(world, { path: 'projects/my-project/regions/europe-west1/disks/replicated' });
    const gone = `${machine}-gone`;
    expect(await cloudOf(world).witness(gone, [zonal], patient())).toBe('none');
    expect(await cloudOf(world).witness(gone, [regional], patient())).toBe('released');
    expect(await cloudOf(world).witness(gone, [zonal, regional], patient())).toBe('none');
    expect(
      await cloudOf(world).witness(gone.replace('my-project', 'nobodys'), [zonal, regional, addDisk(world)], patient()),
    ).toBe('none');
  });

  it.each(['CREATING', 'RESTORING', 'FAILED', 'DELETING', 'UNAVAILABLE'] as const)(
    'has no answer while the disk is %s',
    async (status) => {
      const { world, machine } = running();
      expect(await cloudOf(world).witness(`${machine}-gone`, [addDisk(world, { status })], patient())).toBe('none');
    },
  );
});
