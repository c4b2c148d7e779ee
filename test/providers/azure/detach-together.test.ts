import { describe, expect, it } from 'vitest';
import { ProofExpired, Refused } from '../../../fencing/model/errors.ts';
import type { Permit } from '../../../fencing/model/permit.ts';
import { addFault } from '../../../sandbox/azure/faults.ts';
import { addDisk, addMachine } from '../../../sandbox/azure/scenario.ts';
import { diskIn, machineIn } from '../../../sandbox/azure/state.ts';
import { granted } from '../../permits.ts';
import { azureWorld, cloudOf, MINUTE, patient } from '../../sandbox/azure/azure-world.ts';

/** A machine accepts one operation at a time, so detaches that are requested at the same time are sent in one call. */

const scene = (disks: number) => {
  const world = azureWorld({});
  const machine = addMachine(world, { power: 'deallocated' });
  const target = { machine, incarnation: machineIn(world, machine)?.vmId ?? null };
  const cloud = cloudOf(world);
  const detach = (disk: string, permit: Permit = granted, signal = patient()) =>
    cloud.detach(target, disk, 'plain', permit, signal);
  const isHeld = (disk: string): boolean => (diskIn(world, disk)?.attachments.length ?? 0) > 0;
  const attached = Array.from({ length: disks }, () => addDisk(world, {}, { machine }));
  return { world, machine, cloud, attached, detach, isHeld };
};

/** A permit that ends when the call is about to be sent. */
const over: Permit = {
  check: () => {
    throw new ProofExpired('the recheck is too old');
  },
  ended: new AbortController().signal,
};

describe('detaches from one machine that are requested at the same time', () => {
  it('are sent in one operation', async () => {
    const { world, attached, detach, isHeld } = scene(5);
    const before = Object.keys(world.parts.azure.operations).length;
    await Promise.all(attached.map((disk) => detach(disk)));
    expect(Object.keys(world.parts.azure.operations).length - before).toBe(1);
    world.advance(MINUTE);
    expect(attached.filter(isHeld)).toEqual([]);
  });

  it('each have their own result', async () => {
    const { world, attached, detach, isHeld } = scene(2);
    const free = addDisk(world);
    const root = Object.keys(world.parts.azure.disks).find((id) => diskIn(world, id)?.os);
    const results = await Promise.allSettled([...attached, free, root ?? ''].map((disk) => detach(disk)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    expect(results[3]).toMatchObject({ reason: expect.any(Refused) });
    world.advance(MINUTE);
    expect(attached.filter(isHeld)).toEqual([]);
  });

  it('do not delay the first if the permits of the others have ended', async () => {
    const { world, attached, detach, isHeld } = scene(3);
    const results = await Promise.allSettled(attached.map((disk, nth) => detach(disk, nth === 0 ? granted : over)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(results[1]).toMatchObject({ reason: expect.any(ProofExpired) });
    world.advance(MINUTE);
    expect(attached.map(isHeld)).toEqual([false, true, true]);
  });

  it.each([
    ['a lock on one disk', 'ScopeLocked', 409],
    ['a missing permission on one disk', 'LinkedAuthorizationFailed', 403],
  ])('are sent one by one if Azure declines the call for all: %s', async (_, code, status) => {
    const { world, attached, detach, isHeld } = scene(3);
    addFault(world.parts.azure, {
      call: 'machine.attachDetachDataDisks',
      mishap: { kind: 'error', code, status },
      times: 1,
    });
    const results = await Promise.allSettled(attached.map((disk) => detach(disk)));
    expect(results[0]?.status).toBe('fulfilled');
    world.advance(MINUTE);
    expect(isHeld(attached[0] ?? '')).toBe(false);
  });

  it('are sent without the one whose run has ended, even if that is the first', async () => {
    const { world, attached, detach, isHeld } = scene(3);
    const ended = AbortSignal.abort(new Error('the run has ended'));
    const results = await Promise.allSettled(
      attached.map((disk, nth) => detach(disk, granted, nth === 0 ? ended : patient())),
    );
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    world.advance(MINUTE);
    expect(attached.map(isHeld)).toEqual([true, false, false]);
  });

  it('end with the first run that ends, because nothing continues for it', async () => {
    const { world, attached, detach, isHeld } = scene(2);
    const ends = new AbortController();
    const ending: Permit = { ...granted, check: () => ends.abort(new Error('the run has ended')) };
    const results = await Promise.allSettled([
      detach(attached[0] ?? '', granted, patient()),
      detach(attached[1] ?? '', ending, ends.signal),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    world.advance(MINUTE);
    expect(attached.map(isHeld)).toEqual([true, true]);
  });

  it('are not sent with a permit that ends at that moment, and the first is sent by itself', async () => {
    const { world, attached, detach, isHeld } = scene(2);
    const late = new AbortController();
    const ending: Permit = { check: () => late.abort(), ended: late.signal };
    const results = await Promise.allSettled(attached.map((disk, nth) => detach(disk, nth === 0 ? granted : ending)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    world.advance(MINUTE);
    expect(attached.map(isHeld)).toEqual([false, true]);
  });

  it('are checked one by one if one is for a former machine of that name', async () => {
    const { world, machine, cloud, attached, detach, isHeld } = scene(2);
    const former = { machine, incarnation: '00000000-0000-4000-8000-0000000f0e5e' };
    const results = await Promise.allSettled([
      detach(attached[0] ?? ''),
      cloud.detach(former, attached[1] ?? '', 'plain', granted, patient()),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(results[1]).toMatchObject({ reason: expect.any(Refused) });
    world.advance(MINUTE);
    expect(attached.map(isHeld)).toEqual([false, true]);
  });

  it('are not sent if no permit is valid', async () => {
    const { world, attached, detach, isHeld } = scene(2);
    const results = await Promise.allSettled(attached.map((disk) => detach(disk, over)));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    world.advance(MINUTE);
    expect(attached.map(isHeld)).toEqual([true, true]);
  });
});
