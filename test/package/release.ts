import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import manifest from '../../package.json' with { type: 'json' };
import { referencedResources } from '../../infra/serverless/tidy-template.ts';
import { releases } from './releases.ts';

const run = promisify(execFile);
/** The binary of krew. Not every Go module proxy has its module, so no script of this repository installs it. */
const krew = process.env['CLOUDFENCE_KREW'];

const read = async (file: string): Promise<string> => readFile(path.join((await releases()).one, file), 'utf8');

afterAll(async () => (await releases()).remove());

describe('a release', () => {
  it('lists every file with its checksum', async () => {
    const { one } = await releases();
    const lines = (await read('SHA256SUMS'))
      .trim()
      .split('\n')
      .map((line) => line.split('  '));
    const files = (await readdir(one, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(one, path.join(entry.parentPath, entry.name)));
    expect(lines.map(([, file]) => file)).toEqual(files.filter((file) => file !== 'SHA256SUMS').sort());
    for (const [sum, file = ''] of lines)
      expect(
        createHash('sha256')
          .update(await readFile(path.join(one, file)))
          .digest('hex'),
      ).toBe(sum);
  });

  it('has the files from which each cloud is installed', async () => {
    const sums = await read('SHA256SUMS');
    for (const file of [
      `cloudfence-${manifest.version}.tgz`,
      'aws/cloudformation.json',
      'aws/on-event.zip',
      'azure/template.json',
      'azure/app.zip',
      'azure/door.zip',
      'gcp/requests.json',
      'gcp/sweep.zip',
      'kubernetes/rbac.yaml',
      'kubernetes/diagnose-rbac.yaml',
      `kubernetes/cloudfence-chart-${manifest.version}.tgz`,
      'schemas/stage.aws.schema.json',
      'install.md',
      'LICENSE',
    ])
      expect(sums).toContain(`  ${file}\n`);
  });

  it('has a manifest for krew, which names the package and its checksum', async () => {
    const { spec } = z
      .object({ spec: z.object({ platforms: z.array(z.object({ uri: z.string(), sha256: z.string() })) }) })
      .parse(JSON.parse(await read('krew.yaml')));
    const sums = await read('SHA256SUMS');
    for (const { uri, sha256 } of spec.platforms) expect(sums).toContain(`${sha256}  ${path.basename(uri)}\n`);
    expect(spec.platforms).not.toEqual([]);
  });

  it.skipIf(krew === undefined)('becomes a plugin of kubectl, if krew installs it', async () => {
    const { one } = await releases();
    const home = await mkdtemp(path.join(tmpdir(), 'cloudfence-krew-'));
    const krewRoot = path.join(home, '.krew');
    const env = { HOME: home, PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin` };
    try {
      const archive = path.join(one, `cloudfence-${manifest.version}.tgz`);
      await run(krew ?? '', ['install', `--manifest=${path.join(one, 'krew.yaml')}`, `--archive=${archive}`], { env });
      const plugin = path.join(krewRoot, 'bin/kubectl-cloudfence');
      expect((await run(plugin, ['--version'], { env })).stdout.trim()).toBe(manifest.version);
      expect((await run(plugin, ['diagnose', '--help'], { env })).stdout).toContain('Usage: cloudfence diagnose');
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it('has each file that its install.md names', async () => {
    const sums = await read('SHA256SUMS');
    const named = [
      ...(await read('install.md')).matchAll(/(?<![\w/.])(?:aws|azure|gcp|kubernetes)\/[\w-]+\.(?:json|zip|yaml|tgz)/g),
    ].map(([file]) => file);
    expect(named.length).toBeGreaterThan(5);
    for (const file of named) expect(sums).toContain(`  ${file}\n`);
  });

  it('lists in its bill of materials each library whose license it carries', async () => {
    const bill = z
      .object({
        bomFormat: z.literal('CycloneDX'),
        metadata: z.object({ timestamp: z.string(), component: z.object({ name: z.literal('cloudfence') }) }),
        components: z.array(z.object({ name: z.string(), version: z.string() })),
      })
      .parse(JSON.parse(await read('sbom.cdx.json')));
    const licensed = [...(await read('THIRD-PARTY-LICENSES.txt')).matchAll(/^={80}\n(\S+) (\S+) \(/gm)].map(
      ([, name, version]) => `${name}@${version}`,
    );
    expect(bill.components.map(({ name, version }) => `${name}@${version}`).sort()).toEqual(licensed.sort());
    expect(bill.metadata.timestamp).toBe('2026-09-21T14:13:20.000Z');
    expect(licensed.length).toBeGreaterThan(50);
  });

  it('reveals nothing about the machine or the stage on which it was built', async () => {
    for (const file of ['aws/cloudformation.json', 'azure/template.json', 'gcp/requests.json', 'sbom.cdx.json'])
      expect(await read(file)).not.toMatch(/placeholder|us-isob|⟦|999999999999|\/tmp\/|\/home\//);
  });
});

describe('the CloudFormation template of a release', () => {
  const template = z.object({
    Parameters: z.record(z.string(), z.unknown()),
    Conditions: z.record(z.string(), z.unknown()),
    Resources: z.record(
      z.string(),
      z.looseObject({ Type: z.string(), Condition: z.string().optional(), Properties: z.looseObject({}) }),
    ),
  });
  const stack = async () => template.parse(JSON.parse(await read('aws/cloudformation.json')));

  it('finds each zip in the bucket of the person who installs it', async () => {
    const functions = Object.values((await stack()).Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
    const keys = functions.map(({ Properties }) => Properties['Code']);
    expect(keys).toEqual(
      ['on-event', 'sweep', 'replay', 'fence', 'doctor', 'diagnose'].map((name) => ({
        S3Bucket: { Ref: 'CodeBucket' },
        S3Key: { 'Fn::Sub': `\${CodePrefix}${name}.zip` },
      })),
    );
  });

  it('refers only to its own parts, and uses each parameter and condition', async () => {
    const { Parameters, Conditions, Resources } = await stack();
    const text = JSON.stringify({ Resources, Conditions });
    const references = [...referencedResources({ Resources, Conditions })].filter((name) => !name.startsWith('AWS::'));
    expect(references.filter((name) => !(name in Parameters) && !(name in Resources))).toEqual([]);
    for (const name of Object.keys(Parameters)) expect(text).toMatch(new RegExp(`"Ref":"${name}"|\\$\\{${name}\\}`));
    for (const name of Object.keys(Conditions))
      expect(text).toMatch(new RegExp(`"Fn::If":\\["${name}"|"Condition":"${name}"`));
  });

  it('refers to a conditional part only under the same condition', async () => {
    const { Resources } = await stack();
    const conditional = Object.keys(Resources).filter((name) => Resources[name]?.Condition !== undefined);
    expect(conditional).toContain('Archive');
    const always = JSON.stringify(
      Object.values(Resources)
        .filter(({ Condition }) => Condition === undefined)
        .map(({ Properties }) => Properties),
    );
    for (const name of conditional)
      expect(always.replaceAll(/\{"Fn::If":\["With\w+",\{"Fn::GetAtt":\["\w+","Arn"\]\},""\]\}/g, '')).not.toContain(
        `["${name}",`,
      );
  });
});

it('no request of the release for Google Cloud replaces a policy', async () => {
  const requests = z
    .array(z.object({ method: z.string(), url: z.string() }))
    .parse(JSON.parse(await read('gcp/requests.json')));
  expect(requests.filter(({ url }) => url.includes('setIamPolicy'))).toEqual([]);
  expect(requests.filter(({ method }) => method === 'GRANT').length).toBeGreaterThan(5);
});

it('a release has the same bytes the second time', { timeout: 1_200_000 }, async () => {
  const two = await (await releases()).two;
  expect(await readFile(path.join(two, 'SHA256SUMS'), 'utf8')).toBe(await read('SHA256SUMS'));
});
