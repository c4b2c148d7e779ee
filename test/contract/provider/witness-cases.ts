import { expect, it } from 'vitest';
import type { Bench } from './bench.ts';

const patient = (): AbortSignal => new AbortController().signal;

/** What disks testify of a machine that their cloud does not know, in every cloud. */
export const witnessCases = (bench: () => Bench): void => {
  it('hears from free disks, all of them, that they were released', async () => {
    const disks = [await bench().disk(null), await bench().disk(null)];
    expect(await bench().cloud.witness(bench().unknownMachine, disks, patient())).toBe('released');
    expect(await bench().cloud.witness(bench().unknownMachine, [...disks, bench().unknownDisk], patient())).toBe(
      'none',
    );
  });

  it('hears from a disk that another machine holds that it was released', async () => {
    const disk = await bench().disk(await bench().machine());
    expect(await bench().cloud.witness(bench().unknownMachine, [disk], patient())).toBe('released');
  });

  it('hears from a disk that names the machine that it is held', async () => {
    const machine = await bench().machine();
    const [free, held] = [await bench().disk(null), await bench().disk(machine)];
    expect(await bench().cloud.witness(machine, [free, held, bench().unknownDisk], patient())).toBe('held');
  });

  it('has no witness in unknown disks, or in none', async () => {
    expect(await bench().cloud.witness(bench().unknownMachine, [bench().unknownDisk], patient())).toBe('none');
    expect(await bench().cloud.witness(bench().unknownMachine, [], patient())).toBe('none');
  });
};
