import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configurationSchema } from '../../config/schema.ts';
import { jsonSchemas } from '../../infra/serverless/json-schemas.ts';

/** The schemas for editors: they accept what Cloudfence accepts, and mark what it rejects. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const yaml = (file: string): Record<string, unknown> => parse(readFileSync(path.join(root, file), 'utf8'));

let schemas: Awaited<ReturnType<typeof jsonSchemas>>;
beforeAll(async () => {
  schemas = await jsonSchemas(root);
});

it('are the files in infra/schemas; `vitest -u` writes them again', async () => {
  for (const [name, schema] of Object.entries(schemas))
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(path.join(root, 'infra/schemas', name));
  expect(Object.keys(schemas).sort()).toEqual(readdirSync(path.join(root, 'infra/schemas')).sort());
});

const accepts = (name: string, value: unknown): boolean => {
  const schema = schemas[name];
  if (schema === undefined) throw new Error(`there is no ${name}`);
  return z.fromJSONSchema(schema).safeParse(value).success;
};

describe.each([
  { cloud: 'aws', wrong: { maximumConcurrency: 1 } },
  { cloud: 'azure', wrong: { memory: 3 } },
  { cloud: 'gcp', wrong: { project: '-' } },
])('the schema of a stage on $cloud', ({ cloud, wrong }) => {
  const file = `stage.${cloud}.schema.json`;
  const defaults = yaml(`infra/${cloud}/parameters.yml`);

  it('accepts every default', () =>
    expect(Object.entries(defaults).filter(([name, value]) => !accepts(file, { [name]: value }))).toEqual([]));

  it('describes parameters as the file of defaults does', () =>
    expect(JSON.stringify(schemas[file])).toContain('begin nothing'));

  it('marks a name that does not exist, and a value that is rejected', () => {
    expect(accepts(file, { shadows: true })).toBe(false);
    expect(accepts(file, wrong)).toBe(false);
    expect(accepts(file, { policy: { fenceAfter: '10 minutes' } })).toBe(false);
    expect(accepts(file, { clusters: [{ name: 'prod' }] })).toBe(false);
  });
});

it('the schema of a stage accepts the stage in the checkout', () =>
  expect(accepts('stage.aws.schema.json', yaml('stages/dev.yml'))).toBe(true));

describe('the schema of the configuration', () => {
  const accepted = (value: unknown): boolean => accepts('configuration.schema.json', value);

  it('has only settings that docs/configuration.md describes', () => {
    const { policy } = z
      .object({ properties: z.object({ policy: z.object({ properties: z.record(z.string(), z.unknown()) }) }) })
      .parse(schemas['configuration.schema.json']).properties;
    const page = readFileSync(path.join(root, 'docs/configuration.md'), 'utf8');
    expect(Object.keys(policy.properties).filter((name) => !page.includes(name))).toEqual([]);
  });

  it('accepts each way to write a share and a duration', () => {
    for (const share of [0.49, '49%', '49 %']) expect(accepted({ policy: { cap: { share } } })).toBe(true);
    for (const fenceAfter of ['90s', '1.5h']) expect(accepted({ policy: { fenceAfter } })).toBe(true);
  });

  it('accepts the names that managed clusters and contexts have, and marks a text that is no name', () => {
    const named = (name: string): boolean =>
      accepted({ clusters: [{ name, kubeconfig: 'x' }] }) &&
      configurationSchema.safeParse({ clusters: [{ name, kubeconfig: 'x' }] }).success;
    expect(
      [
        'prod',
        'Production (EU), Zürich',
        'arn:aws:eks:eu-west-1:111122223333:cluster/CiCd',
        'gke_p-1_europe-west1-b_c',
        'kubernetes-admin@kubernetes',
        '🚀',
      ].filter((name) => !named(name)),
    ).toEqual([]);
    expect(['', 'a\nb', '{"token":"t"}', 'a'.repeat(201)].filter(named)).toEqual([]);
  });

  it('marks a share above all Nodes, and a policy that does not exist', () => {
    expect(accepted({ policy: { cap: { share: 2 } } })).toBe(false);
    expect(accepted({ policy: { detach: 'sometimes' } })).toBe(false);
  });
});
