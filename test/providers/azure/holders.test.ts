import { describe, expect, it } from 'vitest';
import { PermissionDenied } from '../../../fencing/model/errors.ts';
import { machinesHoldingDisk } from '../../../providers/azure/disks.ts';
import { addFault } from '../../../sandbox/azure/faults.ts';
import { remove } from '../../../sandbox/azure/machines.ts';
import { addDisk, addMachine } from '../../../sandbox/azure/scenario.ts';
import { diskIn, machineIn } from '../../../sandbox/azure/state.ts';
import { azureWorld, cloudOf, MINUTE, patient } from '../../sandbox/azure/azure-world.ts';

const world = () => {
  const made = azureWorld();
  const machine = addMachine(made, { set: 'Pool' });
  const volume = (disk: string) => ({ driver: 'disk.csi.azure.com', handle: diskIn(made, disk)?.armId ?? disk });
  return { world: made, machine, volume, holders: cloudOf(made).holders };
};

describe('the holders of disks', () => {
  it('are read from each disk: none for a free disk, all for a shared one', async () => {
    const { world: azure, machine, volume, holders } = world();
    const other = addMachine(azure);
    const [held, free] = [addDisk(azure, {}, { machine }), addDisk(azure)];
    const attachment = { lun: 3, state: 'attached', forced: false } as const;
    const shared = addDisk(azure, {
      maxShares: 2,
      attachments: [
        { machine, ...attachment },
        { machine: other, ...attachment },
      ],
    });
    expect(await holders?.([held, free, shared, held].map(volume), patient())).toEqual([
      { disk: held, by: [machine] },
      { disk: free, by: [] },
      { disk: shared, by: [machine, other] },
    ]);
  });

  it('are unknown for a volume of another driver, and for a disk that is not found', async () => {
    const { world: azure, volume, holders } = world();
    const disk = addDisk(azure);
    expect(
      await holders?.([{ driver: 'file.csi.azure.com', handle: disk }, volume(`${disk}-gone`)], patient()),
    ).toEqual([]);
  });

  it('include the deleted machine until the disk releases it', async () => {
    const { world: azure, machine, volume, holders } = world();
    const disk = addDisk(azure, {}, { machine });
    Object.assign(azure.parts.azure.knobs, { disksHeldFor: 10 * MINUTE });
    const doomed = machineIn(azure, machine);
    if (doomed) remove(azure, doomed);
    azure.advance(MINUTE);
    expect(await holders?.([volume(disk)], patient())).toEqual([{ disk, by: [machine] }]);
    azure.advance(10 * MINUTE);
    expect(await holders?.([volume(disk)], patient())).toEqual([{ disk, by: [] }]);
  });

  it.each([
    ['it is held, but does not name the holder', { diskState: 'Reserved' }, null],
    [
      'it names something that is not a machine',
      { diskState: 'Attached', managedBy: '/subscriptions/s/somebody' },
      null,
    ],
    ['it has no holder', { diskState: 'Unattached' }, []],
  ] as const)('are what the disk says: %s', (_, disk, by) => {
    expect(machinesHoldingDisk({ location: 'westeurope', ...disk })).toEqual(by);
  });

  it('are an error if Azure does not answer', async () => {
    const { world: azure, machine, volume, holders } = world();
    const disk = addDisk(azure, {}, { machine });
    addFault(azure.parts.azure, { mishap: { kind: 'error', code: 'AuthorizationFailed', status: 403 } });
    await expect(holders?.([volume(disk)], patient())).rejects.toBeInstanceOf(PermissionDenied);
  });
});
