import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kubeconfigFor } from './live-cloud.ts';
import { openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { runCli } from './run-cli.ts';

/** A cluster whose API server accepts each connection and never answers, beside one that answers. */

let sandbox: LiveSandbox;
let silent: Server;
const accepted: Socket[] = [];
let config: string;

beforeAll(async () => {
  sandbox = await openLiveSandbox();
  silent = createServer((socket) => void accepted.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = silent.address();
  const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const kubeconfig = path.join(sandbox.folder, 'silent');
  await writeFile(kubeconfig, kubeconfigFor(url, 'no certificate'));
  config = path.join(sandbox.folder, 'two.yaml');
  const clusters = [
    { name: 'main', kubeconfig: sandbox.kubeconfig },
    { name: 'dr', kubeconfig },
  ];
  await writeFile(config, JSON.stringify({ clusters }));
});
afterAll(async () => {
  for (const socket of accepted) socket.destroy();
  silent.close();
  await sandbox.close();
});

/** Half of the time is enough to read the cluster that answers. */
const cli = (...args: readonly string[]) => runCli([...args, '--config', config, '--timeout', '8s'], sandbox);
const silentCap = (...args: readonly string[]) =>
  runCli(['cap', '--cluster', 'dr', '--json', '--config', config, '--timeout', '1s', ...args], sandbox);
const OVER = 'the time limit ended before an answer arrived';

it('doctor ends in time, and reports the cluster as not reachable and the other as it is', async () => {
  const { code, stdout } = await cli('doctor', '--json');
  expect([code, JSON.parse(stdout)]).toMatchObject([
    1,
    {
      verdict: 'fail',
      checks: expect.arrayContaining([
        { what: 'dr: reachable', verdict: 'fail', says: OVER },
        expect.objectContaining({ what: 'main: the ledger', verdict: 'ok' }),
      ]),
    },
  ]);
});

it('cap ends in time, shows the other cluster, and names the one that did not answer', async () => {
  expect(await cli('cap')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('main: Nodes fenced within 15 minutes: 0 of at most 1'),
    stderr: expect.stringContaining(`cluster dr did not answer: ${OVER}`),
  });
});

it('cap of that cluster alone fails with its name, and so does a change of its cap', async () => {
  const failed = { outcome: 'failed', reason: `unavailable: cluster dr did not answer: ${OVER}` };
  const show = await silentCap();
  expect([show.code, JSON.parse(show.stdout)]).toMatchObject([1, failed]);
  const change = await silentCap('--end');
  expect([change.code, JSON.parse(change.stdout)]).toMatchObject([1, failed]);
});
