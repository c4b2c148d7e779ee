import { describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Throttled, Unavailable } from '../../../fencing/model/errors.ts';
import { addFault, throttled } from '../../../sandbox/ec2/faults.ts';
import { defaultStop, stopByUser } from '../../../sandbox/ec2/instances.ts';
import { addInstance, addVolume, forget, stopGuest } from '../../../sandbox/ec2/scenario.ts';
import type { Ec2World } from '../../../sandbox/ec2/state.ts';
import { instanceIn, volumesOf } from '../../../sandbox/ec2/state.ts';
import { EC2Client } from '@aws-sdk/client-ec2';
import { inProcessHandler } from '../../../sandbox/ec2/in-process-handler.ts';
import { MINUTE, clientOf, cloudOf, credentials, ec2World, patient, region } from '../../sandbox/ec2/ec2-world.ts';

const look = (world: Ec2World, machines: readonly string[], disks = false) =>
  cloudOf(world).look(machines, { disks }, patient());

/** The same without the retries of the SDK, which take real time. */
const lookOnce = (world: Ec2World, machines: readonly string[], disks = false) => {
  const clients = { reads: clientOf(world), writes: () => clientOf(world) };
  return cloudOf(world, clients).look(machines, { disks }, patient());
};

const stop = (world: Ec2World, id: string, hibernate = false): void => {
  const instance = instanceIn(world, id);
  if (instance) stopByUser(world, instance, { ...defaultStop, hibernate });
};

describe('an EC2 list that never ends', () => {
  const promising = (world: Ec2World, action: string) => {
    const inner = inProcessHandler(world);
    let calls = 0;
    const handle: typeof inner.handle = async (request, options) => {
      if (new URLSearchParams(String(request.body)).get('Action') !== action) return inner.handle(request, options);
      calls += 1;
      const body = Buffer.from(
        `<${action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><reservationSet/><volumeSet/><nextToken>page-${calls}</nextToken></${action}Response>`,
      );
      return { response: { statusCode: 200, headers: { 'content-type': 'text/xml' }, body } };
    };
    const client = new EC2Client({ region, credentials, requestHandler: { ...inner, handle }, maxAttempts: 1 });
    return { cloud: cloudOf(world, { reads: client, writes: () => client }), calls: () => calls };
  };

  it.each(['DescribeInstances', 'DescribeVolumes'])(
    'of %s is abandoned, and what was read until then is not used',
    async (action) => {
      const world = ec2World();
      const { cloud, calls } = promising(world, action);
      const asked = cloud.look([addInstance(world)], { disks: true }, patient());
      await expect(asked).rejects.toThrow(Unavailable);
      await expect(asked).rejects.toThrow(/has more than \d+ pages/);
      expect(calls()).toBeLessThan(110);
    },
  );
});

