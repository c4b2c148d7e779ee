import { expect, it } from 'vitest';
import { Unavailable } from '../../../fencing/model/errors.ts';
import { missingMachineFacts, unknownMachineFacts } from '../../../providers/aws/power.ts';
import {
  cloudOfTerritories,
  lookInTerritories,
  type Territories,
  type Territory,
} from '../../../providers/aws/territories.ts';
import { ec2World, cloudOf } from '../../sandbox/ec2/ec2-world.ts';

const MACHINE = 'i-0123456789abcdef0';
const cloud = cloudOf(ec2World());
const [home, other]: readonly [Territory, Territory] = [
  { name: 'home', cloud },
  { name: 'other', cloud },
];

const missing = async (_: Territory, ids: readonly string[]) => ids.map((id) => missingMachineFacts(id, null));

it('two concurrent looks each ask every territory, although one of them discards a stale location', async () => {
  const territories: Territories = { home, others: [other], owners: new Map([[MACHINE, other]]) };
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  const slow = lookInTerritories([MACHINE], territories, async (territory, ids) => {
    await released;
    if (territory === home) throw new Unavailable('home is down');
    return missing(territory, ids);
  });
  expect(await lookInTerritories([MACHINE], territories, missing)).toMatchObject([
    { machine: MACHINE, power: 'missing' },
  ]);
  release(undefined);
  await expect(slow).rejects.toThrow('home is down');
});

it('if a territory is silent, only machines that it may know have no answer, and the next look asks all', async () => {
  const another = 'i-0123456789abcdef1';
  const territories: Territories = { home, others: [other], owners: new Map([[MACHINE, home]]) };
  const look = (...machines: string[]) =>
    lookInTerritories(machines, territories, async (territory, ids) => {
      if (territory === other) throw new Unavailable('other is down');
      const facts = await missing(territory, ids);
      return facts.map((one) => (one.machine === another ? { ...one, power: 'off' } : one));
    });
  expect(await look(MACHINE, another)).toMatchObject([{ machine: another, power: 'off' }]);
  expect([...territories.owners.keys()]).toEqual([another]);
  await expect(look(MACHINE)).rejects.toThrow('other is down');
  await expect(look(MACHINE, 'i-0123456789abcdef2')).rejects.toThrow('other is down');
});

it('an unexpected error fails the look, even if another territory knows the machine', async () => {
  const third: Territory = { name: 'third', cloud };
  const territories: Territories = { home, others: [other, third], owners: new Map() };
  const broken = lookInTerritories([MACHINE], territories, async (territory, ids) => {
    if (territory === third) throw new TypeError('a bug');
    const facts = await missing(territory, ids);
    return territory === other ? facts.map((one) => ({ ...one, power: 'running' })) : facts;
  });
  await expect(broken).rejects.toThrow(TypeError);
});

it('a machine that one territory knows does not wait for another territory that is down', async () => {
  const third: Territory = { name: 'third', cloud };
  const territories: Territories = { home, others: [third, other], owners: new Map() };
  const facts = await lookInTerritories([MACHINE], territories, async (territory, ids) => {
    if (territory === third) throw new Unavailable('third is down');
    const said = await missing(territory, ids);
    return territory === other ? said.map((one) => ({ ...one, power: 'running' })) : said;
  });
  expect(facts).toMatchObject([{ machine: MACHINE, power: 'running', evidence: { territory: 'other' } }]);
});

it('a machine that one territory omits is read in the others, and is missing only if all of them say so', async () => {
  const territories: Territories = { home, others: [other], owners: new Map() };
  const leftOut = (knows: boolean) =>
    lookInTerritories([MACHINE], territories, async (territory, ids) => {
      if (territory === home) return ids.map((id) => unknownMachineFacts(id, 'not in the answer'));
      const facts = await missing(territory, ids);
      return knows ? facts.map((one) => ({ ...one, power: 'running' })) : facts;
    });
  expect(await leftOut(true)).toMatchObject([{ machine: MACHINE, power: 'running', evidence: { territory: 'other' } }]);
  expect(await leftOut(false)).toMatchObject([
    {
      machine: MACHINE,
      power: 'unknown',
      evidence: { state: 'not in the answer', territories: expect.stringMatching(/^(home, other|other, home)$/) },
    },
  ]);
});

it('a machine whose territory is not known shares its look with no other, so it delays none', async () => {
  const world = ec2World();
  const both = cloudOfTerritories({ name: 'home', cloud: cloudOf(world) }, [other]);
  expect(both.sharedLookScope?.(MACHINE)).toBeNull();
});
