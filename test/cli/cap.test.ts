import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { holderStopped, openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { runCli } from './run-cli.ts';

/** Two nodes, so that only one fence may begin within 15 minutes. */

let sandbox: LiveSandbox;
beforeEach(async () => {
  sandbox = await openLiveSandbox(holderStopped);
});
afterEach(() => sandbox.close());

const cli = (...args: string[]) => runCli(args, sandbox);
const settings = () => getObject(sandbox.world, 'configmaps', 'cloudfence', 'kube-system')?.data;
const inMinutes = (minutes: number) =>
  expect.toSatisfy((text: string) => Math.abs(Date.parse(text) - Date.now() - minutes * 60_000) < 60_000);

it('shows how many fences have begun within the window, and of how many Nodes', async () => {
  expect(await cli('cap')).toMatchObject({
    code: 0,
    stdout:
      'default: Nodes fenced within 15 minutes: 0 of at most 1 (49 % of 2); unfinished fences: 0 of at most 1 (20 %)\n',
  });
  await cli('fence', sandbox.scene.holder);
  const { code, stdout } = await cli('cap', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    dryRun: false,
    share: 0.49,
    atOnce: 0.2,
    clusters: [
      {
        cluster: 'default',
        nodes: 2,
        begun: 1,
        unfinished: 0,
        limits: { begun: 1, unfinished: 1 },
        opens: inMinutes(15),
        override: null,
        lifted: null,
        fences: [{ begun: expect.any(String), finished: true, count: 1 }],
      },
    ],
  });
  expect((await cli('cap')).stdout).toMatch(/the next fence can begin at .*Z\n  begun .*Z, finished\n$/);
});

it('shows the fences that the ledger only counts in one line', async () => {
  const seconds = Math.floor(Date.now() / 1_000) - 60;
  const ledger = getObject(sandbox.world, 'configmaps', 'cloudfence-ledger', 'kube-system');
  if (ledger)
    writerAs(sandbox.world, 'admin').change('configmaps', ledger, (draft) => {
      draft.data = { counts: `${seconds} 30 100` };
    });
  const begun = new Date(seconds * 1_000).toISOString().replace('.000', '');
  expect((await cli('cap')).stdout).toBe(
    `default: Nodes fenced within 15 minutes: 30 of at most 49 (49 % of 100); unfinished fences: 0 of at most 20 (20 %)\n  30 begun until ${begun}, finished\n`,
  );
});

describe('an override', () => {
  it('lets fences begin beyond the cap, and can be taken back', async () => {
    await cli('fence', sandbox.scene.holder);
    stopMachine(sandbox.world, sandbox.scene.spare);
    sandbox.world.advance(30_000);
    expect(await cli('fence', sandbox.scene.spare, '--json', '--timeout', '45s')).toMatchObject({
      code: 4,
      stdout: expect.stringContaining('cap-reached: Nodes fenced within 15 minutes: 1 of at most 1 (49 % of 2)'),
    });
    expect(await cli('cap', '--override', '30m', '--reason', 'both are off, the console says so')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/overridden until .*Z: both are off, the console says so/),
    });
    expect(settings()).toEqual({
      'cap-lifted-until': inMinutes(30),
      'cap-lifted-because': 'both are off, the console says so',
    });
    expect((await cli('fence', sandbox.scene.spare, '--json')).code).toBe(0);
    expect(await cli('cap', '--end')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('overridden') });
    expect(settings()).toEqual({});
  });

  it('keeps its name of version 0.1.0 in the options and in the JSON', async () => {
    const { code, stdout } = await cli('cap', '--lift', '1h', '--reason', 'a drill', '--json');
    const override = { until: inMinutes(60), reason: 'a drill' };
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ clusters: [{ override, lifted: override }] });
  });

  it('does not end a pause', async () => {
    await cli('cap', '--override', '1h', '--reason', 'a drill');
    const map = getObject(sandbox.world, 'configmaps', 'cloudfence', 'kube-system');
    if (map) map.data = { ...map.data, pause: 'upgrade' };
    await cli('cap', '--end');
    expect(settings()).toEqual({ pause: 'upgrade' });
  });

  it('changes nothing in a dry run', async () => {
    expect((await cli('cap', '--override', '1h', '--reason', 'asking', '--dry-run')).code).toBe(0);
    expect(settings()).toBeUndefined();
  });

  it.each([
    ['without a reason', ['--override', '30m'], /--reason/],
    ['with an empty one', ['--override', '30m', '--reason', ' '], /--reason/],
    ['for more than a day', ['--override', '25h', '--reason', 'x'], /at most 24h/],
    ['for zero time', ['--override', '0s', '--reason', 'x'], /more than 0/],
    ['that is not a time', ['--override', 'soon', '--reason', 'x'], /such as 90s/],
    ['that ends at once', ['--override', '5m', '--reason', 'x', '--end'], /not both/],
    [
      'of an unknown cluster',
      ['--cluster', 'other', '--override', '5m', '--reason', 'x'],
      /cluster "other" does not exist/,
    ],
  ])('%s is rejected', async (_, args, words) => {
    expect(await cli('cap', ...args)).toMatchObject({ code: 2, stderr: expect.stringMatching(words) });
    expect(settings()).toBeUndefined();
  });

  it('requires a name if there are several clusters', async () => {
    const config = path.join(sandbox.folder, 'two.yaml');
    await writeFile(
      config,
      `clusters: [{ name: a, kubeconfig: ${sandbox.kubeconfig} }, { name: b, kubeconfig: ${sandbox.kubeconfig} }]\n`,
    );
    expect(await cli('cap', '--config', config, '--override', '5m', '--reason', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--cluster: a, b'),
    });
    const { stdout } = await cli('cap', '--config', config, '--cluster', 'b', '--override', '5m', '--reason', 'x');
    expect(stdout).toMatch(/^b: /);
  });
});

it('reports a cluster without a ledger', async () => {
  delete sandbox.world.parts.cluster.objects.configmaps['kube-system/cloudfence-ledger'];
  expect(await cli('cap')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('apply infra/kubernetes/rbac.yaml'),
  });
});
