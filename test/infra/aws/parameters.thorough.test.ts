import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { checkParameters, type Written } from '../../../infra/serverless/parameter-schema.ts';
import { templateValues } from '../../../infra/serverless/template-values.ts';
import { openService } from '../packaged-service.ts';
import { full, plain } from './stage-files.ts';

const fileAt = (name: string): string => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');
const defaults = z.record(z.string(), z.unknown()).parse(parse(fileAt('infra/aws/parameters.yml')));
const written: Written = { ...defaults, ...plain };
const everything: Written = full;

const template = [
  'serverless.yml',
  ...['queues', 'events', 'roles', 'alarms', 'dashboard', 'incidents'].map((name) => `infra/aws/${name}.yml`),
]
  .map(fileAt)
  .join('\n');
const used = new Set([...template.matchAll(/\$\{cloudfence:(\w+)/g)].map(([, name = '']) => name));

/** The values that the template really uses. */
const valuesFor = (stage: Written): unknown => {
  const checked = checkParameters(stage);
  expect(checked.faults).toEqual([]);
  const values = checked.parameters ? templateValues('cloudfence-prod', 'prod', checked, checked.parameters) : {};
  return Object.fromEntries(Object.entries(values).filter(([name]) => used.has(name)));
};

describe('parameters', () => {
  /** `region` only says where to deploy. serverless.yml reads it itself. */
  it.each(Object.keys(defaults).filter((name) => name !== 'region'))('%s changes what is deployed', (name) => {
    expect(Object.keys(everything)).toContain(name);
    const partner = name === 'subnets' ? 'securityGroups' : name === 'securityGroups' ? 'subnets' : name;
    const before = valuesFor({
      ...written,
      [partner]: everything[partner],
      ...(partner === name
        ? { [name]: written[name] }
        : { subnets: ['subnet-0000000c'], securityGroups: ['sg-0000000c'] }),
    });
    expect(
      valuesFor({
        ...written,
        ...(partner === name ? {} : { subnets: ['subnet-0000000c'], securityGroups: ['sg-0000000c'] }),
        [name]: everything[name],
      }),
    ).not.toEqual(before);
  });

  it.each([
    ['a misspelt name', { sweepEvry: '1m' }, /sweepEvry/],
    ['a sweep every two hours', { sweepEvery: '2h' }, /^sweepEvery: must be from 1m to 60m/],
    ['a sweep every minute and a half', { sweepEvery: '90s' }, /^sweepEvery: must be whole minutes/],
    ['an AWS source as test source', { testSource: 'aws.ec2' }, /^testSource: must be your own name/],
    ['a retention that CloudWatch does not support', { logDays: 31 }, /^logDays/],
    [
      'a network without security groups',
      { subnets: ['subnet-0000000a'] },
      /^subnets: set both subnets and securityGroups, or neither/,
    ],
    ['a key that is an alias', { kmsKeys: ['arn:aws:kms:eu-west-1:111122223333:alias/mine'] }, /must name a key/],
    ['no cluster', { clusters: [] }, /^clusters: add at least one cluster/],
    [
      'a kubeconfig of this machine',
      { clusters: [{ name: 'a', kubeconfig: '/home/me/.kube/config' }] },
      /^clusters.0: a deployed function requires/,
    ],
    ['a cluster with a misspelt field', { clusters: [{ name: 'a', secret: 's', contxt: 'x' }] }, /contxt/],
    [
      'a role of another account than its territory',
      { territories: [{ account: '222233334444', region: 'eu-central-1', role: 'arn:aws:iam::333333333333:role/x' }] },
      /territories.0.role: is a role in account 333333333333, not in 222233334444/,
    ],
    ['an invalid policy', { policy: { detach: 'sometimes' } }, /policy.detach/],
    [
      'a tag without a value',
      { onlyTagged: 'acme/fence' },
      /^onlyTagged: must be `cluster`, `any`, or a tag as key=value/,
    ],
    [
      'more clusters than a role has room for',
      { clusters: Array.from({ length: 7 }, (_, at) => ({ name: `c-${at}`, secret: 's' })) },
      /^onlyTagged: a role can hold conditions for at most 6 clusters, but there are 7/,
    ],
    [
      'more clusters than a function can hold',
      {
        onlyTagged: 'any',
        clusters: Array.from({ length: 60 }, (_, at) => ({
          name: `cluster-${at}`,
          secret: `a-rather-long-name-of-a-secret-${at}`,
        })),
      },
      /a function can hold at most 3000/,
    ],
    [
      'a text of fewer characters, but more bytes, than a function can hold',
      { pause: '停'.repeat(1_100) },
      /the configuration has 3\d{3} bytes, but a function can hold at most 3000/,
    ],
  ])('%s is rejected', (_, change, fault) => {
    expect(checkParameters({ ...written, ...change }).faults).toEqual([expect.stringMatching(fault)]);
  });

  it('are rejected all at once, and then nothing is packaged', async () => {
    const service = await openService({
      broken: { clusters: [{ name: 'a', kubeconfig: 'x' }], policy: { detach: 'sometimes' } },
    });
    const { code, said, folder } = await service.package('broken', '--param=sweepEvery=2h', '--param=memory=64');
    const made = await readdir(folder).catch((error: unknown) => (error instanceof Error ? error.message : []));
    await service.close();
    expect({ code, said }).toEqual({
      code: 1,
      said: expect.stringMatching(/sweepEvery[\s\S]*memory[\s\S]*clusters\.0[\s\S]*policy\.detach/),
    });
    expect(said.match(/must be from 1m to 60m/g)).toHaveLength(1);
    expect(made).toContain('ENOENT');
  });
});
