import { afterEach, describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { gcpCloud } from '../../../providers/gcp/index.ts';
import { computeClients } from '../../../providers/gcp/client.ts';
import { patient, requestIds } from '../../sandbox/gce/gce-world.ts';
import { openStandIn, type Answered, type StandIn } from '../stand-in.ts';
import { granted } from '../../permits.ts';

/** Answers of Compute Engine that the sandbox never gives by itself. The SDK reads them from a socket. */

const ZONE = 'projects/my-project/zones/europe-west1-b';
const MACHINE = `${ZONE}/instances/node-1`;
const DISK = `${ZONE}/disks/pvc-1`;
const ID = '4611686018427387906';

let standIn: StandIn | undefined;
afterEach(() => standIn?.close());

const failure = (reason: string, status: number): Answered => ({
  status,
  body: { error: { code: status, message: reason, errors: [{ domain: 'global', reason, message: reason }] } },
});
const notFound = failure('notFound', 404);

const cloudAnswering = async (machine: Answered, disk: Answered = notFound) => {
  standIn = await openStandIn(({ url }) => (url.includes('/disks/') ? disk : machine));
  return gcpCloud(computeClients({ newRequestId: requestIds(), endpoint: standIn.url }));
};

const look = async (machine: Answered, disk?: Answered) =>
  (await (await cloudAnswering(machine, disk)).look([MACHINE], { disks: true }, patient()))[0];

const instance = (more: object): Answered => ({
  body: {
    id: ID,
    name: 'node-1',
    creationTimestamp: '2026-01-01T00:00:00.000-08:00',
    lastStartTimestamp: '2026-01-02T00:00:00.000-08:00',
    ...more,
  },
});

const attached = {
  boot: false,
  type: 'PERSISTENT',
  mode: 'READ_WRITE',
  deviceName: 'd',
  source: `https://www.googleapis.com/compute/v1/${DISK}`,
};

describe('an instance that Compute Engine shows', () => {
  it.each([
    ['PROVISIONING', 'starting'],
    ['PENDING', 'starting'],
    ['STAGING', 'starting'],
    ['RUNNING', 'running'],
    ['PENDING_STOP', 'stopping'],
    ['STOPPING', 'stopping'],
    ['DEPROVISIONING', 'stopping'],
    ['SUSPENDING', 'stopping'],
    ['SUSPENDED', 'suspended'],
    ['REPAIRING', 'unknown'],
    ['SOMETHING_NEW', 'unknown'],
    ['UNDEFINED_STATUS', 'unknown'],
    [undefined, 'unknown'],
    ['terminated', 'unknown'],
    ['STOPPED', 'off'],
    ['TERMINATED', 'off'],
  ])('with the status %s is %s', async (status, power) => {
    expect(await look(instance({ status }))).toMatchObject({
      machine: MACHINE,
      power,
      incarnation: { id: ID },
      forGood: false,
    });
  });

  it('may be proven off without a time, and has a generation even if it was never started', async () => {
    expect(await look(instance({ status: 'TERMINATED' }))).toMatchObject({
      power: 'off',
      since: null,
      generation: `${ID} 2026-01-02T00:00:00.000-08:00`,
    });
    expect(await look(instance({ status: 'TERMINATED', lastStartTimestamp: undefined }))).toMatchObject({
      generation: `${ID} 2026-01-01T00:00:00.000-08:00`,
    });
    expect(
      await look(instance({ status: 'TERMINATED', lastStartTimestamp: undefined, creationTimestamp: undefined })),
    ).toMatchObject({ generation: null, incarnation: { made: null } });
  });

  it('is an error if it has no ID', async () => {
    await expect(look({ body: { name: 'node-1', status: 'TERMINATED' } })).rejects.toBeInstanceOf(Unavailable);
  });

  it.each([
    ['has another name', { name: 'node-10' }],
    ['is in another zone', { zone: 'https://www.googleapis.com/compute/v1/projects/my-project/zones/europe-west1-c' }],
  ])('is an error if it %s than the one that was requested', async (_, more) => {
    await expect(look(instance({ status: 'TERMINATED', ...more }))).rejects.toBeInstanceOf(Unavailable);
    expect(await look(instance({ status: 'TERMINATED', zone: ZONE }))).toMatchObject({ power: 'off' });
  });

  it.each([
    ['boot missing', { boot: undefined }, 'boot disk'],
    ['type missing', { type: undefined }, /type unknown/],
    ['mode missing', { mode: undefined }, /unknown mode/],
    ['read only', { mode: 'READ_ONLY' }, /READ_ONLY/],
    ['of a beta link', { source: `https://www.googleapis.com/compute/beta/${DISK}` }, null],
    ['whole', {}, null],
  ])('has a disk that may be detached only if nothing speaks against that: %s', async (_, more, keep) => {
    const facts = await look(instance({ status: 'TERMINATED', disks: [{ ...attached, ...more }] }), {
      body: { name: 'pvc-1', status: 'READY', users: [`https://www.googleapis.com/compute/beta/${MACHINE}`] },
    });
    expect(facts?.disks).toEqual([
      { disk: DISK, state: 'attached', keep: keep instanceof RegExp ? expect.stringMatching(keep) : keep },
    ]);
  });
});

describe('an instance that Compute Engine does not find', () => {
  it('is missing, and every other answer is an error', async () => {
    expect(await look(notFound)).toMatchObject({ power: 'missing', incarnation: null, generation: null });
    await expect(look(failure('forbidden', 403))).rejects.toBeInstanceOf(PermissionDenied);
    await expect(look({ status: 404, body: 'no such page' })).rejects.toBeInstanceOf(Refused);
  });
});

describe('the disk of an instance that is gone', () => {
  const disk = (users: readonly string[] | undefined, more: object = {}): Answered => ({
    body: { name: 'pvc-1', status: 'READY', ...(users && { users }), ...more },
  });
  it.each([
    ['nobody', disk(undefined), 'released'],
    ['no instance, in a list', disk([]), 'released'],
    ['another instance of its zone', disk([`https://www.googleapis.com/compute/v1/${MACHINE}0`]), 'released'],
    [
      'an instance of its name in another zone',
      disk([`https://www.googleapis.com/compute/v1/${MACHINE.replace('-b/', '-c/')}`]),
      'released',
    ],
    ['that instance, by a full link', disk([`https://www.googleapis.com/compute/v1/${MACHINE}`]), 'held'],
    [
      'that instance, by a link of the alpha API',
      disk([`https://compute.googleapis.com/compute/alpha/${MACHINE}`]),
      'held',
    ],
    [
      'that instance, by the number of its project',
      disk([`https://www.googleapis.com/compute/v1/${MACHINE.replace('my-project', '123456789')}`]),
      'held',
    ],
    ['that instance, by its path', disk([MACHINE]), 'held'],
    ['that instance, by the end of its path', disk(['zones/europe-west1-b/instances/node-1']), 'held'],
    ['something by a number', disk([`https://www.googleapis.com/compute/v1/${ZONE}/instances/${ID}`]), 'none'],
    ['something that is not an instance', disk(['somebody']), 'none'],
    ['another instance, and something that is not an instance', disk([`${MACHINE}0`, 'somebody']), 'none'],
    ['no instance, while it is created', disk([], { status: 'CREATING' }), 'none'],
  ])('names %s', async (_, answer, witness) => {
    expect(await (await cloudAnswering(notFound, answer)).witness(MACHINE, [DISK], patient())).toBe(witness);
  });
});

describe('a detach of a disk that the instance no longer has', () => {
  const detach = async (users: readonly string[]) => {
    const cloud = await cloudAnswering(instance({ status: 'TERMINATED', disks: [] }), {
      body: { name: 'pvc-1', status: 'READY', users },
    });
    return cloud.detach({ machine: MACHINE, incarnation: ID }, DISK, 'plain', granted, patient());
  };

  it('counts as done if the disk says so, but not if the holder of the disk is unknown', async () => {
    await expect(detach([])).resolves.toBeUndefined();
    await standIn?.close();
    await expect(detach([`https://www.googleapis.com/compute/v1/${ZONE}/instances/${ID}`])).rejects.toThrow(
      /may be attached to node-1/,
    );
    expect(standIn?.asked.map(({ method }) => method)).toEqual(['GET', 'GET']);
  });

  it.each([
    { name: 'pvc-1' },
    { name: 'pvc-1', status: '' },
    { name: 'pvc-2', status: 'READY' },
    { name: 'restored-pvc-1', status: 'READY' },
    { name: 'pvc-10', status: 'READY' },
    {},
  ])('does not count as done because of an answer that is not about that disk: %j', async (body) => {
    const cloud = await cloudAnswering(instance({ status: 'TERMINATED', disks: [] }), { body });
    await expect(
      cloud.detach({ machine: MACHINE, incarnation: ID }, DISK, 'plain', granted, patient()),
    ).rejects.toBeInstanceOf(Unavailable);
  });
});
