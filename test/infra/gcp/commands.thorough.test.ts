import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { functionNames } from '../../../infra/gcp/install.ts';
import { openService, type PackagedService } from '../packaged-service.ts';
import { unzip } from '../unzip.ts';
import { plain } from './installed.ts';
import { openManagement, type Management } from './management.ts';

/**
 * The commands of `serverless` as a person types them, with the stand-in of Google's management APIs. Each is a process
 * that may have to bundle.
 */
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

let service: PackagedService;
let google: Management;

beforeAll(async () => {
  service = await openService({ 'prod.gcp': plain });
  google = await openManagement();
});
afterAll(() => Promise.all([google.close(), service.close()]));

/** Where a deployment leaves its package. Another deployment can use it without building it again. */
const PACKAGE = '.serverless';

const run = (command: readonly string[], stage = 'prod') =>
  service.run([...command, '-c', 'serverless.gcp.yml', '--stage', stage], { CLOUDFENCE_GCP_ENDPOINT: google.url });
const runAgainstNobody = (...command: readonly string[]) =>
  service.run([...command, '-c', 'serverless.gcp.yml', '--stage', 'prod'], {
    CLOUDFENCE_GCP_ENDPOINT: 'http://127.0.0.1:9',
  });
const deployed = () => [...google.store.objects.keys()].filter((name) => name.includes('/functions/'));

describe('serverless package', () => {
  it('builds the same small zips each time, with the manifest that the platform reads', async () => {
    const folders = ['once', 'again'].map((name) => path.join(service.folder, name));
    for (const folder of folders) expect(await run(['package', '--package', folder])).toMatchObject({ code: 0 });
    const [once = '', again = ''] = folders;
    expect((await readdir(once)).filter((file) => file.endsWith('.zip')).sort()).toEqual(
      functionNames.map((name) => `${name}.zip`).sort(),
    );
    for (const name of functionNames) {
      const zip = await readFile(path.join(once, `${name}.zip`));
      expect(zip).toEqual(await readFile(path.join(again, `${name}.zip`)));
      const into = path.join(once, name);
      const files = await unzip(path.join(once, `${name}.zip`), into);
      const sizes = await Promise.all(
        files.map(async (file) => ({ file, size: (await readFile(path.join(into, file))).length })),
      );
      const cloudPart = sizes
        .filter(({ file }) => !file.startsWith('connect-cluster-'))
        .reduce((sum, { size }) => sum + size, 0);
      expect({ name, cloudPart }).toEqual({
        name,
        cloudPart: expect.toSatisfy((size: number) => size > 500_000 && size <= 1_500_000),
      });
      expect(JSON.parse(await readFile(path.join(into, 'package.json'), 'utf8'))).toMatchObject({
        type: 'commonjs',
        main: 'index.js',
        dependencies: { '@google-cloud/functions-framework': expect.stringMatching(/^\d/) },
      });
    }
  });

  it('rejects invalid parameters, with all errors at once, and then deploys nothing', async () => {
    const { code, said } = await run([
      'deploy',
      '--param=sweepEvery=7m',
      '--param=memory=1',
      '--param=nonsense=1',
      '--param=clusters=[{"name": "a", "kubeconfig": "a file"}]',
      '--param=policy={"detach": "sometimes"}',
    ]);
    expect(code).toBe(1);
    for (const fault of [/sweepEvery/, /memory/, /nonsense/, /policy\.detach/]) expect(said).toMatch(fault);
    expect(google.recorded).toEqual([]);
    expect(await run(['package'], 'a-stage-with-a-very-long-name')).toMatchObject({
      code: 1,
      said: expect.stringMatching(/stage: .*14[\s\S]*project: is not a project id[\s\S]*clusters: add at least one/),
    });
    expect(await run(['deploy', '--region', 'us-east1'])).toMatchObject({
      code: 1,
      said: expect.stringMatching(/unrecognized CLI options: "--region"/),
    });
    expect(google.recorded).toEqual([]);
    expect(await run(['package', '--param=clusters=[{"name": "a", "kubeconfig": "a file"}]'])).toMatchObject({
      code: 1,
      said: expect.stringMatching(/clusters\.0: .*secretManager/),
    });
  });
});

describe('serverless deploy, info, logs, invoke and remove', () => {
  it('report in a sentence, without a stack, that the cloud does not answer', async () => {
    const { code, said } = await runAgainstNobody('info');
    expect({ code, said }).toEqual({ code: 1, said: expect.not.stringMatching(/^\s+at /m) });
    expect(said).toMatch(/ECONNREFUSED|fetch failed|does not answer|did not answer|got no response/i);
  });

  it('succeed one after the other', async () => {
    expect(await run(['info'])).toMatchObject({ code: 0, said: expect.stringMatching(/on-event: not deployed/) });
    expect(await run(['deploy'])).toMatchObject({
      code: 0,
      said: expect.stringMatching(/function on-event: created[\s\S]*log sink .*: created/),
    });
    expect(deployed()).toHaveLength(6);
    const before = google.writes().length;
    expect(await run(['deploy', '--package', PACKAGE])).toMatchObject({ code: 0 });
    expect(google.writes().slice(before)).toEqual([]);
    expect(await run(['info'])).toMatchObject({ code: 0, said: expect.stringMatching(/on-event: ACTIVE at http/) });
    expect(await run(['logs', '-f', 'sweep'])).toMatchObject({ code: 0, said: expect.stringMatching(/swept/) });
    google.answers.set('cloudfence-prod-doctor', { checks: [] });
    expect(await run(['invoke', '-f', 'doctor', '-d', '{}'])).toMatchObject({
      code: 0,
      said: expect.stringMatching(/"checks": \[\]/),
    });
  });

  it('remove is refused while there are fences, or while nobody knows whether there are any', async () => {
    google.answers.set('cloudfence-prod-doctor', { fences: [{ cluster: 'prod', node: 'node-7' }] });
    expect(await run(['remove'])).toMatchObject({
      code: 1,
      said: expect.stringMatching(/Node node-7 in prod[\s\S]*cloudfence release --all/),
    });
    google.answers.delete('cloudfence-prod-doctor');
    expect(await run(['remove'])).toMatchObject({
      code: 1,
      said: expect.stringMatching(/no answer from the API server[\s\S]*--force-remove/),
    });
    expect(deployed()).toHaveLength(6);
  });

  it('remove deletes everything except the incidents if there are no fences', async () => {
    google.answers.set('cloudfence-prod-doctor', { fences: [] });
    expect(await run(['remove'])).toMatchObject({ code: 0 });
    expect([...google.store.objects.keys()].filter((name) => name.includes('cloudfence-prod'))).toEqual([
      'b/cloudfence-prod-my-project',
    ]);
    expect(await run(['remove'])).toMatchObject({
      code: 0,
      said: expect.stringMatching(/The function doctor does not exist/),
    });
    expect(await run(['invoke', '-f', 'doctor', '-d', '{}'])).toMatchObject({
      code: 1,
      said: expect.stringMatching(/the function doctor does not exist: deploy first/),
    });
  });
});

it('serverless invoke local runs the same bundle with the caller’s own credentials', async () => {
  const { code, said } = await run(['invoke', 'local', '-f', 'fence', '-d', '{"instance": "my-node"}']);
  expect({ code, said }).toEqual({
    code: 0,
    said: expect.stringMatching(/"status": 400[\s\S]*not the path of an instance/),
  });
});
