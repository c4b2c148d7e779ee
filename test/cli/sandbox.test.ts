import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Terminal } from '../../cli/answer.ts';
import { runCommand } from '../../cli/program.ts';
import { launcher, withEnvironment } from './run-cli.ts';

/** A person who practises: one terminal serves the sandbox, and another one repairs what the first one broke. */

let folder: string;
let now: number;
let typed: PassThrough;
let ended: Promise<number>;
const screen: string[] = [];

/** How far the terminal that serves lets virtual time pass by itself. */
let passUntil: number;

/** A wait of a command lets time pass, and a wait of the terminal that serves only until `passUntil`. */
const clockOf = (serves: boolean): Terminal['clock'] => ({
  now: () => ({ wall: now, mono: now }),
  sleep: async (ms, signal) => {
    if (!serves || now < passUntil) now += ms;
    await turn();
    signal.throwIfAborted();
  },
  timeout: () => new AbortController().signal,
});

const terminal = (lines: string[], input: PassThrough | null = null): Terminal => ({
  screens: { output: null, errors: null },
  line: (text) => void lines.push(text),
  complain: (text) => void lines.push(`! ${text}`),
  input: () => input ?? new PassThrough().end(),
  clock: clockOf(input !== null),
});

const until = (done: () => boolean): Promise<void> =>
  vi.waitFor(
    () => {
      if (!done()) throw new Error(`still not there:\n${screen.join('\n')}`);
    },
    { timeout: 60_000, interval: 5 },
  );

/** Lets virtual time pass in the terminal that serves. */
const pass = (ms: number): Promise<void> => {
  passUntil = now + ms;
  return until(() => now >= passUntil);
};

const shown = (text: string) => until(() => screen.some((line) => line.includes(text)));
const type = (command: string): void => void typed.write(`${command}\n`);

/** The variables that `. environment` sets. */
const variables = async (): Promise<Record<string, string>> => {
  const lines = (await readFile(path.join(folder, 'environment'), 'utf8')).trim().split('\n');
  return Object.fromEntries(lines.map((line) => /^export (\w+)='(.*)'$/.exec(line)?.slice(1) ?? []));
};

const cloudfence = async (...args: readonly string[]) => {
  const lines: string[] = [];
  const code = await withEnvironment(await variables(), () => runCommand(args, terminal(lines)));
  return { code, lines };
};

const begin = async (cloud: string): Promise<void> => {
  ended = runCommand(['sandbox', '--cloud', cloud, '--folder', folder], terminal(screen, typed));
  await Promise.race([shown('pod/default/db-0'), ended]);
};

const nodeOf = (machine: RegExp): string => {
  const at = screen.findIndex((line) => machine.test(line));
  return /Node (\S+):/.exec(screen[at + 1] ?? '')?.[1] ?? '';
};

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-practice-'));
  now = Date.UTC(2026, 0, 5, 3);
  passUntil = 0;
  typed = new PassThrough();
  screen.length = 0;
});
afterEach(async () => {
  type('quit');
  await ended;
  await rm(folder, { recursive: true });
});

describe.each(['aws', 'azure', 'gcp'])('the sandbox on %s', (cloud) => {
  it('lets a person stop a machine, fence it, start it again, and release it', async () => {
    await begin(cloud);
    const node = nodeOf(/running/i);
    type(`stop ${node}`);
    await pass(120_000);
    await shown('event: ');

    expect(await cloudfence('fence', node)).toEqual({ code: 0, lines: expect.any(Array) });
    expect((await cloudfence('status')).lines.join('\n')).toContain(node);

    type(`start ${node}`);
    await pass(300_000);
    expect(await cloudfence('release', node)).toEqual({ code: 0, lines: expect.any(Array) });
    type('machines');
    await shown('db-0');
    expect(screen.slice(-8).join('\n')).not.toMatch(/out-of-service|quarantine/);
    expect((await cloudfence('report')).lines.join('\n')).toContain(`${node}: released`);
  });
});

/** The Node without the database. */
const spareNode = async (): Promise<string> => {
  const { lines } = await cloudfence('sandbox', '--folder', folder, 'machines');
  const said = lines.join('\n').split('\n');
  const nodes = said.flatMap((line) => /^ {2}Node (\S+):/.exec(line)?.[1] ?? []);
  const holder = /Node (\S+):/.exec(said[said.indexOf('  pod/default/db-0') - 1] ?? '')?.[1];
  return nodes.find((node) => node !== holder) ?? '';
};

const allow = (node: string) => cloudfence('sandbox', '--folder', folder, 'allow', node);

