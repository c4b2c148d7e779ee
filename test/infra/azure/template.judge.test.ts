import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { placedFor } from './packaged-template.ts';
import { full, plain } from './stage-files.ts';

/** The findings of checkov, a third-party judge of templates, for our templates. https://www.checkov.io */

const run = promisify(execFile);
const report = z.object({
  results: z.object({
    passed_checks: z.array(z.object({ check_id: z.string() })),
    failed_checks: z.array(z.object({ check_id: z.string(), resource: z.string() })),
    parsing_errors: z.array(z.string()),
  }),
});

let folder: string;
let checkov: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-checkov-'));
  checkov = (await run(fileURLToPath(new URL('../../../.ci/install-checkov', import.meta.url)))).stdout.trim();
});
afterAll(() => rm(folder, { recursive: true }));

/** It does not support nested templates, so it gets their resources as one template. */
const judged = async (stage: string, written: object) => {
  const file = path.join(folder, `${stage}.json`);
  const resources = placedFor(stage, written).map(({ group: _group, ...resource }) => resource);
  await writeFile(
    file,
    JSON.stringify({
      $schema: 'https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#',
      contentVersion: '1.0.0.0',
      resources,
    }),
  );
  const { stdout } = await run(
    checkov,
    ['--framework', 'arm', '--file', file, '--output', 'json', '--soft-fail', '--skip-download'],
    { maxBuffer: 64e6 },
  );
  return report.parse(JSON.parse(stdout)).results;
};

/** Accepted findings, each with its reason. */
const accepted: Readonly<Record<string, string>> = {
  CKV_AZURE_59:
    'the account is reached by its public name, with tokens only: a private endpoint costs more than all the rest',
  CKV_AZURE_35: 'the same',
  CKV_AZURE_36: 'the same',
  CKV_AZURE_206: 'all that is lost with the account is made again by a deployment',
  CKV_AZURE_225: 'Flex Consumption places instances itself; the sweep finds what an outage missed',
  CKV_AZURE_222: 'Azure Monitor and people call it; each function wants a key',
  CKV_AZURE_17: 'callers have keys, not certificates',
  CKV_AZURE_212: 'it costs nothing while nothing happens',
  CKV_AZURE_78: 'Flex Consumption knows no FTP, and refuses to be told that it is off',
  CKV_AZURE_213: 'Flex Consumption has no health check; an alert watches the sweep',
};

it.each([
  ['prod', plain],
  ['full', full],
])('finds only accepted findings in the stage %s', async (stage, written) => {
  const { passed_checks, failed_checks, parsing_errors } = await judged(stage, written);
  expect(parsing_errors).toEqual([]);
  expect(
    failed_checks
      .filter(({ check_id }) => !(check_id in accepted))
      .map(({ check_id, resource }) => `${check_id}: ${resource}`),
  ).toEqual([]);
  expect(new Set(passed_checks.map(({ check_id }) => check_id)).size).toBeGreaterThanOrEqual(12);
});
