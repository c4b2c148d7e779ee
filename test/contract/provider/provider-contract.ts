import { beforeAll, describe, expect, it } from 'vitest';
import { ProofExpired, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import type { MachineFacts, MachineId, MachineTarget } from '../../../fencing/model/machine.ts';
import type { ProviderHarness } from './harness.ts';
import { attachmentHintCases } from './attachment-hint-cases.ts';
import { witnessCases } from './witness-cases.ts';
import { expired, granted } from '../../permits.ts';

const patient = (): AbortSignal => new AbortController().signal;

const lookAt = async (harness: ProviderHarness, machine: MachineId, disks = false): Promise<MachineFacts> => {
  const [facts] = await harness.cloud.look([machine], { disks }, patient());
  if (!facts) throw new Error(`no facts of ${machine}`);
  return facts;
};

/** Names the machine that was looked at, and no later machine of the same name. */
const targetOf = async (harness: ProviderHarness, machine: MachineId): Promise<MachineTarget> => {
  const { incarnation } = await lookAt(harness, machine);
  return { machine, incarnation: incarnation?.id ?? null };
};

const dataDisks = (facts: MachineFacts) => facts.disks.filter((disk) => disk.keep === null).map((disk) => disk.disk);

/** What fencing relies on in every cloud. `open` gives the suite its own harness. */
export const providerContract = (cloud: string, open: () => Promise<ProviderHarness>): void => {
  describe(`the provider's contract on ${cloud}`, () => {
    let harness: ProviderHarness;
    beforeAll(async () => {
      harness = await open();
      return harness.close;
    }, 60_000);
    powers(() => harness);
    disks(() => harness);
    detaching(() => harness);
    witnessCases(() => harness);
    attachmentHintCases(() => harness);
  });
};

const powers = (harness: () => ProviderHarness): void => {
  it('calls a running machine running, with a boot generation', async () => {
    const facts = await lookAt(harness(), await harness().machine());
    expect(facts).toMatchObject({ power: 'running', forGood: false, generation: expect.any(String) });
  });

  it('calls a stopped machine off, but not terminated', async () => {
    const machine = await harness().machine();
    await harness().stop(machine);
    expect(await lookAt(harness(), machine)).toMatchObject({ power: 'off', forGood: false });
  });

  it('gives a machine that was started again another generation', async () => {
    const machine = await harness().machine();
    const before = await lookAt(harness(), machine);
    await harness().stop(machine);
    await harness().start(machine);
    const after = await lookAt(harness(), machine);
    expect(after.power).toBe('running');
    expect(after.generation).not.toBe(before.generation);
  });

  it('says as much about a terminated machine as its cloud does', async () => {
    const machine = await harness().machine();
    await harness().terminate(machine);
    expect(await lookAt(harness(), machine)).toMatchObject(harness().afterTermination);
  });

  it('calls each state what it proves, and no more', async () => {
    const said: Record<string, string> = {};
    for (const { state, machine } of harness().proofTable)
      said[state] = (await lookAt(harness(), await machine())).power;
    expect(said).toEqual(Object.fromEntries(harness().proofTable.map(({ state, power }) => [state, power])));
    expect(harness().proofTable).not.toEqual([]);
  });

  it('calls an unknown machine missing, and still answers about the others', async () => {
    const machines = [
      await harness().machine(),
      harness().unknownMachine,
      await harness().machine(),
      await harness().machine(),
    ];
    const facts = await harness().cloud.look(machines, { disks: true }, patient());
    expect(facts.map((one) => [one.machine, one.power])).toEqual(
      machines.map((id) => [id, id === harness().unknownMachine ? 'missing' : 'running']),
    );
  });

  it('powers off a running machine', async () => {
    const machine = await harness().machine();
    await harness().cloud.powerOff(await targetOf(harness(), machine), granted, patient());
    await harness().settle();
    expect((await lookAt(harness(), machine)).power).toBe(harness().afterPowerOff);
  });

  it('does not power off with an expired permit', async () => {
    const machine = await harness().machine();
    await expect(
      harness().cloud.powerOff(await targetOf(harness(), machine), expired, patient()),
    ).rejects.toBeInstanceOf(ProofExpired);
    await harness().settle();
    expect((await lookAt(harness(), machine)).power).toBe('running');
  });

  it('returns no answer once the caller has given up', async () => {
    const machine = await harness().machine();
    await expect(harness().cloud.look([machine], { disks: false }, AbortSignal.abort())).rejects.toBeInstanceOf(
      Unavailable,
    );
  });

  it('recognizes its own machine in what the cluster stores', async () => {
    const machine = await harness().machine();
    expect(harness().cloud.machineOf(harness().identitySourceOf(machine))).toBe(machine);
  });
};

const disks = (harness: () => ProviderHarness): void => {
  it('reports data disks as free to detach, and the root disk as one to keep', async () => {
    const machine = await harness().machine();
    const disk = await harness().disk(machine);
    const facts = await lookAt(harness(), machine, true);
    expect(dataDisks(facts)).toEqual([disk]);
    expect(facts.disks.filter((one) => one.keep !== null)).toHaveLength(1);
  });

  it('reports no disks unless asked for them', async () => {
    const machine = await harness().machine();
    await harness().disk(machine);
    expect((await lookAt(harness(), machine)).disks).toEqual([]);
  });

  it('recognizes its own disk in a volume handle', async () => {
    const disk = await harness().disk(null);
    expect(harness().cloud.diskOf(harness().volumeOf(disk))).toBe(disk);
  });
};

const detaching = (harness: () => ProviderHarness): void => {
  const stoppedWithDisk = async () => {
    const machine = await harness().machine();
    const disk = await harness().disk(machine);
    await harness().stop(machine);
    return { machine, disk };
  };

  it.each(['plain', 'forced'] as const)('frees a data disk of a stopped machine (%s)', async (mode) => {
    const { machine, disk } = await stoppedWithDisk();
    await harness().cloud.detach(await targetOf(harness(), machine), disk, mode, granted, patient());
    await harness().settle();
    expect(await harness().holderOf(disk)).toBeNull();
    expect(dataDisks(await lookAt(harness(), machine, true))).toEqual([]);
  });

  it('treats a disk that is already detached as detached', async () => {
    const machine = await harness().machine();
    await expect(
      harness().cloud.detach(
        await targetOf(harness(), machine),
        await harness().disk(null),
        'plain',
        granted,
        patient(),
      ),
    ).resolves.toBeUndefined();
    await expect(
      harness().cloud.detach(await targetOf(harness(), machine), harness().unknownDisk, 'plain', granted, patient()),
    ).resolves.toBeUndefined();
  });

  it('does not touch a disk that is attached to another machine', async () => {
    const { machine, disk } = await stoppedWithDisk();
    const other = await harness().machine();
    await harness().cloud.detach(await targetOf(harness(), other), disk, 'forced', granted, patient());
    await harness().settle();
    expect(await harness().holderOf(disk)).toBe(machine);
  });

  it('is not allowed to detach the root disk of a running machine', async () => {
    const machine = await harness().machine();
    const [root] = (await lookAt(harness(), machine, true)).disks;
    if (!root) throw new Error('the machine has no disk');
    await expect(
      harness().cloud.detach(await targetOf(harness(), machine), root.disk, 'plain', granted, patient()),
    ).rejects.toBeInstanceOf(Refused);
    expect(await harness().holderOf(root.disk)).toBe(machine);
  });

  it('does not detach with an expired permit, or after the caller has given up', async () => {
    const { machine, disk } = await stoppedWithDisk();
    await expect(
      harness().cloud.detach(await targetOf(harness(), machine), disk, 'plain', expired, patient()),
    ).rejects.toBeInstanceOf(ProofExpired);
    await expect(
      harness().cloud.detach(await targetOf(harness(), machine), disk, 'plain', granted, AbortSignal.abort()),
    ).rejects.toBeInstanceOf(Unavailable);
    await harness().settle();
    expect(await harness().holderOf(disk)).toBe(machine);
  });
};
