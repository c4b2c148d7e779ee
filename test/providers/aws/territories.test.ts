import { afterEach, describe, expect, it } from 'vitest';
import { Refused, Unavailable } from '../../../fencing/model/errors.ts';
import type { Ec2World } from '../../../sandbox/ec2/state.ts';
import { addFault } from '../../../sandbox/ec2/faults.ts';
import { addInstance, addVolume, forget } from '../../../sandbox/ec2/scenario.ts';
import { volumeIn } from '../../../sandbox/ec2/state.ts';
import { ec2World, patient } from '../../sandbox/ec2/ec2-world.ts';
import { ec2WorldOf } from './another-world.ts';
import { twoTerritories, type TwoTerritories } from './two-territories.ts';
import { granted } from '../../permits.ts';

const opened: TwoTerritories[] = [];
afterEach(async () => void (await Promise.all(opened.splice(0).map(({ close }) => close()))));

const NOBODY = 'i-0fffffffffffffff1';

const stage = async () => {
  const worlds = { home: ec2World(), other: ec2WorldOf('222233334444', 'eu-west-1') };
  const territories = await twoTerritories(worlds);
  opened.push(territories);
  const { cloud, home, other } = territories;
  const look = (...machines: string[]) => cloud.look(machines, { disks: true }, patient());
  const calls = () => ({ home: home.traffic().calls, other: other.traffic().calls });
  return { ...worlds, ...territories, worlds, look, calls };
};

const down = (world: Ec2World, action: string): void =>
  addFault(world.parts.ec2, { action, mishap: { kind: 'error', code: 'InternalError', status: 500 }, times: 1_000 });

describe('a look in several territories', () => {
  it('asks only the home territory about what that knows', async () => {
    const { worlds, look, calls, sts, role } = await stage();
    const machine = addInstance(worlds.home);
    const [facts] = await look(machine);
    expect(facts).toMatchObject({ machine, power: 'running' });
    expect(facts?.evidence).not.toHaveProperty('territory');
    expect({ other: calls().other, assumed: sts.assumed(role.arn) }).toEqual({ other: {}, assumed: 0 });
  });

  it('answers about each of many machines, wherever they are, and names their location', async () => {
    const { worlds, look } = await stage();
    const [here, there] = [addInstance(worlds.home), addInstance(worlds.other)];
    const facts = await look(there, here, NOBODY, there);
    expect(Object.fromEntries(facts.map(({ machine, power, zone }) => [machine, [power, zone]]))).toEqual({
      [here]: ['running', 'eu-central-1a'],
      [there]: ['running', 'eu-west-1a'],
      [NOBODY]: ['missing', null],
    });
    expect(facts).toHaveLength(3);
    expect(facts.find(({ machine }) => machine === NOBODY)?.evidence).toMatchObject({
      state: 'not found',
      territories: '123456789012 eu-central-1, 222233334444 eu-west-1',
    });
  });

  it('asks the territory in which the machine was seen before, even while home is down', async () => {
    const { worlds, look, calls } = await stage();
    const machine = addInstance(worlds.other);
    await look(machine);
    const before = calls().home;
    down(worlds.home, 'DescribeInstances');
    expect(await look(machine)).toMatchObject([{ machine, power: 'running' }]);
    expect(calls().home).toEqual(before);
  });

  it('asks all territories again about a machine that its territory no longer knows', async () => {
    const { worlds, look } = await stage();
    const machine = addInstance(worlds.other);
    await look(machine);
    forget(worlds.other, machine);
    expect(await look(machine)).toMatchObject([{ machine, power: 'missing' }]);
    down(worlds.home, 'DescribeInstances');
    await expect(look(machine)).rejects.toThrow(Unavailable);
  });

  it('calls no machine missing while one territory does not answer', async () => {
    const { worlds, look } = await stage();
    down(worlds.other, 'DescribeInstances');
    await expect(look(NOBODY)).rejects.toThrow(Unavailable);
    expect(await look(addInstance(worlds.home))).toMatchObject([{ power: 'running' }]);
  });

  it('returns the disks that name a machine which is missing everywhere', async () => {
    const { worlds, look } = await stage();
    const machine = addInstance(worlds.other);
    const disk = addVolume(worlds.other, {}, { instance: machine });
    forget(worlds.other, machine);
    const [facts] = await look(machine);
    expect(facts?.disks.map((one) => one.disk)).toContain(disk);
    expect(facts?.disks.filter(({ keep }) => keep === null)).toEqual([]);
  });
});

describe('a witness in several territories', () => {
  it('is a free disk in any of them', async () => {
    const { worlds, cloud } = await stage();
    expect(await cloud.witness(NOBODY, [addVolume(worlds.other)], patient())).toBe('released');
    expect(await cloud.witness(NOBODY, [addVolume(worlds.home)], patient())).toBe('released');
    expect(await cloud.witness(NOBODY, ['vol-0fffffffffffffff1'], patient())).toBe('none');
  });

  it('is contradicted by any disk that still names the machine', async () => {
    const { worlds, cloud } = await stage();
    const machine = addInstance(worlds.other);
    const held = addVolume(worlds.other, {}, { instance: machine });
    expect(await cloud.witness(machine, [addVolume(worlds.home), held], patient())).toBe('held');
  });

  it.each(['home', 'other'] as const)(
    'has no answer while %s does not answer, whatever the other says',
    async (silent) => {
      const { worlds, cloud } = await stage();
      down(worlds[silent], 'DescribeVolumes');
      const free = addVolume(worlds[silent === 'home' ? 'other' : 'home']);
      await expect(cloud.witness(NOBODY, [free], patient())).rejects.toThrow(Unavailable);
    },
  );
});

describe('an operation in several territories', () => {
  it('is sent to the territory of the machine, whether or not a look came first', async () => {
    const { worlds, cloud } = await stage();
    const machine = addInstance(worlds.other);
    const disk = addVolume(worlds.other, {}, { instance: machine });
    await cloud.detach({ machine, incarnation: null }, disk, 'plain', granted, patient());
    worlds.other.advance(60_000);
    expect(volumeIn(worlds.other, disk)?.attachments).toEqual([]);
  });

  it('is not sent if no territory knows the machine', async () => {
    const { worlds, cloud, calls } = await stage();
    await expect(
      cloud.detach({ machine: NOBODY, incarnation: null }, addVolume(worlds.home), 'plain', granted, patient()),
    ).rejects.toThrow(Refused);
    expect(Object.keys({ ...calls().home, ...calls().other })).toEqual(['DescribeInstances']);
  });
});
