import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { handleInterrupts } from '../../cli/session.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';

let sandbox: LiveSandbox;
beforeEach(async () => {
  sandbox = await openLiveSandbox();
});
afterEach(() => sandbox.close());

const launcher = fileURLToPath(new URL('../../cli/cloudfence.js', import.meta.url));

/** Starts the launcher as a shell does: in its own process group. */
const start = (options: readonly string[], ...args: readonly string[]) => {
  const child = spawn(process.execPath, [...options, launcher, ...args], {
    detached: true,
    env: { ...sandbox.environment, KUBECONFIG: sandbox.kubeconfig },
  });
  return { child, stderr: text(child.stderr), closed: once(child, 'close') };
};

/** A command that waits until someone ends it. */
const startWaiting = async (options: readonly string[] = [], ...more: readonly string[]) => {
  stopMachine(sandbox.world, sandbox.scene.spare);
  const started = start(options, 'fence', sandbox.scene.spare, ...more);
  for await (const said of started.child.stdout.iterator({ destroyOnReturn: false }))
    if (String(said).includes('may still write')) break;
  return started;
};

/** Makes the launcher see an older Node.js, so that it starts the one of the checkout. */
const OLDER = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });";
const onOlderNode = ['--import', `data:text/javascript,${encodeURIComponent(OLDER)}`];

/** Plays signals at these times (ms), and returns what each of them did. */
const played = (...signals: readonly (readonly [NodeJS.Signals, number])[]): readonly string[] => {
  let time = 0;
  const done: string[] = [];
  const stop = handleInterrupts({
    alsoOn: ['SIGTERM'],
    now: () => time,
    begin: () => void done.push(`begin at ${time}`),
    again: () => void done.push(`again at ${time}`),
  });
  for (const [signal, at] of signals) {
    time = at;
    process.emit(signal);
  }
  stop();
  return done;
};

describe('Ctrl-C', () => {
  it('counts once if it comes twice within half a second', () => {
    expect(played(['SIGINT', 0], ['SIGINT', 3], ['SIGINT', 499])).toEqual(['begin at 0']);
  });

  it('counts again half a second later, each time', () => {
    expect(played(['SIGINT', 10], ['SIGINT', 510], ['SIGINT', 520])).toEqual([
      'begin at 10',
      'again at 510',
      'again at 520',
    ]);
  });

  it('counts as the second one after another signal, which itself never counts as the second', () => {
    expect(played(['SIGTERM', 0], ['SIGTERM', 900], ['SIGINT', 901])).toEqual([
      'begin at 0',
      'begin at 900',
      'again at 901',
    ]);
  });
});

const SENTENCE = /^cloudfence: interrupted: [^\n]+\n$/;

it('Ctrl-C ends a wait with one sentence and exit code 130, not with a stack trace', async () => {
  const { child, stderr, closed } = await startWaiting();
  child.kill('SIGINT');
  expect((await closed)[0]).toBe(130);
  expect(await stderr).toMatch(SENTENCE);
});

it('the JSON answer says that the user interrupted the command, not that its time was over', async () => {
  const { child, closed } = await startWaiting([], '--json', '--progress');
  const rest = text(child.stdout);
  child.kill('SIGINT');
  expect((await closed)[0]).toBe(130);
  const answer: unknown = JSON.parse((await rest).trim().split('\n').at(-1) ?? '');
  expect(answer).toMatchObject({ outcome: 'failed', reason: 'unavailable: the user interrupted the command' });
});

/** The pipes close only when the process that does the work has also ended. */
describe.skipIf(process.platform !== 'linux' || process.arch !== 'x64')('on an older Node.js', () => {
  it('a signal reaches the process that does the work, and its exit code is returned', async () => {
    const { child, stderr, closed } = await startWaiting(onOlderNode);
    child.kill('SIGINT');
    expect(await closed).toEqual([130, null]);
    expect(await stderr).toMatch(SENTENCE);
  });

  it('Ctrl-C in a terminal reaches both processes, and counts once', async () => {
    const { child, stderr, closed } = await startWaiting(onOlderNode);
    if (child.pid === undefined) throw new Error('the launcher has not started');
    process.kill(-child.pid, 'SIGINT');
    expect(await closed).toEqual([130, null]);
    expect(await stderr).toMatch(SENTENCE);
  });

  it.each(['SIGTERM', 'SIGHUP'] as const)('%s ends both processes, and is reported as the cause', async (signal) => {
    const { child, closed } = await startWaiting(onOlderNode);
    child.kill(signal);
    expect(await closed).toEqual([null, signal]);
  });
});
