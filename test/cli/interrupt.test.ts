import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { stopMachine } from '../simulation/incidents.ts';
import { openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';

let sandbox: LiveSandbox;
beforeEach(async () => {
  sandbox = await openLiveSandbox();
});
afterEach(() => sandbox.close());

const launcher = fileURLToPath(new URL('../../cli/cloudfence.js', import.meta.url));

const start = (...args: string[]) => {
  const child = spawn(process.execPath, [launcher, ...args], {
    env: { ...sandbox.environment, KUBECONFIG: sandbox.kubeconfig },
  });
  return { child, stderr: text(child.stderr), closed: once(child, 'close') };
};

const SENTENCE = /^cloudfence: interrupted: [^\n]+\n$/;

it('Ctrl-C ends a wait with one sentence and exit code 130, not with a stack trace', async () => {
  stopMachine(sandbox.world, sandbox.scene.spare);
  const { child, stderr, closed } = start('fence', sandbox.scene.spare);
  for await (const said of child.stdout.iterator({ destroyOnReturn: false }))
    if (String(said).includes('may still write')) break;
  child.kill('SIGINT');
  expect((await closed)[0]).toBe(130);
  expect(await stderr).toMatch(SENTENCE);
});
