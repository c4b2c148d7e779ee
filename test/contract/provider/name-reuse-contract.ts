import { beforeAll, describe, expect, it } from 'vitest';
import { CloudfenceError } from '../../../fencing/model/errors.ts';
import type { DiskId, MachineFacts, MachineId } from '../../../fencing/model/machine.ts';
import type { ProviderHarness } from './harness.ts';
import { granted } from '../../permits.ts';

/** A harness for a cloud in which the next machine may have the name of an earlier one. */
export interface NameReuseHarness extends ProviderHarness {
  /** Terminates the machine, and creates another one with its name that runs. */
  readonly succeed: (machine: MachineId) => Promise<void>;
  /** Attaches a free disk. */
  readonly attach: (disk: DiskId, machine: MachineId) => Promise<void>;
}

const patient = (): AbortSignal => new AbortController().signal;

const lookAt = async (harness: NameReuseHarness, machine: MachineId): Promise<MachineFacts> => {
  const [facts] = await harness.cloud.look([machine], { disks: true }, patient());
  if (!facts) throw new Error(`no facts of ${machine}`);
  return facts;
};

/** The cloud decides whether it rejects the call or has nothing to do. */
const perhapsDeclined = async (call: Promise<void>): Promise<void> => {
  try {
    await call;
  } catch (error) {
    expect(error).toBeInstanceOf(CloudfenceError);
  }
};

/** What fencing relies on if a machine has the name of an earlier one. */
export const nameReuseContract = (cloud: string, open: () => Promise<NameReuseHarness>): void => {
  describe(`names that are reused on ${cloud}`, () => {
    let harness: NameReuseHarness;
    beforeAll(async () => {
      harness = await open();
      return harness.close;
    }, 60_000);

    /** The disk belonged to the previous machine, and belongs to the present one. */
    const twoOfOneName = async () => {
      const machine = await harness.machine();
      const disk = await harness.disk(machine);
      const former = await lookAt(harness, machine);
      await harness.succeed(machine);
      await harness.attach(disk, machine);
      return { machine, disk, former, present: await lookAt(harness, machine) };
    };

    it('distinguishes the incarnations and their boots', async () => {
      const { former, present } = await twoOfOneName();
      expect(former.incarnation).not.toBeNull();
      expect(present.incarnation?.id).not.toBe(former.incarnation?.id);
      expect(present.generation).not.toBe(former.generation);
    });

    it.each(['plain', 'forced'] as const)(
      'does not detach a disk from the next machine that was to be detached from the previous one (%s)',
      async (mode) => {
        const { machine, disk, former } = await twoOfOneName();
        await harness.stop(machine);
        await perhapsDeclined(
          harness.cloud.detach(
            { machine, incarnation: former.incarnation?.id ?? null },
            disk,
            mode,
            granted,
            patient(),
          ),
        );
        await perhapsDeclined(harness.cloud.detach({ machine, incarnation: null }, disk, mode, granted, patient()));
        await harness.settle();
        expect(await harness.holderOf(disk)).toBe(machine);
      },
    );

    it('does not power off the next machine instead of the previous one', async () => {
      const { machine, former } = await twoOfOneName();
      await perhapsDeclined(
        harness.cloud.powerOff({ machine, incarnation: former.incarnation?.id ?? null }, granted, patient()),
      );
      await perhapsDeclined(harness.cloud.powerOff({ machine, incarnation: null }, granted, patient()));
      await harness.settle();
      expect((await lookAt(harness, machine)).power).toBe('running');
    });

    it('returns no incarnation for an unused name', async () => {
      expect(await lookAt(harness, harness.unknownMachine)).toMatchObject({ power: 'missing', incarnation: null });
    });
  });
};
