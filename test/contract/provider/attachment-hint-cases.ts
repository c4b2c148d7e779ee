import { expect, it } from 'vitest';
import type { DiskId, IdentitySource, MachineId } from '../../../fencing/model/machine.ts';
import type { ProviderHarness } from './harness.ts';

const patient = (): AbortSignal => new AbortController().signal;

/**
 * How Cloudfence finds the machine of an attachment whose Node is gone: what the attacher wrote, or else what the disk
 * and the name of the Node say.
 */
const machinesOfAttachment = async (
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
  it('finds the machine of an attachment, even if the machine is gone', async () => {
    const machine = await harness().machine();
    const disk = await harness().disk(machine);
    const noted = harness().attachedAs(machine);
    expect(await machinesOfAttachment(harness(), noted, disk)).toEqual([machine]);
    await harness().terminate(machine);
    expect(await machinesOfAttachment(harness(), noted, disk)).toContain(machine);
    const likely = harness().cloud.machineOf(noted) === null ? [noted.value] : [];
    const [facts] = await harness().cloud.look([machine], { disks: false }, patient());
    expect(facts?.nodeNames).toEqual(expect.arrayContaining(likely));
  });

  it('returns no holder for a disk that does not exist', async () => {
    expect((await harness().cloud.holders?.([harness().volumeOf(harness().unknownDisk)], patient())) ?? []).toEqual([]);
  });
};
