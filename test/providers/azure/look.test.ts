import { describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { addFault, throttled } from '../../../sandbox/azure/faults.ts';
import { deallocate, start } from '../../../sandbox/azure/machines.ts';
import { inProcessClient } from '../../../sandbox/azure/in-process-client.ts';
import { addDisk, addMachine, forget } from '../../../sandbox/azure/scenario.ts';
import { disksOf, machineIn, type AzureCloudWorld } from '../../../sandbox/azure/state.ts';
import { azureWorld, clientsOf, cloudOf, MINUTE, NOW, patient, prefix } from '../../sandbox/azure/azure-world.ts';
import { openCalls } from '../../open-calls.ts';

const look = (world: AzureCloudWorld, machines: readonly string[], disks = false) =>
  cloudOf(world).look(machines, { disks }, patient());

/** The same without the retries of the SDK, which take real time. */
const lookOnce = (world: AzureCloudWorld, machines: readonly string[], disks = false) => {
  const clients = clientsOf(world);
  return cloudOf(world, {
    ...clients,
    reads: clients.writes({ check: () => undefined, through: (agent) => agent, signal: patient() }),
  }).look(machines, { disks }, patient());
};

const after = (
  world: AzureCloudWorld,
  id: string,
  change: (world: AzureCloudWorld, machine: NonNullable<ReturnType<typeof machineIn>>) => unknown,
): void => {
  const machine = machineIn(world, id);
  if (machine) change(world, machine);
  world.advance(MINUTE);
};

describe('a look at machines of Azure', () => {
  it('returns what ARM said, as evidence and as facts', async () => {
    const world = azureWorld();
    const id = addMachine(world, {
      name: 'Db-0',
      vmId: 'A0000000-0000-4000-8000-000000000001',
      tags: { 'aks-managed-cluster-name': 'blue' },
    });
    after(world, id, deallocate);
    expect(await look(world, [id])).toEqual([
      {
        machine: `${prefix}/virtualmachines/db-0`,
        incarnation: { id: 'a0000000-0000-4000-8000-000000000001', made: NOW },
        power: 'off',
        forGood: false,
        generation: 'a0000000-0000-4000-8000-000000000001 handed over 2026-11-21T00:00:25.000Z',
        since: NOW + 25_000,
        nodeNames: ['db-0'],
        clusters: ['blue'],
        zone: 'westeurope-1',
        disks: [],
        evidence: {
          power: 'deallocated',
          provisioning: 'succeeded',
          hibernation: 'none',
          osDisk: 'Reserved',
          handedOver: '2026-11-21T00:00:25.000Z',
          vmId: 'a0000000-0000-4000-8000-000000000001',
          requestId: expect.stringMatching(/^0{8}-/),
          readFrom: 'Microsoft.Compute/virtualMachines/read',
        },
      },
    ]);
  });

  it('recognizes an instance of a scale set by its computer name', async () => {
    const world = azureWorld();
    const id = addMachine(world, { set: 'aks-Pool-vmss' });
    expect(await look(world, [id])).toMatchObject([
      {
        machine: `${prefix}/virtualmachinescalesets/aks-pool-vmss/virtualmachines/0`,
        nodeNames: ['aks-pool-vmss000000', 'aks-pool-vmss_0'],
      },
    ]);
  });

  it('uses the time of the last operation if the OS disk gives none, and no generation if neither does', async () => {
    const world = azureWorld();
    const id = addMachine(world, { power: 'deallocated' });
    const [osDisk] = disksOf(world, id);
    if (osDisk) addDisk(world, { name: osDisk.name, os: true, handedOverAt: null }, { machine: id });
    const [before] = await look(world, [id]);
    expect(before?.generation).toMatch(/ provisioned 2026-11-21T00:00:00/);
    after(world, id, start);
    const [next] = await look(world, [id]);
    expect(next?.generation).toMatch(/ provisioned 2026-11-21T00:00:20/);
    const updating = addMachine(world, { provisioning: 'Updating' });
    const [its] = disksOf(world, updating);
    if (its) addDisk(world, { name: its.name, os: true, handedOverAt: null }, { machine: updating });
    expect(await look(world, [updating])).toMatchObject([{ generation: null }]);
  });

  it('answers about each of many machines, including unknown and foreign ones', async () => {
    const world = azureWorld();
    const known = Array.from({ length: 30 }, () => addMachine(world));
    const gone = [known[3], known[29]].flatMap((id) => id ?? []);
    for (const id of gone) forget(world, id);
    const foreign = known[0]?.replace(/subscriptions\/[^/]+/, 'subscriptions/another') ?? '';
    const elsewhere = `${prefix.replace('mc_blue', 'mc_green')}/virtualmachines/db-0`;
    const nonsense = [foreign, elsewhere, 'i-0633ac2b0d9769723', `${prefix}/virtualmachinescalesets/pool`];
    const facts = await look(world, [...nonsense, ...known, ...known]);
    expect(facts.map(({ machine }) => machine)).toEqual([...nonsense, ...known]);
    expect(facts.filter(({ power }) => power === 'missing').map(({ machine }) => machine)).toEqual(gone);
    expect(facts.filter(({ power }) => power === 'unknown').map(({ machine }) => machine)).toEqual(nonsense);
    expect(facts.filter(({ power }) => power === 'running')).toHaveLength(28);
  });

  it('reads no more than ten machines at the same time, and all of them', async () => {
    const world = azureWorld();
    const known = Array.from({ length: 30 }, () => addMachine(world));
    const client = inProcessClient(world);
    const calls = openCalls();
    const sendRequest: typeof client.sendRequest = (request) => calls.during(() => client.sendRequest(request));
    const facts = await cloudOf(world, clientsOf(world, { httpClient: { sendRequest } })).look(
      known,
      { disks: false },
      patient(),
    );
    expect(facts.map(({ machine }) => machine)).toEqual(known);
    expect([calls.most(), calls.open()]).toEqual([10, 0]);
  });

  it('says which disks must be kept, and why', async () => {
    const world = azureWorld();
    const [id, other] = [addMachine(world), addMachine(world)];
    const [os] = disksOf(world, id);
    const data = addDisk(world, {}, { machine: id });
    const shared = addDisk(world, { maxShares: 2 }, { machine: id });
    const going = addDisk(world, {}, { machine: id, state: 'detaching' });
    addDisk(world, {}, { machine: other });
    const [facts] = await look(world, [id], true);
    expect(facts?.disks).toEqual([
      { disk: os?.id, state: 'attached', keep: 'OS disk' },
      { disk: data, state: 'attached', keep: null },
      { disk: shared, state: 'attached', keep: 'attached to several machines, or a shared disk' },
      { disk: going, state: 'detaching', keep: null },
    ]);
  });

  it('reads the present OS disk of the machine, whichever it had before', async () => {
    const world = azureWorld();
    const cloud = cloudOf(world);
    const id = addMachine(world);
    const generation = async () => (await cloud.look([id], { disks: false }, patient()))[0]?.generation;
    const before = await generation();
    const [old] = disksOf(world, id);
    world.advance(MINUTE);
    if (old) world.parts.azure.disks[old.id] = { present: { ...old, attachments: [] }, past: [] };
    addDisk(world, { os: true }, { machine: id });
    expect([before, await generation(), await generation()]).toMatchObject(
      [/00:00:00/, /00:01:00/, /00:01:00/].map((time) => expect.stringMatching(time)),
    );
  });

  it('needs the present OS disk at each look, because it shows the boot and a hibernation', async () => {
    const world = azureWorld();
    const cloud = cloudOf(world);
    const id = addMachine(world, { power: 'deallocated' });
    await cloud.look([id], { disks: false }, patient());
    addFault(world.parts.azure, {
      call: 'disk.get',
      mishap: { kind: 'error', code: 'AuthorizationFailed', status: 403 },
    });
    await expect(cloud.look([id], { disks: false }, patient())).rejects.toBeInstanceOf(PermissionDenied);
  });

  it.each([
    ['that it may not read', 'AuthorizationFailed', 403],
    ['about which ARM does not answer', 'InternalServerError', 500],
  ])('does not need a former OS disk %s', async (_, code, status) => {
    const world = azureWorld();
    const cloud = cloudOf(world);
    const id = addMachine(world);
    await cloud.look([id], { disks: false }, patient());
    const [old] = disksOf(world, id);
    world.advance(MINUTE);
    if (old) world.parts.azure.disks[old.id] = { present: { ...old, attachments: [] }, past: [] };
    addDisk(world, { os: true }, { machine: id });
    addFault(world.parts.azure, {
      call: 'disk.get',
      path: `/${old?.name ?? ''}`,
      mishap: { kind: 'error', code, status },
      times: Infinity,
    });
    expect(await cloud.look([id], { disks: false }, patient())).toMatchObject([
      { power: 'running', generation: expect.stringMatching(/handed over .*00:01:00/) },
    ]);
    forget(world, id);
    expect(await cloud.look([id], { disks: false }, patient())).toMatchObject([{ power: 'missing' }]);
  });

  it('keeps a data disk that it may not read, and answers about the machine and its other disks', async () => {
    const world = azureWorld();
    const id = addMachine(world, { power: 'deallocated' });
    const [denied, readable] = [addDisk(world, {}, { machine: id }), addDisk(world, {}, { machine: id })];
    addFault(world.parts.azure, {
      call: 'disk.get',
      path: denied,
      mishap: { kind: 'error', code: 'AuthorizationFailed', status: 403 },
    });
    expect(await look(world, [id], true)).toMatchObject([
      {
        power: 'off',
        disks: [
          { keep: 'OS disk' },
          {
            disk: denied,
            keep: expect.stringMatching(/^Cloudfence may not read this disk: disks\/read returned Auth/),
          },
          { disk: readable, keep: null },
        ],
      },
    ]);
  });

  it('keeps a disk that does not confirm what the machine says', async () => {
    const world = azureWorld();
    const id = addMachine(world);
    addDisk(world, {}, { machine: id });
    addFault(world.parts.azure, {
      call: 'disk.get',
      path: '/pvc-0003',
      mishap: { kind: 'error', code: 'NotFound', status: 404 },
    });
    const [facts] = await look(world, [id], true);
    expect(facts?.disks.map(({ keep }) => keep)).toEqual([
      'OS disk',
      'the disk itself does not report this attachment',
    ]);
  });
});

describe('a look that ARM does not answer', () => {
  it('is repeated by the SDK if ARM throttles it', async () => {
    const world = azureWorld();
    const id = addMachine(world);
    addFault(world.parts.azure, { mishap: throttled });
    expect(await look(world, [id])).toMatchObject([{ power: 'running' }]);
  });

  it.each([
    ['TooManyRequests', 429, Unavailable],
    ['InternalServerError', 500, Unavailable],
    ['SomethingNew', 503, Unavailable],
    ['Conflict', 409, Unavailable],
    ['AuthorizationFailed', 403, PermissionDenied],
    ['InvalidAuthenticationToken', 401, PermissionDenied],
    ['SomethingNew', 400, Refused],
    ['SomethingNew', 404, Refused],
  ])('is an error and no power state (%s, %i)', async (code, status, expected) => {
    const world = azureWorld();
    const id = addMachine(world);
    addFault(world.parts.azure, { mishap: { kind: 'error', code, status } });
    await expect(lookOnce(world, [id])).rejects.toBeInstanceOf(expected);
  });

  it.each(['ResourceGroupNotFound', 'SubscriptionNotFound', 'NotFound'])(
    'does not treat %s as a machine that is gone',
    async (code) => {
      const world = azureWorld();
      const id = addMachine(world);
      addFault(world.parts.azure, { mishap: { kind: 'error', code, status: 404 } });
      expect(await lookOnce(world, [id])).toMatchObject([{ power: 'unknown', evidence: { state: code } }]);
    },
  );

  it('leaves out the machine that does not answer, whose own look then says why', async () => {
    const world = azureWorld();
    const [one, silent, other] = [addMachine(world), addMachine(world), addMachine(world)];
    const mishap = { kind: 'error', code: 'AuthorizationFailed', status: 403 } as const;
    addFault(world.parts.azure, { path: `/${silent.split('/').at(-1) ?? ''}`, times: 2, mishap });
    expect((await lookOnce(world, [one, silent, other])).map(({ machine }) => machine)).toEqual([one, other]);
    await expect(lookOnce(world, [silent])).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('is an error if only a disk does not answer', async () => {
    const world = azureWorld();
    const id = addMachine(world);
    addFault(world.parts.azure, {
      call: 'disk.get',
      mishap: { kind: 'error', code: 'AuthorizationFailed', status: 403 },
    });
    await expect(lookOnce(world, [id])).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('is an error if a scale set may not be listed, so that its event is not lost', async () => {
    const world = azureWorld();
    addMachine(world, { set: 'pool' });
    addFault(world.parts.azure, { mishap: { kind: 'error', code: 'AuthorizationFailed', status: 403 } });
    await expect(cloudOf(world).expand([`${prefix}/virtualmachinescalesets/pool`], patient())).rejects.toBeInstanceOf(
      PermissionDenied,
    );
  });

  it.each([
    [
      'one credential, in its words',
      'CredentialUnavailableError',
      'no identity\nand a page of advice',
      /no token: no identity$/,
    ],
    [
      'a whole chain, in the words of Cloudfence',
      'AggregateAuthenticationError',
      'chain failed\nHeaders: {"x": "secret"}',
      /no token: run `az login`/,
    ],
  ])('is denied if there is no token, of %s', async (_, name, message, says) => {
    const world = azureWorld();
    const getToken = async () => Promise.reject(Object.assign(new Error(message), { name }));
    const failure = cloudOf(world, clientsOf(world, { credential: { getToken } })).look(
      [addMachine(world)],
      { disks: false },
      patient(),
    );
    await expect(failure).rejects.toBeInstanceOf(PermissionDenied);
    await expect(failure).rejects.toThrow(says);
  });

  it('is unavailable if the connection breaks, or if the caller ends a call that gets no answer', async () => {
    const world = azureWorld();
    const id = addMachine(world);
    addFault(world.parts.azure, { mishap: { kind: 'drop' } });
    await expect(lookOnce(world, [id])).rejects.toBeInstanceOf(Unavailable);
    const silent = azureWorld();
    const giveUp = new AbortController();
    addFault(silent.parts.azure, { mishap: { kind: 'hang' } });
    const answer = cloudOf(silent).look([addMachine(silent)], { disks: false }, giveUp.signal);
    giveUp.abort();
    await expect(answer).rejects.toBeInstanceOf(Unavailable);
  });
});
