import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import manifest from '../../package.json' with { type: 'json' };
import { writeChart } from '../../scripts/released.ts';

/** A real helm judges the chart, and its output is compared with the plain files. */

const run = promisify(execFile);
const chart = fileURLToPath(new URL('../../infra/kubernetes', import.meta.url));
const plainFiles = ['rbac.yaml', 'diagnose-rbac.yaml', 'admission-policy.yaml'] as const;

const object = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().default('') }),
});
const bound = object.extend({ subjects: z.array(z.looseObject({ kind: z.string(), name: z.string() })) });
const policed = object.extend({
  spec: z.looseObject({ matchConditions: z.array(z.looseObject({ expression: z.string() })) }),
});
type ClusterObject = z.infer<typeof object>;

const keyOf = ({ kind, metadata: { name, namespace } }: ClusterObject): string => [kind, namespace, name].join(' ');

/** Helm sorts its output, so both sides are sorted. */
const objectsIn = (text: string): readonly ClusterObject[] =>
  parseAllDocuments(text)
    .map((document): unknown => document.toJS())
    .filter((content) => content !== null)
    .map((content) => object.parse(content))
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));

const plain = async (...names: readonly string[]): Promise<readonly ClusterObject[]> =>
  objectsIn((await Promise.all(names.map((name) => readFile(path.join(chart, name), 'utf8')))).join('\n---\n'));

let helm: string;
let work: string;
beforeAll(async () => {
  work = await mkdtemp(path.join(tmpdir(), 'cloudfence-chart-'));
  helm = (await run(fileURLToPath(new URL('../../.ci/install-helm', import.meta.url)))).stdout.trim();
});
afterAll(() => rm(work, { recursive: true }));

const helmSays = async (...args: readonly string[]): Promise<string> =>
  (await run(helm, args, { env: { HOME: work, PATH: '' } })).stdout;
const printed = async (...args: readonly string[]): Promise<readonly ClusterObject[]> =>
  objectsIn(await helmSays('template', 'cloudfence', chart, ...args));

describe('the Helm chart', () => {
  it('prints the plain files', async () => {
    expect(await printed()).toEqual(await plain(...plainFiles));
  });

  it('prints only the files that its values select', async () => {
    expect(await printed('--set', 'diagnose=false,admissionPolicy=false')).toEqual(await plain('rbac.yaml'));
  });

  it('passes the linter', async () => {
    expect(await helmSays('lint', '--strict', chart)).toContain('0 chart(s) failed');
  });

  it('gives other identities every role, and applies every policy to them', async () => {
    const account = 'cloudfence-prod-run@my-project.iam.gserviceaccount.com';
    const objects = await printed('--set', `users={${account}},groups={7a1c: x}`);
    const bindings = objects.flatMap((one) => bound.safeParse(one).data ?? []);
    expect(bindings.map(({ kind }) => kind).filter((kind) => !kind.endsWith('RoleBinding'))).toEqual([]);
    expect(bindings).toHaveLength(4);
    for (const { subjects } of bindings)
      expect(subjects).toEqual([
        { kind: 'ServiceAccount', name: 'cloudfence', namespace: 'kube-system' },
        { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'cloudfence' },
        { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: account },
        { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: '7a1c: x' },
      ]);
    const conditions = objects
      .flatMap((one) => policed.safeParse(one).data ?? [])
      .flatMap(({ spec }) => spec.matchConditions);
    expect(conditions).toHaveLength(4);
    for (const { expression } of conditions)
      expect(expression).toBe(
        `request.userInfo.username == 'system:serviceaccount:kube-system:cloudfence' || request.userInfo.username == "${account}" || (has(request.userInfo.groups) && ('cloudfence' in request.userInfo.groups || "7a1c: x" in request.userInfo.groups))`,
      );
  });

  it('rejects an unknown value, and a policy that the cluster does not support', async () => {
    await expect(printed('--set', 'user={x}')).rejects.toThrow(/user/);
    await expect(printed('--kube-version', '1.29.0')).rejects.toThrow('--set admissionPolicy=false');
    expect(await printed('--kube-version', '1.29.0', '--set', 'admissionPolicy=false')).not.toEqual([]);
  });

  it('has the version of the package', async () => {
    const described: unknown = parse(await readFile(path.join(chart, 'Chart.yaml'), 'utf8'));
    expect(described).toMatchObject({ version: manifest.version, appVersion: manifest.version });
  });
});

it('the chart of a release prints the same, and has the same bytes the second time', async () => {
  const [one, two] = [path.join(work, 'one.tgz'), path.join(work, 'two.tgz')];
  await Promise.all([writeChart(one), writeChart(two)]);
  expect(objectsIn(await helmSays('template', 'cloudfence', one))).toEqual(await plain(...plainFiles));
  expect(await helmSays('lint', '--strict', one)).toContain('0 chart(s) failed');
  expect(await readFile(two)).toEqual(await readFile(one));
});
