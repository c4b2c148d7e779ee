import { createHttpHeaders } from '@azure/core-rest-pipeline';
import { describe, expect, it } from 'vitest';
import { PermissionDenied, ProofExpired, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { attach, detach } from '../../../sandbox/azure/attachments.ts';
import { addFault, throttled, type InjectedFailure } from '../../../sandbox/azure/faults.ts';
import { inProcessClient } from '../../../sandbox/azure/in-process-client.ts';
import { remove } from '../../../sandbox/azure/machines.ts';
import { addDisk, addMachine, forget, type Wanted } from '../../../sandbox/azure/scenario.ts';
import {
  disksOf,
  diskIn,
  machineIn,
  type AzureCloudWorld,
  type SimulationSettings,
} from '../../../sandbox/azure/state.ts';
import { azureWorld, clientsOf, cloudOf, MINUTE, patient } from '../../sandbox/azure/azure-world.ts';
import { granted, grantedUntil } from '../../permits.ts';

const POST = 'machine.attachDetachDataDisks';

const withDisk = (wanted: Wanted = { power: 'deallocated' }, knobs: Partial<SimulationSettings> = {}) => {
  const world = azureWorld(knobs);
  const machine = addMachine(world, wanted);
  const target = { machine, incarnation: machineIn(world, machine)?.vmId ?? null };
  return { world, machine, target, disk: addDisk(world, {}, { machine }) };
};

const held = (world: AzureCloudWorld, disk: string): boolean => {
  world.advance(MINUTE);
  return (diskIn(world, disk)?.attachments.length ?? 0) > 0;
};

describe('a detach', () => {
  it.each([
    [throttled, Unavailable],
    [{ kind: 'error', code: 'Conflict', status: 409 }, Unavailable],
    [{ kind: 'error', code: 'OperationPreempted', status: 409 }, Unavailable],
    [{ kind: 'error', code: 'OperationNotAllowed', status: 409 }, Refused],
    [{ kind: 'error', code: 'AuthorizationFailed', status: 403 }, PermissionDenied],
    [{ kind: 'drop' }, Unavailable],
  ] satisfies [InjectedFailure, unknown][])(
    'is sent at most once: the SDK does not repeat it (%o)',
    async (mishap, expected) => {
      const { world, target, disk } = withDisk();
      addFault(world.parts.azure, { call: POST, mishap });
      await expect(cloudOf(world).detach(target, disk, 'plain', granted, patient())).rejects.toBeInstanceOf(expected);
      expect(held(world, disk)).toBe(true);
    },
  );

  it('does not follow a redirect', async () => {
    const { world, target, disk } = withDisk();
    const inner = inProcessClient(world);
    let sent = 0;
    const httpClient: typeof inner = {
      sendRequest: async (request) => {
        if (request.method === 'GET') return inner.sendRequest(request);
        sent += 1;
        const headers = createHttpHeaders({ location: request.url });
        return sent > 1 ? inner.sendRequest(request) : { request, status: 307, headers, bodyAsText: '' };
      },
    };
    const detached = cloudOf(world, clientsOf(world, { httpClient })).detach(target, disk, 'plain', granted, patient());
    await expect(detached).rejects.toBeInstanceOf(Error);
    expect(sent).toBe(1);
    expect(held(world, disk)).toBe(true);
  });

  it('fails if its answer was lost, although the disk is being detached', async () => {
    const { world, target, disk } = withDisk();
    addFault(world.parts.azure, { call: POST, when: 'after', mishap: { kind: 'drop' } });
    await expect(cloudOf(world).detach(target, disk, 'plain', granted, patient())).rejects.toBeInstanceOf(Unavailable);
    expect(held(world, disk)).toBe(false);
  });

  it('is not sent if getting a token took longer than the proof lasts, and is sent if a token was ready', async () => {
    const { world, target, disk } = withDisk();
    let monotonic = 0;
    let reads = 0;
    /** Each token is valid for one request, and the token for the detach takes long. */
    const getToken = async () => {
      if (reads === 2) monotonic += 2_001;
      return { token: 'test', expiresOnTimestamp: 1 };
    };
    const permit = grantedUntil(2_000, () => monotonic);
    permit.check();
    const cloud = cloudOf(world, clientsOf(world, { credential: { getToken }, arrived: () => void (reads += 1) }));
    await expect(cloud.detach(target, disk, 'plain', permit, patient())).rejects.toBeInstanceOf(ProofExpired);
    expect(held(world, disk)).toBe(true);
    await cloudOf(world).detach(
      target,
      disk,
      'plain',
      grantedUntil(2_000, () => 999),
      patient(),
    );
    expect(held(world, disk)).toBe(false);
  });

  it.each(['async', 'location', 'both'] as const)(
    'that is accepted and then fails is refused, and not lost (%s)',
    async (pollBy) => {
      const { world, target, disk } = withDisk(
        { power: 'deallocated' },
        { pollBy, detachFailsWith: 'DiskServiceInternalError' },
      );
      const cloud = cloudOf(
        world,
        clientsOf(world, { arrived: () => world.advance(3_000), polling: { everyMs: 1, times: 10 } }),
      );
      await expect(cloud.detach(target, disk, 'plain', granted, patient())).rejects.toBeInstanceOf(Refused);
      expect(held(world, disk)).toBe(true);
    },
  );

  it.each(['Failed', 'Canceled'])('whose operation ends as %s is refused, and its cause is kept', async (status) => {
    const { world, target, disk } = withDisk(
      { power: 'deallocated' },
      { pollBy: 'async', detachFailsWith: 'DiskServiceInternalError' },
    );
    const inner = inProcessClient(world, () => world.advance(3_000));
    const httpClient: typeof inner = {
      sendRequest: async (request) => {
        const answer = await inner.sendRequest(request);
        return { ...answer, bodyAsText: answer.bodyAsText.replace('"status":"Failed"', `"status":"${status}"`) };
      },
    };
    const clients = clientsOf(world, { httpClient, polling: { everyMs: 1, times: 10 } });
    await expect(cloudOf(world, clients).detach(target, disk, 'plain', granted, patient())).rejects.toMatchObject({
      name: 'Refused',
      message: expect.stringContaining(`but the operation ended with ${status.toLowerCase()}`),
      cause: expect.any(Error),
    });
  });

  it('is polled only a limited number of times', async () => {
    const { world, target, disk } = withDisk();
    const asked: string[] = [];
    const arrived = (url: string) => void asked.push(url);
    const clients = clientsOf(world, { arrived, polling: { everyMs: 1, times: 3 } });
    await cloudOf(world, clients).detach(target, disk, 'plain', granted, patient());
    expect(asked.filter((url) => url.includes('/operations/'))).toHaveLength(3);
  });

  it.each(['async', 'location', 'both'] as const)('is polled until its end if that comes soon (%s)', async (pollBy) => {
    const { world, target, disk } = withDisk({ power: 'deallocated' }, { pollBy });
    const cloud = cloudOf(
      world,
      clientsOf(world, { arrived: () => world.advance(3_000), polling: { everyMs: 1, times: 10 } }),
    );
    await cloud.detach(target, disk, 'plain', granted, patient());
    expect(diskIn(world, disk)?.attachments).toEqual([]);
  });

  it('continues in Azure if it takes longer than it is polled, or if the caller gives up', async () => {
    const slow = withDisk();
    await cloudOf(slow.world).detach(slow.target, slow.disk, 'plain', granted, patient());
    expect(diskIn(slow.world, slow.disk)?.attachments).toMatchObject([{ state: 'detaching' }]);
    expect(held(slow.world, slow.disk)).toBe(false);
    const left = withDisk();
    const giveUp = new AbortController();
    const polling = { everyMs: 1, times: Infinity };
    const gone = cloudOf(left.world, clientsOf(left.world, { polling })).detach(
      left.target,
      left.disk,
      'plain',
      granted,
      giveUp.signal,
    );
    await expect.poll(() => diskIn(left.world, left.disk)?.attachments[0]?.state).toBe('detaching');
    giveUp.abort();
    await expect(gone).resolves.toBeUndefined();
    expect(held(left.world, left.disk)).toBe(false);
  });

  it('continues in Azure if the credentials may not read its state', async () => {
    const { world, target, disk } = withDisk();
    addFault(world.parts.azure, {
      call: 'operation.get',
      mishap: { kind: 'error', code: 'AuthorizationFailed', status: 403 },
    });
    await expect(cloudOf(world).detach(target, disk, 'plain', granted, patient())).resolves.toBeUndefined();
    expect(held(world, disk)).toBe(false);
  });

  it('fails if its result is unknown', async () => {
    const { world, target, disk } = withDisk();
    addFault(world.parts.azure, {
      call: 'operation.get',
      mishap: { kind: 'error', code: 'InternalServerError', status: 500 },
    });
    await expect(cloudOf(world).detach(target, disk, 'plain', granted, patient())).rejects.toBeInstanceOf(Unavailable);
  });

  it('by force ends a plain detach that hangs in the guest', async () => {
    const { world, machine, target, disk } = withDisk({ mounts: [] });
    const guest = machineIn(world, machine);
    if (guest)
      world.parts.azure.machines[machine] = { present: { ...guest, mounts: [disk], shutdownTakes: null }, past: [] };
    await cloudOf(world).detach(target, disk, 'plain', granted, patient());
    expect(held(world, disk)).toBe(true);
    await cloudOf(world).detach(target, disk, 'forced', granted, patient());
    expect(held(world, disk)).toBe(false);
  });

  it('does not wait: another operation on the machine makes it unavailable, even by force', async () => {
    const { world, machine, target, disk } = withDisk();
    const other = addDisk(world);
    const [free, holder] = [diskIn(world, other), machineIn(world, machine)];
    if (free && holder) attach(world, free, holder);
    await expect(cloudOf(world).detach(target, disk, 'forced', granted, patient())).rejects.toBeInstanceOf(Unavailable);
    expect(held(world, disk)).toBe(true);
  });

  it('is declined before it is sent for an OS disk, a shared disk, and a machine of another subscription', async () => {
    const { world, machine, target, disk } = withDisk();
    const [os] = disksOf(world, machine);
    const shared = addDisk(world, { maxShares: 2 }, { machine });
    addFault(world.parts.azure, { call: POST, times: Infinity, mishap: throttled });
    const cloud = cloudOf(world);
    for (const one of [os?.id ?? '', shared])
      await expect(cloud.detach(target, one, 'forced', granted, patient())).rejects.toBeInstanceOf(Refused);
    const foreign = { ...target, machine: machine.replace(/subscriptions\/[^/]+/, 'subscriptions/another') };
    await cloud.detach(foreign, disk, 'forced', granted, patient());
    for (const one of [os?.id ?? '', shared, disk]) expect(held(world, one)).toBe(true);
  });

  it('is refused if the machine is gone and its disk still names it, and done if the disk does not', async () => {
    const { world, machine, target, disk } = withDisk();
    const doomed = machineIn(world, machine);
    if (doomed) remove(world, doomed);
    world.advance(16_000);
    await expect(cloudOf(world).detach(target, disk, 'forced', granted, patient())).rejects.toBeInstanceOf(Refused);
    expect(held(world, disk)).toBe(false);
    await expect(cloudOf(world).detach(target, disk, 'forced', granted, patient())).resolves.toBeUndefined();
  });

  it('that is rejected counts as done only if the disk says so', async () => {
    const { world, machine, target, disk } = withDisk();
    const decline = { kind: 'error', code: 'InvalidParameter', status: 400 } as const;
    addFault(world.parts.azure, { call: POST, mishap: decline });
    await expect(cloudOf(world).detach(target, disk, 'plain', granted, patient())).rejects.toBeInstanceOf(Refused);
    addFault(world.parts.azure, { call: POST, when: 'after', mishap: decline });
    world.parts.azure.knobs.detachTakes = 0;
    const arrived = () => world.advance(1);
    await expect(
      cloudOf(world, clientsOf(world, { arrived })).detach(target, disk, 'plain', granted, patient()),
    ).resolves.toBeUndefined();
    expect(disksOf(world, machine).map(({ id }) => id)).not.toContain(disk);
  });

  it('that is rejected is no success if its disk cannot be read afterwards', async () => {
    const { world, target, disk } = withDisk();
    addFault(world.parts.azure, { call: POST, mishap: { kind: 'error', code: 'InvalidParameter', status: 400 } });
    const inner = inProcessClient(world);
    let isRejected = false;
    const httpClient: typeof inner = {
      sendRequest: async (request) => {
        if (isRejected)
          addFault(world.parts.azure, { mishap: { kind: 'error', code: 'AuthorizationFailed', status: 403 } });
        isRejected ||= request.method === 'POST';
        return inner.sendRequest(request);
      },
    };
    const detached = cloudOf(world, clientsOf(world, { httpClient })).detach(target, disk, 'plain', granted, patient());
    await expect(detached).rejects.toBeInstanceOf(PermissionDenied);
    expect(held(world, disk)).toBe(true);
  });

  it.each([
    ['by force from an instance of a scale set: what it may refuse', 'Pool', 'forced', true],
    ['from an instance of a scale set', 'Pool', 'plain', false],
    ['by force from a machine of its own', undefined, 'forced', false],
  ] as const)('%s is declined, with what to do', async (_, set, mode, advised) => {
    const { world, machine, target, disk } = withDisk({ power: 'deallocated', ...(set && { set }) });
    const decline = { kind: 'error', code: 'InvalidParameter', status: 400 } as const;
    addFault(world.parts.azure, { call: POST, mishap: decline });
    const declined: unknown = await cloudOf(world)
      .detach(target, disk, mode, granted, patient())
      .catch((error: unknown) => error);
    const advice = advised ? '. Scale sets may refuse ForceDetach' : '';
    expect(declined).toMatchObject({
      name: 'Refused',
      message: expect.stringMatching(new RegExp(`is still attached to ${machine}${advice}${advised ? '' : '$'}`)),
      cause: expect.any(Error),
    });
  });

  it('names its permission, and requests no more of the machine than it needs', async () => {
    const { world, target, disk } = withDisk();
    const asked: string[] = [];
    addFault(world.parts.azure, { call: POST, mishap: { kind: 'error', code: 'AuthorizationFailed', status: 403 } });
    const cloud = cloudOf(world, clientsOf(world, { arrived: (url) => void asked.push(url) }));
    await expect(cloud.detach(target, disk, 'plain', granted, patient())).rejects.toThrow(
      'attachDetachDataDisks/action',
    );
    expect(asked.filter((url) => url.includes('instanceView'))).toEqual([]);
  });
});

describe('a witness', () => {
  it('needs every disk to be found, even one that another machine holds, and an error is no answer', async () => {
    const { world, machine, disk } = withDisk();
    const [free, other] = [addDisk(world), addMachine(world)];
    const elsewhere = addDisk(world, {}, { machine: other });
    const unknown = [`${disk}x`, free.replace(/subscriptions\/[^/]+/, 'subscriptions/another'), 'vol-1'];
    forget(world, machine);
    const ask = (disks: readonly string[]) => cloudOf(world).witness(machine, disks, patient());
    expect(await ask([])).toBe('none');
    expect(await ask([...unknown, free, disk])).toBe('held');
    expect(await ask([free, elsewhere])).toBe('released');
    for (const one of unknown) expect(await ask([one, free, elsewhere])).toBe('none');
    expect(await ask([...unknown, elsewhere, disk])).toBe('held');
    const nobodys = addDisk(world, {}, { machine: 'somebody' });
    expect(await ask([free, nobodys])).toBe('none');
    addFault(world.parts.azure, {
      call: 'disk.get',
      mishap: { kind: 'error', code: 'AuthorizationFailed', status: 403 },
    });
    await expect(ask([free])).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('may be the disk of an instance, which names the instance in its own way', async () => {
    const { world, machine, disk } = withDisk({ set: 'Pool', power: 'deallocated' });
    expect(await cloudOf(world).witness(machine, [disk], patient())).toBe('held');
    const [holder, attached] = [machineIn(world, machine), diskIn(world, disk)];
    if (holder && attached) detach(world, attached, holder, false);
    world.advance(MINUTE);
    expect(await cloudOf(world).witness(machine, [disk], patient())).toBe('released');
  });
});
