import { describe, expect, it } from 'vitest';
import { PermissionDenied, InvalidInput, ProofExpired, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { addFault, rateLimitError, unavailable, type InjectedFailure } from '../../../sandbox/gce/faults.ts';
import { inProcessFetch, wireCall, type InProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { addDisk, addInstance, recreate } from '../../../sandbox/gce/scenario.ts';
import {
  diskIn,
  instanceIn,
  type GceWorld,
  type Instance,
  type SimulationSettings,
} from '../../../sandbox/gce/state.ts';
import {
  MINUTE,
  clientsOf,
  cloudOf,
  freshClientsOf,
  gceWorld,
  patient,
  place,
  zone,
} from '../../sandbox/gce/gce-world.ts';
import { granted, grantedUntil } from '../../permits.ts';

const stopped: Partial<Instance> = { status: 'TERMINATED', guest: 'down' };

const withDisk = (knobs: Partial<SimulationSettings> = {}) => {
  const world = gceWorld(knobs);
  const machine = addInstance(world, stopped);
  const disk = addDisk(world, {}, { instance: machine, deviceName: 'by-another-name' });
  return { world, disk, machine, target: { machine, incarnation: instanceIn(world, machine)?.id ?? null } };
};

const held = (world: GceWorld, disk: string): boolean => {
  world.advance(MINUTE);
  return (diskIn(world, disk)?.users.length ?? 0) > 0;
};

const detachWith = (mishap: InjectedFailure, when: 'before' | 'after' = 'before') => {
  const scene = withDisk();
  addFault(scene.world.parts.gce, { method: 'instances.detachDisk', when, mishap });
  return { ...scene, answer: cloudOf(scene.world).detach(scene.target, scene.disk, 'plain', granted, patient()) };
};

describe('a detach', () => {
  it('uses the device name, and returns when its operation has ended', async () => {
    const { world, disk, target } = withDisk();
    await cloudOf(world).detach(target, disk, 'plain', granted, patient());
    expect(diskIn(world, disk)?.users).toEqual([]);
    expect(world.parts.gce.operations).toMatchObject([
      { type: 'detachDisk', targetId: target.incarnation, requestId: '00000000-0000-4000-8000-000000000001' },
    ]);
  });

  it('of a second disk is another call, and not a repetition of the first one', async () => {
    const { world, disk, machine, target } = withDisk();
    const other = addDisk(world, {}, { instance: machine, deviceName: 'another' });
    const cloud = cloudOf(world);
    for (const one of [disk, other]) await cloud.detach(target, one, 'plain', granted, patient());
    expect([held(world, disk), held(world, other)]).toEqual([false, false]);
  });

  it('of one of two disks with the same name, in the zone and in the region, leaves the other one alone', async () => {
    const { world, machine, target } = withDisk();
    const paths = [`zones/${zone}`, `regions/${place.region}`].map(
      (where) => `projects/my-project/${where}/disks/data`,
    );
    const [zonal = '', regional = ''] = paths.map((path, nth) =>
      addDisk(world, { path }, { instance: machine, deviceName: `device-${nth}` }),
    );
    await cloudOf(world).detach(target, regional, 'plain', granted, patient());
    expect([held(world, zonal), held(world, regional)]).toEqual([true, false]);
  });

  it('does not follow a redirect to another server', async () => {
    const { world, disk, target } = withDisk();
    const inner = inProcessFetch(world);
    const redirects: unknown[] = [];
    const fetch: InProcessFetch = async (input, init) => {
      if (init?.method === 'POST') redirects.push(Reflect.get(init, 'redirect'));
      return inner(input, init);
    };
    await cloudOf(world, clientsOf(world, fetch)).detach(target, disk, 'plain', granted, patient());
    expect(redirects[0]).toBe('error');
  });

  it('returns in the end if the server does not allow it to wait', async () => {
    const { world, disk, target } = withDisk({ waitLasts: 0 });
    await cloudOf(world).detach(target, disk, 'plain', granted, patient());
    expect(held(world, disk)).toBe(false);
  });

  it.each([
    [rateLimitError, Unavailable],
    [unavailable, Unavailable],
    [{ kind: 'page', status: 502 }, Unavailable],
    [{ kind: 'error', reason: 'forbidden', status: 403 }, PermissionDenied],
    [{ kind: 'error', reason: 'resourceInUseByAnotherResource', status: 400 }, Refused],
    [{ kind: 'error', reason: 'invalid', status: 400 }, Refused],
    [{ kind: 'error', reason: 'notFound', status: 404 }, Refused],
    [{ kind: 'drop' }, Unavailable],
    [{ kind: 'failing-operation', error: { code: 'INTERNAL_ERROR', status: 500 } }, Unavailable],
    [{ kind: 'failing-operation', error: { code: 'PERMISSIONS_ERROR', status: 403 } }, PermissionDenied],
    [{ kind: 'failing-operation', error: { code: 'RESOURCE_NOT_FOUND', status: 404 } }, Refused],
    [{ kind: 'failing-operation', error: { code: 'RESOURCE_IN_USE_BY_ANOTHER_RESOURCE', status: 400 } }, Refused],
    [{ kind: 'failing-operation', error: { code: 'SOMETHING_NEW', status: 503 } }, Unavailable],
  ] satisfies [InjectedFailure, unknown][])(
    'is sent at most once, and does not succeed while the disk names the machine (%o)',
    async (mishap, expected) => {
      const { world, disk, answer } = detachWith(mishap);
      await expect(answer).rejects.toBeInstanceOf(expected);
      await expect(answer).rejects.toHaveProperty('cause');
      expect(held(world, disk)).toBe(true);
    },
  );

  /** Compute Engine accepts the detach with this answer, gives the other one to each wait, and does nothing. */
  const acceptedWith = (answer: object, waited = answer) => {
    const { world, disk, target } = withDisk();
    const inner = inProcessFetch(world);
    const fetch: InProcessFetch = async (input, init) => {
      const { method, url } = wireCall(input, init);
      if (url.includes('/wait')) return Response.json(waited);
      return method === 'POST' ? Response.json(answer) : inner(input, init);
    };
    return cloudOf(world, clientsOf(world, fetch)).detach(target, disk, 'plain', granted, patient());
  };
  const ended = (httpErrorStatusCode: number, code?: string) => ({
    name: 'operation-1',
    status: 'DONE',
    httpErrorStatusCode,
    error: { errors: code === undefined ? [] : [{ code }] },
  });
  const running = { name: 'operation-1', status: 'RUNNING' };
  const DETACH = 'compute.instances.detachDisk';

  it.each([
    ['INTERNAL_ERROR', Unavailable],
    ['QUOTA_EXCEEDED', Unavailable],
    ['RESOURCE_NOT_READY', Unavailable],
    ['RESOURCE_OPERATION_RATE_EXCEEDED', Unavailable],
    ['SERVICE_UNAVAILABLE', Unavailable],
    ['TIMEOUT', Unavailable],
    ['PERMISSIONS_ERROR', PermissionDenied],
  ])('whose operation ends with %s gets the meaning of that code, whatever its status', async (code, kind) => {
    for (const failed of [acceptedWith(ended(400, code)), acceptedWith(running, ended(400, code))]) {
      await expect(failed).rejects.toBeInstanceOf(kind);
      await expect(failed).rejects.toMatchObject({
        message: `the operation of ${DETACH} ended with ${code}`,
        cause: { errors: [{ code }] },
      });
    }
  });

  it.each([
    [401, PermissionDenied],
    [403, PermissionDenied],
    [429, Unavailable],
    [500, Unavailable],
  ])('whose operation ends with status %i and no code gets the meaning of the status', async (status, kind) => {
    const failed = acceptedWith(ended(status));
    await expect(failed).rejects.toBeInstanceOf(kind);
    await expect(failed).rejects.toThrow(`the operation of ${DETACH} ended with ${status}`);
  });

  it.each([
    [ended(400), '400'],
    [ended(499), '499'],
    [ended(200, 'SOMETHING_NEW'), 'SOMETHING_NEW'],
  ])('whose operation was declined is refused, because the disk names the machine (%o)', async (answer, why) => {
    await expect(acceptedWith(answer)).rejects.toMatchObject({
      name: 'Refused',
      message: expect.stringMatching(`^Compute Engine rejected ${DETACH}, and .* may still be attached to `),
      cause: { name: 'Refused', message: `the operation of ${DETACH} ended with ${why}` },
    });
  });

  it('whose operation fails during a wait, without a status, is refused', async () => {
    const failed = { name: 'operation-1', status: 'DONE', error: { errors: [{ code: 'SOMETHING_NEW' }] } };
    await expect(acceptedWith(running, failed)).rejects.toMatchObject({
      name: 'Refused',
      cause: { message: `the operation of ${DETACH} ended with SOMETHING_NEW` },
    });
  });

  it('whose operation ended without an error is done', async () => {
    await expect(acceptedWith(ended(399))).resolves.toBeUndefined();
    await expect(acceptedWith({ name: 'operation-1', status: 'DONE' })).resolves.toBeUndefined();
    await expect(acceptedWith(running, { name: 'operation-1', status: 'DONE' })).resolves.toBeUndefined();
  });

  it('fails if the answer is not an operation', async () => {
    const failed = acceptedWith({ status: 'DONE' });
    await expect(failed).rejects.toBeInstanceOf(Unavailable);
    await expect(failed).rejects.toMatchObject({
      message: 'the response to the call is not an operation',
      cause: expect.any(Error),
    });
  });

  it.each([
    [{ waitLasts: 0 }, 3],
    [{}, 1],
  ])('waits a limited number of times for its operation (%o)', async (knobs, waits) => {
    const { world, disk, target } = withDisk(knobs);
    const inner = inProcessFetch(world);
    const asked: string[] = [];
    const fetch: InProcessFetch = (input, init) => {
      asked.push(wireCall(input, init).url);
      return inner(input, init);
    };
    await cloudOf(world, clientsOf(world, fetch)).detach(target, disk, 'plain', granted, patient());
    expect(asked.filter((url) => url.includes('/wait'))).toHaveLength(waits);
  });

  it('fails if the answer to a wait is not an operation', async () => {
    const { world, disk, target } = withDisk();
    const inner = inProcessFetch(world);
    const fetch: InProcessFetch = async (input, init) =>
      wireCall(input, init).url.includes('/wait') ? Response.json({ status: 'DONE' }) : inner(input, init);
    await expect(
      cloudOf(world, clientsOf(world, fetch)).detach(target, disk, 'plain', granted, patient()),
    ).rejects.toThrow('the response to compute.zoneOperations.wait is not an operation');
  });

  it('is denied if the credentials may not read its operation', async () => {
    const { world, disk, target } = withDisk();
    addFault(world.parts.gce, { path: '/wait', mishap: { kind: 'error', reason: 'forbidden', status: 403 } });
    const denied = cloudOf(world).detach(target, disk, 'plain', granted, patient());
    await expect(denied).rejects.toBeInstanceOf(PermissionDenied);
    await expect(denied).rejects.toThrow(/^compute\.zoneOperations\.wait returned forbidden/);
  });

  it('fails if its answer was lost, although the disk is being detached', async () => {
    const { world, disk, answer } = detachWith({ kind: 'drop' }, 'after');
    await expect(answer).rejects.toBeInstanceOf(Unavailable);
    expect(held(world, disk)).toBe(false);
  });

  it('that is refused counts as done if the disk says so', async () => {
    const { world, disk, answer } = detachWith({ kind: 'error', reason: 'invalid', status: 400 }, 'after');
    addFault(world.parts.gce, { method: 'disks.get', mishap: unavailable });
    world.parts.gce.knobs.detachTakes = 0;
    await expect(answer).rejects.toBeInstanceOf(Refused);
    expect(held(world, disk)).toBe(false);
    await expect(
      cloudOf(world).detach(
        { machine: disk.replace('/disks/', '/instances/'), incarnation: null },
        disk,
        'plain',
        granted,
        patient(),
      ),
    ).resolves.toBeUndefined();
  });

  it('does not succeed if the disk cannot be read', async () => {
    const { world, target } = withDisk();
    const free = addDisk(world);
    addFault(world.parts.gce, { method: 'disks.get', mishap: { kind: 'error', reason: 'forbidden', status: 403 } });
    await expect(cloudOf(world).detach(target, free, 'plain', granted, patient())).rejects.toBeInstanceOf(
      PermissionDenied,
    );
  });

  it('is not sent without a target, nor to the next machine of the name', async () => {
    const { world, disk, machine, target } = withDisk();
    const untargeted = cloudOf(world).detach({ machine, incarnation: null }, disk, 'forced', granted, patient());
    await expect(untargeted).rejects.toBeInstanceOf(Refused);
    await expect(untargeted).rejects.toThrow(/the intended machine does not have it: Cloudfence sent nothing$/);
    recreate(world, machine, { ...stopped, disks: instanceIn(world, machine)?.disks ?? [] });
    await expect(cloudOf(world).detach(target, disk, 'forced', granted, patient())).rejects.toBeInstanceOf(Refused);
    expect(world.parts.gce.operations).toEqual([]);
    expect(held(world, disk)).toBe(true);
  });

  it('has the device name of the intended machine, although the next one of the name has the disk, too', async () => {
    const { world, disk, machine, target } = withDisk();
    const other = addDisk(world, {}, { instance: machine, deviceName: 'data' });
    const intended = instanceIn(world, machine);
    const renamed = `${machine}-renamed`;
    for (const path of [disk, other]) addDisk(world, { ...diskIn(world, path), users: [renamed] });
    addInstance(world, { ...intended, path: renamed });
    const shared = { source: disk, boot: false, mode: 'READ_WRITE', autoDelete: false } as const;
    recreate(world, machine, { ...stopped, disks: [{ ...shared, deviceName: 'data' }] });
    await cloudOf(world).detach(target, disk, 'plain', granted, patient());
    expect([held(world, disk), held(world, other)]).toEqual([false, true]);
  });

  it('does not reach the next machine of the name if that appears right before the call', async () => {
    const { world, disk, machine, target } = withDisk();
    const through = inProcessFetch(world);
    const fetch: InProcessFetch = (input, init) => {
      if (wireCall(input, init).url.includes('/detachDisk'))
        recreate(world, machine, { ...stopped, disks: instanceIn(world, machine)?.disks ?? [] });
      return through(input, init);
    };
    await expect(
      cloudOf(world, clientsOf(world, fetch)).detach(target, disk, 'plain', granted, patient()),
    ).rejects.toBeInstanceOf(Refused);
    expect(held(world, disk)).toBe(true);
  });

  it('is not sent for an ID that names no instance', async () => {
    const { world, disk } = withDisk();
    await expect(
      cloudOf(world).detach({ machine: 'i-0123456789abcdef0', incarnation: null }, disk, 'plain', granted, patient()),
    ).rejects.toBeInstanceOf(InvalidInput);
  });
});

describe('the permit of a detach', () => {
  it('is checked when the credentials are ready, right before the request is sent', async () => {
    const { world, target, disk } = withDisk();
    const clients = freshClientsOf(world);
    await cloudOf(world, clients).look([target.machine], { disks: false }, patient());
    let monotonic = 0;
    const { auth } = clients.instances;
    const getClient = auth.getClient.bind(auth);
    auth.getClient = () => {
      monotonic += 1_001;
      return getClient();
    };
    const permit = grantedUntil(2_000, () => monotonic);
    permit.check();
    await expect(cloudOf(world, clients).detach(target, disk, 'plain', permit, patient())).rejects.toBeInstanceOf(
      ProofExpired,
    );
    expect(world.parts.gce.operations).toEqual([]);
  });

  it.each(['my-project', 'wait', 'waiting-room'])(
    'allows only its own call: a destructive call without a permit is not sent (in project %s)',
    async (project) => {
      const { world, target, disk } = withDisk();
      const { instances } = clientsOf(world);
      const request = {
        project,
        zone: 'europe-west1-a',
        instance: target.incarnation ?? '',
        deviceName: 'by-another-name',
        requestId: '00000000-0000-4000-8000-00000000000a',
      };
      await expect(instances.detachDisk(request)).rejects.toThrow(/permit .* ended/);
      expect(held(world, disk)).toBe(true);
    },
  );
});

describe('a call whose caller gives up', () => {
  /** The server answers until the call with this verb arrives, and then never again. */
  const giveUpAt = async (
    verb: string,
    order: (world: GceWorld, signal: AbortSignal, fetch: InProcessFetch) => Promise<void>,
    world: GceWorld,
  ) => {
    const giveUp = new AbortController();
    const arrived: string[] = [];
    const signals: (AbortSignal | null | undefined)[] = [];
    const through = inProcessFetch(world);
    const fetch: InProcessFetch = async (input, init) => {
      const { url } = wireCall(input, init);
      arrived.push(url);
      signals.push(init?.signal);
      if (!url.includes(verb)) return through(input, init);
      addFault(world.parts.gce, { path: verb, mishap: { kind: 'hang' } });
      queueMicrotask(() => giveUp.abort());
      return through(input, init);
    };
    await expect(order(world, giveUp.signal, fetch)).rejects.toBeInstanceOf(Unavailable);
    expect(signals.at(-1)?.aborted).toBe(true);
    return arrived;
  };

  it.each(['/detachDisk', '/wait'])('is aborted (at %s)', async (verb) => {
    const { world, target, disk } = withDisk();
    const arrived = await giveUpAt(
      verb,
      (_, signal, fetch) => cloudOf(world, clientsOf(world, fetch)).detach(target, disk, 'plain', granted, signal),
      world,
    );
    expect(arrived.at(-1)).toContain(verb);
    expect(held(world, disk)).toBe(verb === '/detachDisk');
  });

  it('does not wait for credentials that never arrive, and is not sent later', async () => {
    const { world, target, disk } = withDisk();
    const clients = freshClientsOf(world);
    const { auth } = clients.instances;
    const getClient = auth.getClient.bind(auth);
    const gate = Promise.withResolvers<void>();
    await cloudOf(world, clients).look([target.machine], { disks: false }, patient());
    const giveUp = new AbortController();
    let asked = 0;
    auth.getClient = async () => {
      asked += 1;
      if (asked === 4) {
        queueMicrotask(() => giveUp.abort());
        await gate.promise;
      }
      return getClient();
    };
    await expect(cloudOf(world, clients).detach(target, disk, 'plain', granted, giveUp.signal)).rejects.toBeInstanceOf(
      Unavailable,
    );
    gate.resolve();
    await new Promise(setImmediate);
    expect(world.parts.gce.operations).toEqual([]);
  });
});