describe('a look at instances of EC2', () => {
  it('returns what EC2 said, as evidence and as facts', async () => {
    const world = ec2World();
    const id = addInstance(world, {
      privateDnsName: 'IP-10-0-0-7.eu-central-1.compute.internal',
      tags: { 'kubernetes.io/cluster/blue': 'owned' },
    });
    stop(world, id);
    world.advance(MINUTE);
    expect(await look(world, [id])).toEqual([
      {
        machine: id,
        incarnation: null,
        power: 'off',
        forGood: false,
        generation: '2026-11-21T00:00:00.000Z',
        since: Date.UTC(2026, 10, 21),
        nodeNames: ['ip-10-0-0-7.eu-central-1.compute.internal', `${id}.eu-central-1.compute.internal`, id],
        clusters: ['blue'],
        zone: 'eu-central-1a',
        disks: [],
        evidence: {
          state: 'stopped',
          stateReason: 'Client.UserInitiatedShutdown',
          launchTime: '2026-11-21T00:00:00.000Z',
          transition: 'User initiated (2026-11-21 00:00:00 GMT)',
          requestId: expect.stringMatching(/^0{8}-/),
          readFrom: 'ec2:DescribeInstances',
        },
      },
    ]);
  });

  it('calls a hibernated machine suspended', async () => {
    const world = ec2World();
    const id = addInstance(world, { canHibernate: true });
    stop(world, id, true);
    world.advance(MINUTE);
    expect(await look(world, [id])).toMatchObject([{ power: 'suspended' }]);
  });

  it('does not know since when a machine is down if it stopped by itself', async () => {
    const world = ec2World();
    const id = addInstance(world);
    stopGuest(world, id);
    world.advance(MINUTE);
    expect(await look(world, [id])).toMatchObject([{ power: 'off', since: null, evidence: { transition: 'none' } }]);
  });

  it('answers for each of many machines, including bad IDs, over pages and reservations', async () => {
    const world = ec2World({ pageSize: 7 });
    const known = Array.from({ length: 230 }, () => addInstance(world));
    const gone = [known[3], known[150], known[229]].flatMap((id) => id ?? []);
    for (const id of gone) forget(world, id);
    const facts = await look(world, ['i-123456789', ...known, ...known]);
    expect(facts.map((one) => one.machine)).toEqual(['i-123456789', ...known]);
    expect(facts.filter((one) => one.power === 'missing').map((one) => one.machine)).toEqual(gone);
    expect(facts.filter((one) => one.power === 'unknown').map((one) => one.machine)).toEqual(['i-123456789']);
    expect(facts.filter((one) => one.power === 'running')).toHaveLength(227);
  });

  it('answers for more machines than EC2 accepts in the filter of one call', async () => {
    const world = ec2World();
    const known = Array.from({ length: 201 }, () => addInstance(world));
    const facts = await look(world, known, true);
    expect(facts.map(({ machine, disks }) => [machine, disks.length])).toEqual(known.map((id) => [id, 1]));
  });

  it('answers although EC2 returns a hundred machines on fifty pages', async () => {
    const world = ec2World({ pageSize: 2 });
    const known = Array.from({ length: 100 }, () => addInstance(world));
    const facts = await look(world, known, true);
    expect(facts.map(({ machine, disks }) => [machine, disks.length])).toEqual(known.map((id) => [id, 1]));
  });

  it('says which disks must be kept, and why', async () => {
    const world = ec2World({ pageSize: 2 });
    const [id, other] = [addInstance(world), addInstance(world)];
    const root = volumesOf(world, id)[0]?.id;
    const data = addVolume(world, {}, { instance: id });
    const shared = addVolume(world, { multiAttach: true }, { instance: id });
    const managed = addVolume(world, { managed: true }, { instance: id });
    addVolume(world, {}, { instance: other });
    const [facts] = await look(world, [id], true);
    expect(Object.fromEntries(facts?.disks.map((disk) => [disk.disk, disk.keep]) ?? [])).toEqual({
      [String(root)]: 'root device',
      [data]: null,
      [shared]: 'attached to several instances, or a Multi-Attach volume',
      [managed]: 'managed by AWS',
    });
  });

  it('keeps a disk that names a machine which EC2 does not know', async () => {
    const world = ec2World();
    const id = addInstance(world);
    addVolume(world, {}, { instance: id });
    forget(world, id);
    const [facts] = await look(world, [id], true);
    expect(facts?.disks.map((disk) => disk.keep === null)).toEqual([false, false]);
  });
});

describe('a look that EC2 does not answer', () => {
  it('is repeated by the SDK if EC2 throttles it', async () => {
    const world = ec2World();
    const id = addInstance(world);
    addFault(world.parts.ec2, { mishap: throttled });
    expect(await look(world, [id])).toMatchObject([{ power: 'running' }]);
  });

  it.each([
    ['RequestLimitExceeded', 503, Throttled],
    ['InternalError', 500, Unavailable],
    ['SomethingNew', 500, Unavailable],
    ['SomethingNew', 429, Throttled],
    ['Unavailable', 400, Unavailable],
    ['UnauthorizedOperation', 403, PermissionDenied],
    ['AuthFailure', 401, PermissionDenied],
    ['RequestExpired', 400, PermissionDenied],
    ['SomethingNew', 403, PermissionDenied],
    ['SomethingNew', 400, Refused],
  ])('is an error and no power state (%s, %i)', async (code, status, expected) => {
    const world = ec2World();
    const id = addInstance(world);
    addFault(world.parts.ec2, { mishap: { kind: 'error', code, status } });
    await expect(lookOnce(world, [id])).rejects.toBeInstanceOf(expected);
  });

  it('is an error if only the disks do not answer', async () => {
    const world = ec2World();
    const id = addInstance(world);
    addFault(world.parts.ec2, {
      action: 'DescribeVolumes',
      mishap: { kind: 'error', code: 'UnauthorizedOperation', status: 403 },
    });
    await expect(lookOnce(world, [id], true)).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('is unavailable if the connection breaks, or if the caller ends a call that gets no answer', async () => {
    const world = ec2World();
    const id = addInstance(world);
    addFault(world.parts.ec2, { mishap: { kind: 'drop' } });
    await expect(lookOnce(world, [id])).rejects.toBeInstanceOf(Unavailable);
    const silent = ec2World();
    const giveUp = new AbortController();
    addFault(silent.parts.ec2, { mishap: { kind: 'hang' } });
    const answer = cloudOf(silent).look([id], { disks: false }, giveUp.signal);
    giveUp.abort();
    await expect(answer).rejects.toBeInstanceOf(Unavailable);
  });
});
