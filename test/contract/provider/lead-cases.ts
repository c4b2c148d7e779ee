import { expect, it } from 'vitest';
import type { DiskId, IdentitySource, MachineId } from '../../../fencing/model/machine.ts';
import type { ProviderHarness } from './harness.ts';

const patient = (): AbortSignal => new AbortController().signal;

/**
 * The machine of an attachment once its Node is gone: what the attacher noted, or else what the disk and the Node's
 * name say.
 */
const ledTo = async (
  { cloud, volumeOf }: ProviderHarness,
  noted: IdentitySource,
  disk: DiskId,
): Promise<readonly MachineId[]> => {
  const named = cloud.machineOf(noted);
  if (named !== null) return [named];
  const holdings = await cloud.holders?.([volumeOf(disk)], patient());
  expect(holdings).toMatchObject([{ disk }]);
  const by = holdings?.flatMap((holding) => holding.by) ?? [];
  return by.length > 0 ? by : (cloud.machinesNamed?.(noted.value, volumeOf(disk)) ?? []);
};

/** How an attachment leads to its machine, in every cloud. */
export const attachmentHintCases = (harness: () => ProviderHarness): void => {
  it('is led from an attachment to its machine, even if that is gone', async () => {
    const machine = await harness().machine();
    const disk = await harness().disk(machine);
    const noted = harness().attachedAs(machine);
    expect(await ledTo(harness(), noted, disk)).toEqual([machine]);
    await harness().terminate(machine);
    expect(await ledTo(harness(), noted, disk)).toContain(machine);
    const likely = harness().cloud.machineOf(noted) === null ? [noted.value] : [];
    const [facts] = await harness().cloud.look([machine], { disks: false }, patient());
    expect(facts?.nodeNames).toEqual(expect.arrayContaining(likely));
  });

  it('gets no holder for a disk that does not exist', async () => {
    expect((await harness().cloud.holders?.([harness().volumeOf(harness().unknownDisk)], patient())) ?? []).toEqual([]);
  });
};
