import { createHttpHeaders } from '@azure/core-rest-pipeline';
import { describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import {
  askWitnesses,
  attachedDisks,
  machinesHoldingDisk,
  viewDisks,
  whyDiskIsKept,
} from '../../../providers/azure/disks.ts';
import type { inProcessClient } from '../../../sandbox/azure/in-process-client.ts';
import { azureWorld, clientsOf, group, patient, prefix, subscription } from '../../sandbox/azure/azure-world.ts';

/** What a machine and its managed disks say about each other, field by field. */

const machine = `${prefix}/virtualmachines/node-1`;
const other = `${prefix}/virtualmachines/node-2`;
const disk = `${prefix}/disks/pvc-1`;
const location = 'westeurope';
const shared = 'attached to several machines, or a shared disk';
const unconfirmed = 'the disk itself does not report this attachment';

describe('whether a disk has to be kept', () => {
  it.each([
    ['no, it names only this machine', { managedBy: machine }, null],
    ['no, it names only this machine, twice', { managedBy: machine, managedByExtended: [machine.toUpperCase()] }, null],
    ['yes, it names none', {}, unconfirmed],
    ['yes, it names another one', { managedBy: other }, unconfirmed],
    ['yes, it also names another one', { managedBy: other, managedByExtended: [machine] }, shared],
    ['yes, it may have two holders', { managedBy: machine, maxShares: 2 }, shared],
    ['no, it may have only one holder', { managedBy: machine, maxShares: 1 }, null],
  ] as const)('%s', (_, said, why) => {
    const { managedByExtended, ...more } = { managedByExtended: [], ...said };
    expect(whyDiskIsKept(machine, { location, ...more, managedByExtended: [...managedByExtended] })).toBe(why);
  });

  it('yes, nothing is known about it', () => {
    expect(whyDiskIsKept(machine, null)).toBe(unconfirmed);
  });
});

it('the disks of a machine are its OS disk and its data disks, each in lower case', () => {
  const attached = (storageProfile: object) =>
    attachedDisks(machine, { location, storageProfile }, new Map([[disk, { location, managedBy: machine }]]));
  expect(attachedDisks(machine, { location }, new Map())).toEqual([]);
  expect(attached({ osDisk: { managedDisk: { id: 'OS-1' } } })).toEqual([
    { disk: 'os-1', state: 'attached', keep: 'OS disk' },
  ]);
  expect(attached({ osDisk: { vhd: { uri: 'https://Blob/os' } } })).toEqual([
    { disk: 'https://blob/os', state: 'attached', keep: 'OS disk' },
  ]);
  const dataDisks = [
    { lun: 1, managedDisk: { id: disk.toUpperCase() } },
    { lun: 2, managedDisk: { id: disk }, toBeDetached: true },
    { lun: 3, managedDisk: { id: `${disk}-unread` } },
    { lun: 4, vhd: { uri: 'https://Blob/data' } },
    { lun: 5 },
  ];
  expect(attached({ dataDisks })).toEqual([
    { disk, state: 'attached', keep: null },
    { disk, state: 'detaching', keep: null },
    { disk: `${disk}-unread`, state: 'attached', keep: unconfirmed },
    { disk: 'https://blob/data', state: 'attached', keep: 'unmanaged disk' },
    { disk: 'lun 5', state: 'attached', keep: 'unmanaged disk' },
  ]);
});

describe('the machines that hold a disk', () => {
  it.each(['Unattached', 'ActiveSAS', 'ActiveSASFrozen', 'ReadyToUpload', 'ActiveUpload'])(
    'are none if it is %s and names none',
    (diskState) => expect(machinesHoldingDisk({ location, diskState })).toEqual([]),
  );

  it.each(['Attached', 'Frozen', 'Reserved', 'SomethingNew', ''])(
    'are unknown if it is "%s" and names none',
    (diskState) => expect(machinesHoldingDisk({ location, diskState })).toBeNull(),
  );

  it('are those that it names, if its state agrees', () => {
    const named = (diskState: string | undefined, ...managedByExtended: string[]) =>
      machinesHoldingDisk({
        location,
        managedBy: machine,
        managedByExtended,
        ...(diskState !== undefined && { diskState }),
      });
    expect(named('Attached', other, machine)).toEqual([machine, other]);
    expect(named('ActiveSAS')).toEqual([machine]);
    expect(named('Unattached')).toBeNull();
    expect(named(undefined)).toBeNull();
    expect(named('')).toBeNull();
    expect(named('Attached', 'somebody')).toBeNull();
  });
});

/** An ARM that always answers with this. */
const answering = (status: number, body: object) => {
  const world = azureWorld();
  const httpClient: ReturnType<typeof inProcessClient> = {
    sendRequest: async (request) => ({
      request,
      status,
      headers: createHttpHeaders({ 'content-type': 'application/json' }),
      bodyAsText: JSON.stringify(body),
    }),
  };
  return clientsOf(world, { httpClient });
};
const failing = (code: string, status = 404) => answering(status, { error: { code, message: code } });
const said = (properties: object, more: object = {}) => answering(200, { id: disk, location, properties, ...more });

describe('a witness', () => {
  const ask = (clients: ReturnType<typeof answering>, disks: readonly string[] = [disk]) =>
    askWitnesses(clients, machine, disks, patient());

  it.each(['Attached', 'Frozen', 'Reserved'])(
    'that is %s may be held by the machine although it names nobody',
    async (diskState) => {
      expect(await ask(said({ diskState }))).toBe('held');
    },
  );

  it('is what each disk says, and a disk in an unknown state says nothing', async () => {
    expect(await ask(said({ diskState: 'Unattached' }))).toBe('released');
    expect(await ask(said({ diskState: 'SomethingNew' }))).toBe('none');
    expect(await ask(said({}))).toBe('none');
    expect(await ask(said({ diskState: 'Attached' }, { managedBy: machine }))).toBe('held');
    expect(await ask(said({ diskState: 'Attached' }, { managedBy: other }))).toBe('released');
    expect(await ask(said({ diskState: 'Unattached' }, { managedBy: other }))).toBe('none');
    expect(await ask(said({ diskState: 'Attached' }, { managedBy: 'somebody' }))).toBe('none');
    expect(await ask(said({ diskState: 'Unattached' }), [])).toBe('none');
  });

  it.each([
    ['virtualmachines/node-1', 'virtualMachines/Node-1', 'virtualMachines/node-2'],
    [
      'virtualmachinescalesets/pool/virtualmachines/1',
      'virtualMachineScaleSets/POOL/virtualMachines/pool_1',
      'virtualMachineScaleSets/pool/virtualMachines/pool_2',
    ],
    [
      'virtualmachinescalesets/pool/virtualmachines/1',
      'virtualMachineScaleSets/pool/virtualMachines/1',
      'virtualMachineScaleSets/other/virtualMachines/1',
    ],
    [
      'virtualmachinescalesets/pool/virtualmachines/1',
      'virtualMachineScaleSets/pool/virtualMachines/1',
      'virtualMachines/1',
    ],
  ])(
    'may be held by the machine under the id of another group, because a move keeps the name (%s)',
    async (moved, same, stranger) => {
      const elsewhere = prefix.replace(`/${group.toLowerCase()}/`, '/elsewhere/');
      const heldBy = (managedBy: string) =>
        askWitnesses(said({ diskState: 'Attached' }, { managedBy }), `${prefix}/${moved}`, [disk], patient());
      expect(await heldBy(`${elsewhere}/${same}`)).toBe('held');
      expect(await heldBy(`${elsewhere}/${stranger}`)).toBe('released');
      expect(await heldBy(`${prefix}/${stranger}`)).toBe('released');
    },
  );

  it.each(['ResourceNotFound', 'ResourceGroupNotFound', 'NotFound'])(
    'is none if it does not exist (%s)',
    async (code) => {
      expect(await ask(failing(code))).toBe('none');
      await expect(ask(failing(code, 400))).rejects.toBeInstanceOf(Refused);
    },
  );

  it('is an error if ARM gives another error', async () => {
    await expect(ask(failing('SubscriptionNotFound'))).rejects.toBeInstanceOf(Refused);
    await expect(ask(failing('AuthorizationFailed', 403))).rejects.toBeInstanceOf(PermissionDenied);
    await expect(ask(failing('AuthorizationFailed', 403))).rejects.toThrow(/^disks\/read returned AuthorizationFailed/);
  });

  it('is an error if the answer is about another disk, or in another form', async () => {
    for (const clients of [
      answering(200, { id: `${disk}-other`, location, properties: { diskState: 'Unattached' } }),
      answering(200, { location, properties: { diskState: 'Unattached' } }),
      said({ diskState: 'Unattached' }, { managedBy: 7 }),
    ]) {
      await expect(ask(clients)).rejects.toBeInstanceOf(Unavailable);
      await expect(ask(clients)).rejects.toThrow(`disks/read is not about ${disk}`);
    }
  });
});

describe('what a diagnosis reads about disks', () => {
  const volume = { driver: 'disk.csi.azure.com', handle: disk };
  const view = (clients: ReturnType<typeof answering>) => viewDisks(clients, [volume, volume], patient());

  it('is what each disk says about itself', async () => {
    const lastOwnershipUpdateTime = '2026-11-21T08:00:00.000Z';
    const held = said(
      { diskState: 'Attached', maxShares: 2, LastOwnershipUpdateTime: lastOwnershipUpdateTime },
      { managedBy: machine, zones: ['1'] },
    );
    expect(await view(held)).toEqual([
      {
        disk,
        exists: true,
        state: 'Attached',
        zone: 'westeurope-1',
        shared: true,
        free: false,
        holders: [{ machine, state: 'attached', since: Date.parse(lastOwnershipUpdateTime) }],
      },
    ]);
    const free = { disk, exists: true, state: 'Unattached', zone: null, shared: false, free: true, holders: [] };
    expect(await view(said({ diskState: 'Unattached' }))).toEqual([free]);
    const unknown = { disk, exists: false, state: '', zone: null, shared: false, free: false, holders: [] };
    expect(await view(failing('ResourceNotFound'))).toEqual([unknown]);
  });

  it('omits disks of another subscription and volumes of another driver', async () => {
    const foreign = { ...volume, handle: disk.replace(subscription.toLowerCase(), 'another') };
    const others = [foreign, { driver: 'file.csi.azure.com', handle: disk }];
    expect(await viewDisks(said({ diskState: 'Unattached' }), others, patient())).toEqual([]);
  });
});
