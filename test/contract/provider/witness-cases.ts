import { expect, it } from 'vitest';
import type { ProviderHarness } from './harness.ts';

const patient = (): AbortSignal => new AbortController().signal;

/** What disks show about a machine that their cloud does not know, in every cloud. */
export const witnessCases = (harness: () => ProviderHarness): void => {
  it('counts disks as a release only if all of them are known and free', async () => {
    const disks = [await harness().disk(null), await harness().disk(null)];
    expect(await harness().cloud.witness(harness().unknownMachine, disks, patient())).toBe('released');
    expect(await harness().cloud.witness(harness().unknownMachine, [...disks, harness().unknownDisk], patient())).toBe(
      'none',
    );
  });

  it('counts a disk that another machine holds as a release', async () => {
    const disk = await harness().disk(await harness().machine());
    expect(await harness().cloud.witness(harness().unknownMachine, [disk], patient())).toBe('released');
  });

  it('counts a disk that names the machine as held', async () => {
    const machine = await harness().machine();
    const [free, held] = [await harness().disk(null), await harness().disk(machine)];
    expect(await harness().cloud.witness(machine, [free, held, harness().unknownDisk], patient())).toBe('held');
  });

  it('returns none for unknown disks, or without disks', async () => {
    expect(await harness().cloud.witness(harness().unknownMachine, [harness().unknownDisk], patient())).toBe('none');
    expect(await harness().cloud.witness(harness().unknownMachine, [], patient())).toBe('none');
  });
};
