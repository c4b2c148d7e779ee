import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ADMIN_TOKEN } from '../../sandbox/cluster/api/server.ts';
import { holderStopped, openLiveSandbox } from './live-sandbox.ts';
import { runCli } from './run-cli.ts';

it('a fence fails at once and says why if the cluster does not recognize the caller', async () => {
  const sandbox = await openLiveSandbox(holderStopped);
  const stranger = path.join(sandbox.folder, 'stranger');
  await writeFile(stranger, (await readFile(sandbox.kubeconfig, 'utf8')).replace(ADMIN_TOKEN, 'nobody'));
  const { code, stdout } = await runCli(['fence', sandbox.scene.holder, '--json'], {
    ...sandbox,
    kubeconfig: stranger,
  });
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({
    code: 1,
    outcome: 'failed',
    reason: expect.stringMatching(/401/),
    steps: [],
  });
  await sandbox.close();
});

it('a fence of a machine that nothing knows is a usage error, and says how to correct it', async () => {
  const sandbox = await openLiveSandbox(holderStopped);
  const { code, stdout, stderr } = await runCli(['fence', 'i-0123456789abcdef0'], sandbox);
  expect({ code, says: `${stdout}${stderr}` }).toEqual({
    code: 2,
    says: expect.stringMatching(/the cloud does not know i-0123456789abcdef0, and no Node.* Check the id, and whether/),
  });
  await sandbox.close();
});
