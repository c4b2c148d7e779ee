import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCommand } from '../../cli/program.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { startMachine, stopMachine } from '../simulation/incidents.ts';
import { holderStopped, openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { runCli, withEnvironment } from './run-cli.ts';

/** What a person or a program sees during a wait. */

let sandbox: LiveSandbox;
beforeEach(async () => {
  sandbox = await openLiveSandbox((world, { holder }) => {
    const [kept, instance] = [world.parts.ec2.instances[holder], instanceIn(world, holder)];
    if (!kept || !instance) throw new Error(`no machine ${holder}`);
    world.parts.ec2.instances[holder] = { ...kept, present: { ...instance, shutdownTakes: 165_000 } };
    stopMachine(world, holder);
  });
});
afterEach(() => sandbox.close());

interface Seen {
  readonly stdout: string[];
  readonly errors: string[];
  /** Draws again, as the timer of a terminal does. */
  readonly ticks: (() => void)[];
  readonly stopped: { count: number };
}

/** The CLI at a terminal whose timer the test controls: it ticks before each line. */
const atTerminal = async (...args: string[]): Promise<Seen & { readonly code: number }> => {
  const seen: Seen = { stdout: [], errors: [], ticks: [], stopped: { count: 0 } };
  const screen = {
    write: (text: string) => void seen.errors.push(text),
    columns: () => 60,
    every: (_ms: number, work: () => void) => {
      seen.ticks.push(work);
      return () => void (seen.stopped.count += 1);
    },
  };
  const code = await withEnvironment({ ...sandbox.environment, KUBECONFIG: sandbox.kubeconfig }, () =>
    runCommand(args, {
      line: (text) => void seen.stdout.push(text),
      complain: (text) => void seen.errors.push(text),
      input: () => Readable.from([]),
      clock: sandbox.clock,
      screens: { output: screen, errors: screen },
    }),
  );
  return { ...seen, code };
};

const CLEAR = '\r\u001B[K';

describe('a long wait', () => {
  it('has one line on a terminal, with what is awaited and since when, and removes it at the end', async () => {
    const { code, stdout, errors, ticks, stopped } = await atTerminal('fence', sandbox.scene.holder);
    expect(code).toBe(0);
    const live = errors.filter((text) => text !== CLEAR);
    expect(live.length).toBeGreaterThan(3);
    for (const text of live) {
      expect(text.startsWith(CLEAR)).toBe(true);
      expect(text.slice(CLEAR.length)).toMatch(/^… (?:\d+m)?\d+s (?!i-\w+:)\S/);
      expect(text.length).toBeLessThanOrEqual(CLEAR.length + 59);
    }
    expect(live.some((text) => text.includes('is stopping, so its'))).toBe(true);
    expect(live.some((text) => /… (?:\d+m|[2-9]\ds|1\ds)/.test(text))).toBe(true);
    expect(errors.at(-1)).toBe(CLEAR);
    expect(ticks.length).toBeGreaterThan(0);
    expect(stopped.count).toBe(ticks.length);
    expect(stdout.join('\n')).toMatch(/… .*may still write[^]*mark +node\//);
  });

  it('is printed again from time to time without a terminal, on lines of its own', async () => {
    const { code, stdout, stderr } = await runCli(['fence', sandbox.scene.holder], sandbox);
    expect([code, stderr]).toEqual([0, '']);
    const waits = stdout.split('\n').filter((line) => line.includes('may still write'));
    expect(waits.length).toBeGreaterThan(1);
    expect(waits.length).toBeLessThan(5);
    expect(waits[1]).toMatch(/… (?:30|3\d)s: /);
    expect(stdout).not.toContain('\u001B');
  });

  it('is JSON lines with --json --progress, and the last line is the answer', async () => {
    const { code, stdout } = await runCli(['fence', sandbox.scene.holder, '--json', '--progress'], sandbox);
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line));
    expect(lines[0]).toMatchObject({
      progress: 'waiting',
      reason: expect.stringMatching(/^stopping: /),
      instance: sandbox.scene.holder,
      cluster: 'default',
      node: sandbox.scene.nodeOf(sandbox.scene.holder),
      since: expect.stringMatching(/Z$/),
      until: expect.stringMatching(/Z$/),
    });
    expect(lines.filter(({ progress }) => progress === 'step')).toMatchObject([
      { step: 'mark', result: 'done' },
      { step: 'delete-pod', result: 'done' },
      { step: 'park', result: 'done' },
    ]);
    expect(lines.at(-1)).toMatchObject({ outcome: 'fenced' });
    expect(lines.at(-1)).not.toHaveProperty('progress');
  });
});

it('a release says what it still waits for', async () => {
  const back = await openLiveSandbox(holderStopped);
  const node = back.scene.nodeOf(back.scene.holder);
  await runCli(['fence', node], back);
  startMachine(back.world, back.scene.holder);
  const { stdout } = await runCli(['release', node, '--json', '--progress'], back);
  expect(stdout).toMatch(/"progress":"waiting","reason":"return-unproven: [^]*"outcome":"released"/);
  await back.close();
});
