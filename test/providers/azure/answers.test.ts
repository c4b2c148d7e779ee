import { afterEach, describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { azureCloud } from '../../../providers/azure/index.ts';
import { azureClients } from '../../../providers/azure/client.ts';
import { credential, patient, prefix, subscription } from '../../sandbox/azure/azure-world.ts';
import { granted } from '../../permits.ts';
import { openStandIn, type Answered, type StandIn } from '../stand-in.ts';

/** Answers of ARM that the sandbox never gives by itself. The SDK reads them from a socket. */

const VM = `${prefix}/virtualmachines/db-0`;
const INSTANCE = `${prefix}/virtualmachinescalesets/pool/virtualmachines/3`;
const DISK = `${prefix}/disks/pvc-1`;
const OS_DISK = `${prefix}/disks/os`;

const OTHER_SUBSCRIPTION = '22222222-2222-4222-8222-222222222222';

let standIn: StandIn | undefined;
afterEach(() => standIn?.close());

const failure = (code: string, status = 404): Answered => ({ status, body: { error: { code, message: code } } });

const cloudAnswering = async (machine: Answered, disk: Answered = failure('ResourceNotFound')) => {
  standIn = await openStandIn(({ url }) => (/\/disks\//i.test(url) ? disk : machine));
  return azureCloud(azureClients({ subscription, credential, endpoint: standIn.url }));
};

const look = async (id: string, machine: Answered, disk?: Answered) =>
  (await (await cloudAnswering(machine, disk)).look([id], { disks: true }, patient()))[0];

const vm = (codes: readonly string[] | null, properties: object = {}): Answered => ({
  body: {
    id: VM,
    name: 'DB-0',
    location: 'westeurope',
    properties: {
      vmId: 'A0000000-0000-4000-8000-000000000001',
      provisioningState: 'Succeeded',
      storageProfile: { osDisk: { managedDisk: { id: OS_DISK } } },
      ...(codes && { instanceView: { statuses: codes.map((code) => ({ code })) } }),
      ...properties,
    },
  },
});

const disk = (properties: object, more: object = {}, id = DISK): Answered => ({
  body: { id, location: 'westeurope', ...more, properties },
});
const osDisk = (diskState: string): Answered => disk({ diskState }, {}, OS_DISK);

describe('a machine that ARM shows', () => {
  const off = ['ProvisioningState/succeeded', 'PowerState/deallocated'];
  it.each([
    ['deallocated', vm(off), 'off'],
    ['deallocated, and running', vm([...off, 'PowerState/running']), 'unknown'],
    [
      'deallocated, and its view under an operation',
      vm(['ProvisioningState/updating', 'PowerState/deallocated']),
      'stopping',
    ],
    ['deallocated, and its model under an operation', vm(off, { provisioningState: 'Updating' }), 'stopping'],
    ['deallocated, and about to be deleted', vm(off, { provisioningState: 'Deleting' }), 'stopping'],
    ['deallocated, after a failed operation', vm(off, { provisioningState: 'Failed' }), 'unknown'],
    ['deallocated, without a provisioning state', vm(off, { provisioningState: undefined }), 'unknown'],
    ['deallocated, with an OS disk that is frozen', vm(off), 'suspended', osDisk('Frozen')],
    [
      'deallocated, able to hibernate, with an OS disk that cannot be read',
      vm(off, { additionalCapabilities: { hibernationEnabled: true } }),
      'suspended',
    ],
    [
      'deallocated, able to hibernate, with an OS disk in reserve',
      vm(off, { additionalCapabilities: { hibernationEnabled: true } }),
      'off',
      osDisk('Reserved'),
    ],
    ['hibernated', vm([...off, 'HibernationState/Hibernated']), 'suspended'],
    ['stopped', vm(['PowerState/stopped']), 'off-if-repeated'],
    ['without a vmId', vm(off, { vmId: undefined }), 'unknown'],
    ['without an instance view', vm(null), 'unknown'],
    ['with an empty instance view', vm([]), 'unknown'],
  ])('%s is %s', async (_, machine, power, itsDisk?: Answered) => {
    expect(await look(VM, machine, itsDisk)).toMatchObject({ machine: VM, power });
  });

  it.each([
    ['deallocated, under an operation', ['ProvisioningState/updating', 'PowerState/deallocated'], true],
    ['stopped, under an operation', ['ProvisioningState/updating', 'PowerState/stopped'], true],
    ['deallocating', ['ProvisioningState/updating', 'PowerState/deallocating'], undefined],
    ['starting', ['ProvisioningState/updating', 'PowerState/starting'], undefined],
    [
      'hibernated, under an operation',
      ['ProvisioningState/updating', 'PowerState/deallocated', 'HibernationState/Hibernated'],
      undefined,
    ],
    ['deallocated', off, undefined],
  ])('%s: whether it is off apart from an operation', async (_, codes, offUnderOperation) => {
    expect((await look(VM, vm(codes)))?.offUnderOperation).toBe(offUnderOperation);
  });
});

describe('a machine that ARM does not find', () => {
  it.each([
    [VM, 'ResourceNotFound', 'missing'],
    [VM, 'NotFound', 'unknown'],
    [VM, 'ParentResourceNotFound', 'unknown'],
    [VM, 'ResourceGroupNotFound', 'unknown'],
    [VM, 'SubscriptionNotFound', 'unknown'],
    [INSTANCE, 'ResourceNotFound', 'missing'],
    [INSTANCE, 'NotFound', 'unknown'],
    [INSTANCE, 'ParentResourceNotFound', 'missing'],
    [INSTANCE, 'ResourceGroupNotFound', 'unknown'],
    [INSTANCE, 'SubscriptionNotFound', 'unknown'],
  ])('%s, %s: %s', async (id, code, power) => {
    expect(await look(id, failure(code))).toMatchObject({
      power,
      forGood: false,
      generation: null,
      evidence: { state: code },
    });
  });

  it.each([
    [failure('AuthorizationFailed', 403), PermissionDenied],
    [failure('LinkedAuthorizationFailed', 403), PermissionDenied],
    [failure('InvalidParameter', 400), Refused],
    [{ status: 404, body: '<html>no such page</html>' }, Refused],
    [{ status: 404, body: {} }, Refused],
  ])('is an error for any other reason (%o)', async (answer, kind) => {
    await expect(look(INSTANCE, answer)).rejects.toBeInstanceOf(kind);
  });

  it.each([
    [400, Refused],
    [403, PermissionDenied],
    [409, Refused],
  ])('is not gone because of the code ResourceNotFound with the status %i', async (status, kind) => {
    await expect(look(VM, failure('ResourceNotFound', status))).rejects.toBeInstanceOf(kind);
  });
});

it('a machine of another subscription is not served', async () => {
  const { unservedScope } = await cloudAnswering(failure('ResourceNotFound'));
  const named = (id: string) => unservedScope({ source: 'providerID', driver: null, value: `azure://${id}` });
  expect(named(VM)).toBeNull();
  const another = VM.replace(/^\/subscriptions\/[^/]+/, '/subscriptions/a0000000-0000-4000-8000-00000000000b');
  expect(named(another)?.scope).toBe('subscription a0000000-0000-4000-8000-00000000000b');
});

describe('a machine of the same name', () => {
  it('in another resource group is not the machine that was asked for', async () => {
    const other = VM.replace(/resourcegroups\/[^/]+/, 'resourcegroups/another');
    const answer: Answered = { body: { ...Object(vm(['PowerState/deallocated']).body), id: other } };
    await expect(look(VM, answer)).rejects.toBeInstanceOf(Unavailable);
  });

  it('that does not say which one it is is not powered off', async () => {
    const cloud = await cloudAnswering(vm(['PowerState/running'], { vmId: undefined }));
    const target = { machine: VM, incarnation: 'a0000000-0000-4000-8000-000000000001' };
    await expect(cloud.powerOff(target, granted, patient())).rejects.toBeInstanceOf(Refused);
    expect(standIn?.asked.map(({ method }) => method)).toEqual(['GET']);
  });
});

describe('an instance of a scale set that ARM does not find', () => {
  const set = `${prefix}/virtualMachineScaleSets/Pool/virtualMachines`;
  const listed = (...ids: readonly string[]): Answered => ({
    body: { value: ids.map((id) => ({ id, location: 'westeurope' })) },
  });
  const lookAt = async (machine: Answered, list: (page: number) => Answered) => {
    let page = 0;
    standIn = await openStandIn(({ url }) => (/\/virtualmachines\/3\b/i.test(url) ? machine : list(page++)));
    const [facts] = await azureCloud(azureClients({ subscription, credential, endpoint: standIn.url })).look(
      [INSTANCE],
      { disks: true },
      patient(),
    );
    return facts;
  };

  it.each([
    ['ResourceNotFound', 404],
    ['NotFound', 404],
    ['InstanceIdNotFound', 404],
    ['InvalidParameter', 400],
    ['BadRequest', 400],
  ])('is gone if its set does not list it, whatever the code (%s, %i)', async (code, status) => {
    expect(await lookAt(failure(code, status), () => listed(`${set}/1`, `${set}/33`))).toMatchObject({
      power: 'missing',
      evidence: { state: code },
    });
    await standIn?.close();
    expect(await lookAt(failure(code, status), () => listed())).toMatchObject({ power: 'missing' });
    await standIn?.close();
    expect(await lookAt(failure(code, status), () => listed(`${set}/1`, `${set}/3`))).toMatchObject({
      power: 'unknown',
      evidence: { state: `${code}, although its scale set lists it` },
    });
  });

  it('is searched for on every page, up to a limit', async () => {
    const paged =
      (last: number, name: (page: number) => string) =>
      (page: number): Answered => ({
        body: {
          value: [{ id: `${set}/${name(page)}`, location: 'westeurope' }],
          ...(page < last && { nextLink: `${standIn?.url}${set}?$skiptoken=${page}` }),
        },
      });
    expect(
      await lookAt(
        failure('InvalidParameter', 400),
        paged(4, (page) => `${page + 10}`),
      ),
    ).toMatchObject({ power: 'missing' });
    await standIn?.close();
    expect(
      await lookAt(
        failure('InvalidParameter', 400),
        paged(4, (page) => (page === 4 ? '3' : `${page + 10}`)),
      ),
    ).toMatchObject({ power: 'unknown' });
    await standIn?.close();
    expect(
      await lookAt(
        failure('InvalidParameter', 400),
        paged(Infinity, (page) => `${page + 10}`),
      ),
    ).toMatchObject({ power: 'unknown' });
    expect(standIn?.asked.length).toBeLessThan(30);
  });

  it.each([
    ['of another set', listed(`${set.replace('Pool', 'Other')}/1`)],
    [
      'of a set of that name in another group',
      listed(`${set.replace(/resourcegroups\/[^/]+/i, 'resourceGroups/other')}/1`),
    ],
    [
      'of a set of that name in another subscription',
      listed(`${set.replace(subscription.toLowerCase(), OTHER_SUBSCRIPTION)}/1`),
    ],
    ['of standalone machines', listed(`${prefix}/virtualMachines/a`)],
    ['of entries without an ID', { body: { value: [{}] } }],
    ['with an entry of another set', listed(`${set}/1`, `${set.replace('Pool', 'Other')}/2`)],
    ['with an entry without an ID', { body: { value: [{ id: `${set}/1`, location: 'westeurope' }, {}] } }],
    ['not found with meaningless text', failure('NotFound')],
    ['whose group is not found', failure('ResourceGroupNotFound')],
  ])('is not gone because of a list %s', async (_, list) => {
    expect(await lookAt(failure('InvalidParameter', 400), () => list)).toMatchObject({ power: 'unknown' });
  });

  it.each([
    ['without a list', { body: {} }, Unavailable],
    ['that is empty', { body: '' }, Unavailable],
    ['that is a page', { status: 404, body: '<html></html>' }, Refused],
    ['that is declined', failure('AuthorizationFailed', 403), PermissionDenied],
    ['that is declined for the same reason', failure('InvalidParameter', 400), Refused],
  ])('is not gone because of an answer %s', async (_, list, kind) => {
    await expect(lookAt(failure('InvalidParameter', 400), () => list)).rejects.toBeInstanceOf(kind);
  });
});

describe('the disk of a machine that is gone', () => {
  it.each([
    ['free', disk({ diskState: 'Unattached' }), 'released'],
    ['free, as far as it says', disk({}), 'none'],
    ['free, in an unknown state', disk({ diskState: 'Waiting' }), 'none'],
    ['free, but being read', disk({ diskState: 'ActiveSAS' }), 'released'],
    ['free and held', disk({ diskState: 'Unattached' }, { managedBy: `${VM}-1` }), 'none'],
    ['held by the machine', disk({ diskState: 'Reserved' }, { managedBy: VM.toUpperCase() }), 'held'],
    ['held by another machine', disk({ diskState: 'Attached' }, { managedBy: `${VM}-1` }), 'released'],
    [
      'shared with the machine',
      disk({ maxShares: 2, diskState: 'Attached' }, { managedBy: `${VM}-1`, managedByExtended: [`${VM}-1`, VM] }),
      'held',
    ],
    ['held without a named holder', disk({ diskState: 'Attached' }), 'held'],
    ['held by an unreadable holder', disk({}, { managedBy: 'somebody' }), 'none'],
    ['also gone', failure('ResourceNotFound'), 'none'],
  ])('is a witness only if it is free or another machine holds it: %s', async (_, answer, witness) => {
    expect(await (await cloudAnswering(failure('ResourceNotFound'), answer)).witness(VM, [DISK], patient())).toBe(
      witness,
    );
  });

  it.each([
    ['is free', disk({ diskState: 'Unattached' }), [{ disk: DISK, by: [] }]],
    ['is held without a named holder', disk({ diskState: 'Reserved' }), []],
    ['names an unreadable holder', disk({ diskState: 'Attached' }, { managedBy: 'somebody' }), []],
    ['is free and held', disk({ diskState: 'Unattached' }, { managedBy: VM }), []],
  ])('has holders only if it shows them: %s', async (_, answer, holders) => {
    const cloud = await cloudAnswering(failure('ResourceNotFound'), answer);
    expect(await cloud.holders?.([{ driver: 'disk.csi.azure.com', handle: DISK }], patient())).toEqual(holders);
  });
});