describe('a drill on the sandbox', () => {
  it('is refused until the Node is labelled, and begins only with the name of the Node', async () => {
    await begin('aws');
    const node = await spareNode();
    const refused = await cloudfence('drill', '--node', node, '--json');
    expect(refused.code).toBe(4);
    expect(JSON.parse(refused.lines.at(-1) ?? '')).toMatchObject({ drill: 'refused', recoveryMs: null, left: [] });

    await allow(node);
    expect(await cloudfence('drill', '--node', node, '--dry-run')).toMatchObject({ code: 0 });
    const unnamed = await cloudfence('drill', '--node', node);
    expect(unnamed).toMatchObject({ code: 4 });
    expect(unnamed.lines.join('\n')).toContain(`To begin, type the name of the Node (${node})`);
    expect(await cloudfence('drill', '--node', 'nobody')).toMatchObject({ code: 2 });
    expect(await cloudfence('drill', '--node', node, '-o', 'report.pdf')).toMatchObject({ code: 2 });
  });

  it('undoes everything when its terminal is closed', async () => {
    await begin('aws');
    const node = await spareNode();
    await allow(node);
    const lines: string[] = [];
    const closed = terminal(lines);
    const complain = (text: string): void => {
      closed.complain(text);
      if (text.includes('the Node is marked')) for (let times = 0; times < 2; times += 1) process.emit('SIGHUP');
    };
    const drill = () => runCommand(['drill', '--node', node, '--yes', '--fence-here'], { ...closed, complain });
    expect(await withEnvironment(await variables(), drill), lines.join('\n')).toBe(130);
    expect(lines.join('\n')).not.toContain('Left behind');
    const { lines: machines } = await cloudfence('sandbox', '--folder', folder, 'machines');
    expect(machines.join('\n')).not.toMatch(/stopped|quarantine|out-of-service/);
  });

  it('fences by itself if asked, writes its report, and fails over the threshold', async () => {
    await begin('aws');
    const node = await spareNode();
    await allow(node);
    const file = path.join(folder, 'drill.md');
    const slow = ['--threshold', '1s', '--output', file];
    const { code, lines } = await cloudfence('drill', '--node', node, '--yes', '--fence-here', ...slow);
    expect(code, lines.join('\n')).toBe(1);
    const report = await readFile(file, 'utf8');
    expect(report).toMatch(/^# Drill: recovered in .* over the threshold of 1.0 s/);
    expect(report).toContain('## Not proved');
    expect((await cloudfence('status')).code).toBe(0);
  });
});

describe('the sandbox', () => {
  it('writes each event, so that `replay` reads it', async () => {
    await begin('aws');
    type(`stop ${nodeOf(/running/)}`);
    await pass(60_000);
    await shown('event: stopped');
    const files = await readdir(path.join(folder, 'events'));
    expect((await cloudfence('replay', path.join(folder, 'events', files.at(-1) ?? ''))).code).toBe(0);
  });

  it('refuses to fence a machine that is only cut off', async () => {
    await begin('aws');
    const node = nodeOf(/running/);
    type(`cut ${node}`);
    await pass(120_000);
    type('machines');
    await shown('NotReady, cut off, node.kubernetes.io/unreachable');
    expect(screen.filter((line) => /unreachable.*unreachable/.test(line))).toEqual([]);
    const { code, lines } = await cloudfence('fence', node);
    expect(code).toBe(4);
    expect(lines.join('\n')).toContain('unreachable-but-running');
  });

  it('obeys another terminal, and says what is wrong with a command', async () => {
    await begin('aws');
    const node = nodeOf(/running/);
    const there = (...words: readonly string[]) => cloudfence('sandbox', '--folder', folder, ...words);
    expect(await there('machines')).toMatchObject({ code: 0, lines: [expect.stringContaining(node)] });
    expect(await there('stop', 'nobody')).toMatchObject({
      code: 2,
      lines: [expect.stringContaining('"nobody" is not a machine or a Node of the sandbox')],
    });
    type('explode');
    await shown('! "explode" is not a command of the sandbox');
    type('quit');
    expect(await ended).toBe(0);
  });
});

it('ends at `quit`, although its pipe stays open', async () => {
  ended = Promise.resolve(0);
  const child = spawn(process.execPath, [launcher, 'sandbox', '--folder', folder]);
  const closed = once(child, 'close');
  for await (const said of child.stdout.iterator({ destroyOnReturn: false }))
    if (String(said).includes('pod/default/db-0')) break;
  child.stdin.write('quit\n');
  expect(await closed).toEqual([0, null]);
});

it('accepts no commands from a program that does not know its address', async () => {
  await begin('aws');
  const { origin } = new URL(await readFile(path.join(folder, 'control'), 'utf8'));
  expect((await fetch(origin, { method: 'POST', body: `stop ${nodeOf(/running/)}` })).status).toBe(404);
});

it('says which folder it cannot use', async () => {
  const lines: string[] = [];
  const file = path.join(folder, 'file');
  await writeFile(file, '');
  expect(await runCommand(['sandbox', '--folder', path.join(file, 'below')], terminal(lines))).toBe(2);
  expect(lines.join('\n')).toMatch(/file\/below cannot be used: give another folder with --folder \(ENOTDIR/);
});

it('never writes into a folder that contains other files', async () => {
  await mkdir(path.join(folder, 'events'));
  await writeFile(path.join(folder, 'events/mine.json'), 'mine');
  await begin('aws');
  expect(await ended).toBe(2);
  expect(screen.join('\n')).toContain('holds files that no sandbox has written');
  expect(await readFile(path.join(folder, 'events/mine.json'), 'utf8')).toBe('mine');
});

it('says that no sandbox runs', async () => {
  ended = Promise.resolve(0);
  const lines: string[] = [];
  expect(await runCommand(['sandbox', '--folder', folder, 'machines'], terminal(lines))).toBe(2);
  expect(lines.join('\n')).toContain(`no sandbox runs in ${folder}`);
});
