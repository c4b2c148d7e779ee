import { expect, it } from 'vitest';
import type { ProviderHarness } from './harness.ts';

const patient = (): AbortSignal => new AbortController().signal;

/** What disks testify of a machine that their cloud does not know, in every cloud. */
export const witnessCases = (harness: () => ProviderHarness): void => {
  it('hears from free disks, all of them, that they were released', async () => {
    const disks = [await harness().disk(null), await harness().disk(null)];
    expect(await harness().cloud.witness(harness().unknownMachine, disks, patient())).toBe('released');
    expect(await harness().cloud.witness(harness().unknownMachine, [...disks, harness().unknownDisk], patient())).toBe(
      'none',
    );
  });

  it('hears from a disk that another machine holds that it was released', async () => {
    const disk = await harness().disk(await harness().machine());
    expect(await harness().cloud.witness(harness().unknownMachine, [disk], patient())).toBe('released');
  });

  it('hears from a disk that names the machine that it is held', async () => {
    const machine = await harness().machine();
    const [free, held] = [await harness().disk(null), await harness().disk(machine)];
    expect(await harness().cloud.witness(machine, [free, held, harness().unknownDisk], patient())).toBe('held');
  });

  it('has no witness in unknown disks, or in none', async () => {
    expect(await harness().cloud.witness(harness().unknownMachine, [harness().unknownDisk], patient())).toBe('none');
    expect(await harness().cloud.witness(harness().unknownMachine, [], patient())).toBe('none');
  });
};
