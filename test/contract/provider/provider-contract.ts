import { beforeAll, describe, expect, it } from 'vitest';
import { ProofExpired, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import type { MachineFacts, MachineId, MachineTarget } from '../../../fencing/model/machine.ts';
import type { Bench } from './bench.ts';
import { leadCases } from './lead-cases.ts';
import { witnessCases } from './witness-cases.ts';
import { expired, granted } from '../../permits.ts';

const patient = (): AbortSignal => new AbortController().signal;

const lookAt = async (bench: Bench, machine: MachineId, disks = false): Promise<MachineFacts> => {
  const [facts] = await bench.cloud.look([machine], { disks }, patient());
  if (!facts) throw new Error(`no facts of ${machine}`);
  return facts;
};

/** As fencing names it: the machine that was looked at, and no later one of its name. */
const targetOf = async (bench: Bench, machine: MachineId): Promise<MachineTarget> => {
  const { incarnation } = await lookAt(bench, machine);
  return { machine, incarnation: incarnation?.id ?? null };
};

const dataDisks = (facts: MachineFacts) => facts.disks.filter((disk) => disk.keep === null).map((disk) => disk.disk);

/** What fencing relies on in every cloud; `open` gives a bench of its own to the suite. */
export const providerContract = (cloud: string, open: () => Promise<Bench>): void => {
  describe(`the provider's contract on ${cloud}`, () => {
    let bench: Bench;
    beforeAll(async () => {
      bench = await open();
      return bench.close;
    }, 60_000);
    powers(() => bench);
    disks(() => bench);
    detaching(() => bench);
    witnessCases(() => bench);
    leadCases(() => bench);
  });
};

const powers = (bench: () => Bench): void => {
  it('calls a running machine running, with a boot generation', async () => {
    const facts = await lookAt(bench(), await bench().machine());
    expect(facts).toMatchObject({ power: 'running', forGood: false, generation: expect.any(String) });
  });

  it('calls a stopped machine off, and not for good', async () => {
    const machine = await bench().machine();
    await bench().stop(machine);
    expect(await lookAt(bench(), machine)).toMatchObject({ power: 'off', forGood: false });
  });

  it('gives a machine that was started again another generation', async () => {
    const machine = await bench().machine();
    const before = await lookAt(bench(), machine);
    await bench().stop(machine);
    await bench().start(machine);
    const after = await lookAt(bench(), machine);
    expect(after.power).toBe('running');
    expect(after.generation).not.toBe(before.generation);
  });

  it('says of a terminated machine no more than its cloud does', async () => {
    const machine = await bench().machine();
    await bench().terminate(machine);
    expect(await lookAt(bench(), machine)).toMatchObject(bench().afterTermination);
  });

  it('says of each state what it proves, and no more', async () => {
    const said: Record<string, string> = {};
    for (const { state, machine } of bench().proofTable) said[state] = (await lookAt(bench(), await machine())).power;
    expect(said).toEqual(Object.fromEntries(bench().proofTable.map(({ state, power }) => [state, power])));
    expect(bench().proofTable).not.toEqual([]);
  });

  it('calls an unknown machine missing, and still answers for its neighbours', async () => {
    const machines = [
      await bench().machine(),
      bench().unknownMachine,
      await bench().machine(),
      await bench().machine(),
    ];
    const facts = await bench().cloud.look(machines, { disks: true }, patient());
    expect(facts.map((one) => [one.machine, one.power])).toEqual(
      machines.map((id) => [id, id === bench().unknownMachine ? 'missing' : 'running']),
    );
  });

  it('powers a running machine off', async () => {
    const machine = await bench().machine();
    await bench().cloud.powerOff(await targetOf(bench(), machine), granted, patient());
    await bench().settle();
    expect((await lookAt(bench(), machine)).power).toBe(bench().afterPowerOff);
  });

  it('does not power off on an expired permit', async () => {
    const machine = await bench().machine();
    await expect(bench().cloud.powerOff(await targetOf(bench(), machine), expired, patient())).rejects.toBeInstanceOf(
      ProofExpired,
    );
    await bench().settle();
    expect((await lookAt(bench(), machine)).power).toBe('running');
  });

  it('has no answer once the caller has given up', async () => {
    const machine = await bench().machine();
    await expect(bench().cloud.look([machine], { disks: false }, AbortSignal.abort())).rejects.toBeInstanceOf(
      Unavailable,
    );
  });

  it('finds its own machine again in what the cluster carries', async () => {
    const machine = await bench().machine();
    expect(bench().cloud.machineOf(bench().carrierOf(machine))).toBe(machine);
  });
};

const disks = (bench: () => Bench): void => {
  it('shows data disks free to detach and the root disk to be kept', async () => {
    const machine = await bench().machine();
    const disk = await bench().disk(machine);
    const facts = await lookAt(bench(), machine, true);
    expect(dataDisks(facts)).toEqual([disk]);
    expect(facts.disks.filter((one) => one.keep !== null)).toHaveLength(1);
  });

  it('shows no disks unless they are asked for', async () => {
    const machine = await bench().machine();
    await bench().disk(machine);
    expect((await lookAt(bench(), machine)).disks).toEqual([]);
  });

  it('finds its own disk again in a volume handle', async () => {
    const disk = await bench().disk(null);
    expect(bench().cloud.diskOf(bench().volumeOf(disk))).toBe(disk);
  });
};

const detaching = (bench: () => Bench): void => {
  const stoppedWithDisk = async () => {
    const machine = await bench().machine();
    const disk = await bench().disk(machine);
    await bench().stop(machine);
    return { machine, disk };
  };

  it.each(['plain', 'forced'] as const)('frees a data disk of a stopped machine (%s)', async (manner) => {
    const { machine, disk } = await stoppedWithDisk();
    await bench().cloud.detach(await targetOf(bench(), machine), disk, manner, granted, patient());
    await bench().settle();
    expect(await bench().holderOf(disk)).toBeNull();
    expect(dataDisks(await lookAt(bench(), machine, true))).toEqual([]);
  });

  it('takes a disk that is detached already for detached', async () => {
    const machine = await bench().machine();
    await expect(
      bench().cloud.detach(await targetOf(bench(), machine), await bench().disk(null), 'plain', granted, patient()),
    ).resolves.toBeUndefined();
    await expect(
      bench().cloud.detach(await targetOf(bench(), machine), bench().unknownDisk, 'plain', granted, patient()),
    ).resolves.toBeUndefined();
  });

  it('leaves a disk alone that is attached to another machine', async () => {
    const { machine, disk } = await stoppedWithDisk();
    const other = await bench().machine();
    await bench().cloud.detach(await targetOf(bench(), other), disk, 'forced', granted, patient());
    await bench().settle();
    expect(await bench().holderOf(disk)).toBe(machine);
  });

  it('is refused the root disk of a running machine', async () => {
    const machine = await bench().machine();
    const [root] = (await lookAt(bench(), machine, true)).disks;
    if (!root) throw new Error('the machine has no disk');
    await expect(
      bench().cloud.detach(await targetOf(bench(), machine), root.disk, 'plain', granted, patient()),
    ).rejects.toBeInstanceOf(Refused);
    expect(await bench().holderOf(root.disk)).toBe(machine);
  });

  it('does not detach on an expired permit, nor once the caller has given up', async () => {
    const { machine, disk } = await stoppedWithDisk();
    await expect(
      bench().cloud.detach(await targetOf(bench(), machine), disk, 'plain', expired, patient()),
    ).rejects.toBeInstanceOf(ProofExpired);
    await expect(
      bench().cloud.detach(await targetOf(bench(), machine), disk, 'plain', granted, AbortSignal.abort()),
    ).rejects.toBeInstanceOf(Unavailable);
    await bench().settle();
    expect(await bench().holderOf(disk)).toBe(machine);
  });
};
