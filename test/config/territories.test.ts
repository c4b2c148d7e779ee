import { describe, expect, it } from 'vitest';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import type { CloudOptions } from '../../providers/plugin.ts';
import { parseConfiguration } from '../../config/configuration-text.ts';
import { openAws } from '../../providers/aws/plugin/open.ts';

const other = {
  account: '222233334444',
  region: 'eu-central-1',
  role: 'arn:aws:iam::222233334444:role/team/cloudfence-other',
};

const faultsOf = async (run: () => unknown): Promise<readonly string[]> => {
  try {
    await run();
    return [];
  } catch (error) {
    if (error instanceof InvalidConfiguration) return error.faults;
    throw error;
  }
};

const written = (...territories: readonly object[]) =>
  faultsOf(() => parseConfiguration(JSON.stringify({ territories }), 'cf.yaml'));
const openedAt = (account: string | null, ...territories: CloudOptions['territories']) =>
  faultsOf(() => openAws({ region: 'eu-west-1', account, territories }));

describe('territories in a configuration', () => {
  it('may name a role of another account, also in China, and our own account without a role', async () => {
    const china = {
      account: '555566667777',
      region: 'cn-north-1',
      role: 'arn:aws-cn:iam::555566667777:role/x',
      externalId: 'a:b/c-1',
    };
    expect(await written(other, china, { account: '111122223333', region: 'us-gov-west-1' })).toEqual([]);
  });

  it.each([
    ['a number in place of an account', { ...other, account: 222_233_334_444 }, /territories\.0\.account/],
    [
      'an account that is too short',
      { ...other, account: '2222' },
      /territories\.0\.account: is not an account number/,
    ],
    ['a zone in place of a region', { ...other, region: 'eu-central-1a' }, /territories\.0\.region: is not a region/],
    [
      'a role by its name',
      { ...other, role: 'cloudfence-other' },
      /territories\.0\.role: is not the ARN of an IAM role/,
    ],
    [
      'the ARN of a user',
      { ...other, role: 'arn:aws:iam::222233334444:user/x' },
      /territories\.0\.role: is not the ARN of an IAM role/,
    ],
    [
      'a role of another account',
      { ...other, account: '333344445555' },
      /territories\.0\.role: is a role in account 222233334444, not in 333344445555/,
    ],
    [
      'an external ID without a role',
      { account: '111122223333', region: 'eu-central-1', externalId: 'abc' },
      /territories\.0\.externalId: requires a role/,
    ],
    ['a misspelt field', { ...other, externalID: 'abc' }, /externalID/],
  ])('are rejected with %s', async (_, territory, words) =>
    expect((await written(territory)).join('\n')).toMatch(words),
  );

  it('are rejected if one is named twice, with all errors at once', async () => {
    expect(await written(other, { ...other, externalId: 'another' })).toEqual([
      'cf.yaml, at territories: 222233334444 eu-central-1 is listed twice',
    ]);
    const faults = await written({ ...other, region: 'here' }, { ...other, role: 'cloudfence-other' });
    expect(faults).toEqual([
      expect.stringMatching(/territories\.0\.region/),
      expect.stringMatching(/territories\.1\.role: is not the ARN/),
    ]);
  });
});

describe('territories, compared with the account of the install,', () => {
  it('have one check each', async () => {
    const { probes } = await openAws({
      region: 'eu-west-1',
      account: '111122223333',
      territories: [other, { account: '111122223333', region: 'eu-west-3' }],
    });
    expect(probes.map(({ where }) => where)).toEqual([
      'aws',
      'aws 222233334444 eu-central-1',
      'aws 111122223333 eu-west-3',
    ]);
  });

  it('are rejected, all at once, if one is its own or is of another account without a role', async () => {
    expect(
      await openedAt('111122223333', { account: '111122223333', region: 'eu-west-1' }, other, {
        account: '222233334444',
        region: 'eu-west-3',
      }),
    ).toEqual([
      'territories.0: 111122223333 eu-west-1 is the account and region of this install itself: remove the entry',
      'territories.2: 222233334444 eu-west-3 is not in account 111122223333 of this install: add a `role` in that account to assume',
    ]);
  });

  it('are rejected if the account is unknown and one without a role is in its own region', async () => {
    expect(await openedAt(null, { account: '111122223333', region: 'eu-west-1' })).toEqual([
      expect.stringMatching(/is the account and region of this install itself/),
    ]);
    expect(await openedAt(null, { account: '111122223333', region: 'eu-west-3' })).toEqual([]);
  });
});
