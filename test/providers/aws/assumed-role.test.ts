import { afterEach, expect, it } from 'vitest';
import { PermissionDenied, Unavailable } from '../../../fencing/model/errors.ts';
import type { TerritoryEntry } from '../../../providers/plugin.ts';
import { addInstance } from '../../../sandbox/ec2/scenario.ts';
import { ec2WorldOf } from './another-world.ts';
import { HOUR, twoTerritories, type TwoTerritories } from './two-territories.ts';
import { ec2World, patient } from '../../sandbox/ec2/ec2-world.ts';
import { granted } from '../../permits.ts';

const opened: TwoTerritories[] = [];
afterEach(async () => void (await Promise.all(opened.splice(0).map(({ close }) => close()))));

const stage = async (lasts?: number, given?: Partial<TerritoryEntry>) => {
  const worlds = { home: ec2World(), other: ec2WorldOf('222233334444', 'eu-west-1') };
  const machine = addInstance(worlds.other);
  const territories = await twoTerritories(worlds, lasts, given);
  opened.push(territories);
  return { ...territories, machine, look: () => territories.cloud.look([machine], { disks: true }, patient()) };
};

it('a machine of another account is read with the credentials of its role', async () => {
  const { look, machine } = await stage();
  expect(await look()).toMatchObject([
    { machine, power: 'running', evidence: { territory: '222233334444 eu-west-1' } },
  ]);
});

it('a role is assumed once, for reads and writes, while its credentials are valid', async () => {
  const { look, cloud, machine, sts, role } = await stage();
  await Promise.all([look(), look(), look()]);
  await cloud.powerOff({ machine, incarnation: null }, granted, patient());
  expect(sts.assumed(role.arn)).toBe(1);
});

it('credentials that are about to expire are renewed in advance', async () => {
  const { look, sts, machine } = await stage(HOUR / 15);
  await look();
  sts.expireAll();
  expect(await look()).toMatchObject([{ machine, power: 'running' }]);
});

it.each([
  ['an external ID that its trust policy does not accept', { externalId: 'guessed' }],
  ['no external ID although one is required', { externalId: undefined }],
  ['a role that does not exist', { role: 'arn:aws:iam::222233334444:role/nobody' }],
])('the error names the role if it is assumed with %s', async (_, given) => {
  const { look, entry } = await stage(HOUR, given);
  const failure = look();
  await expect(failure).rejects.toThrow(PermissionDenied);
  await expect(failure).rejects.toThrow(
    `Cloudfence cannot assume the role ${entry.role}: sts:AssumeRole returned AccessDenied`,
  );
});

it.each([
  [400, 'MalformedPolicyDocument', PermissionDenied],
  [403, 'RegionDisabledException', PermissionDenied],
  [400, 'ExpiredTokenException', PermissionDenied],
  [400, 'Throttling', Unavailable],
  [500, 'InternalFailure', Unavailable],
])('if STS answers %i %s, the machine is unknown, and not missing', async (status, code, expected) => {
  const { look, sts } = await stage();
  sts.fail({ status, code });
  await expect(look()).rejects.toBeInstanceOf(expected);
});

it('a refusal is not cached', async () => {
  const { look, sts, machine } = await stage();
  sts.fail({ status: 403, code: 'AccessDenied' });
  await expect(look()).rejects.toThrow(PermissionDenied);
  sts.fail(null);
  expect(await look()).toMatchObject([{ machine, power: 'running' }]);
});
