import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { PRACTICE_HELP } from '../../demo/practice.ts';
import { scenarios } from '../../demo/scenarios.ts';
import { runCli } from './run-cli.ts';

/** The scripts run in the shells themselves. If a shell is not on this machine, the title of its test says so. */

const live = {
  kubeconfig: '',
  environment: {},
  clock: { now: () => ({ wall: 0, mono: 0 }), sleep: async () => {}, timeout: () => new AbortController().signal },
};
const cloudfence = (...args: readonly string[]) => runCli(args, live);
const script = async (shell: string): Promise<string> => (await cloudfence('completion', shell)).stdout;

/** What bash, or zsh in the way of its bashcompinit, offers for the last word. */
const offeredIn = async (shell: 'bash' | 'zsh', words: readonly string[], before = ''): Promise<readonly string[]> => {
  const typed = ['cloudfence', ...words].map((word) => `'${word}'`).join(' ');
  const completes = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _cloudfence; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const asked = `${await script(shell)}\n${before}\n${completes}`;
  return execFileSync(shell, ['-c', asked], { encoding: 'utf8' }).trim().split('\n');
};
const offered = (...words: readonly string[]): Promise<readonly string[]> => offeredIn('bash', words);

const isHere = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0;
const unlessHere = (shell: string): string => (isHere(shell) ? '' : `: not run, because there is no ${shell} here`);

describe('completion in bash', () => {
  it('offers the commands', async () => {
    expect(await offered('di')).toEqual(['diagnose']);
    expect(await offered('')).toEqual(expect.arrayContaining(['fence', 'release', 'sandbox', '--help']));
  });

  it('offers the options of the command that was typed', async () => {
    expect(await offered('fence', '--dry')).toEqual(['--dry-run']);
    expect(await offered('release', 'some-node', '--ac')).toEqual(['--accept']);
    expect(await offered('sandbox', '--dry')).toEqual(['']);
  });
});

describe('completion of values in bash', () => {
  it.each([
    { typed: ['fence', '--cloud', ''], offers: ['aws', 'azure', 'gcp'] },
    { typed: ['demo', '--scenario', 'part'], offers: ['partition'] },
    { typed: ['init', '--for', ''], offers: ['functions', 'cli'] },
    { typed: ['completion', ''], offers: ['bash', 'zsh', 'fish'] },
    { typed: ['sandbox', 'st'], offers: ['stop', 'start'] },
    { typed: ['help', 'dia'], offers: ['diagnose'] },
    { typed: ['fence', '--kubeconfig', ''], offers: [''] },
    { typed: ['cap', '--li'], offers: [''] },
  ])('offers $offers after $typed', async ({ typed, offers }) => expect(await offered(...typed)).toEqual(offers));
});

it('offers the scenarios of the demo and the commands of the sandbox, and no others', async () => {
  expect(await offered('demo', '--scenario', '')).toEqual(scenarios.map(({ name }) => name));
  const commands = PRACTICE_HELP.map((line) => line.split(' ')[0]);
  const inTerminal = await offered('sandbox', '');
  expect(new Set([...inTerminal, 'quit'])).toEqual(new Set([...commands, 'help']));
});

it('fish knows which options take a value, and which values', async () => {
  const lines = (await script('fish')).split('\n');
  expect(lines.find((line) => /from fence' -l cloud /.test(line))).toMatch(/ -r -f -a 'aws azure gcp' /);
  expect(lines.find((line) => /from fence' -l dry-run /.test(line))).not.toMatch(/ -r /);
});

describe.each([
  { shell: 'zsh', args: ['-n', '-c'] },
  { shell: 'fish', args: ['-c'] },
])('completion in $shell', ({ shell, args }) => {
  it('names each command', async () => expect(await script(shell)).toMatch(/\bfence\b[\s\S]*\bdiagnose\b/));

  it.skipIf(!isHere(shell))(`has no error of syntax${unlessHere(shell)}`, async () => {
    expect(spawnSync(shell, [...args, await script(shell)], { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    });
  });
});

it.skipIf(!isHere('zsh'))(`zsh runs the function without an error${unlessHere('zsh')}`, async () => {
  const inZsh = (...words: readonly string[]) => offeredIn('zsh', words, 'emulate ksh');
  // zsh itself drops the words that do not begin with what was typed.
  expect(await inZsh('dia')).toEqual(await offered(''));
  expect(await inZsh('fence', '--dry')).toEqual(await offered('fence', '-'));
  expect(await inZsh('demo', '--cloud', 'a')).toEqual(['aws', 'azure', 'gcp']);
});

it('rejects a shell that it does not know', async () =>
  expect(await cloudfence('completion', 'cmd')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bash, zsh, fish'),
  }));

it('shows an example and the exit codes of every command in its help', async () => {
  const { stdout } = await cloudfence('--help');
  const commands = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z]+) /gm)].map(
    ([, name = '']) => name,
  );
  expect(commands).toContain('diagnose');
  for (const command of commands.filter((name) => name !== 'help')) {
    const help = (await cloudfence(command, '--help')).stdout;
    expect(help).toMatch(new RegExp(`Examples:\\n {2}.*cloudfence ${command}`));
    expect(help).toMatch(/^Exit codes: 0 .*; 2 wrong usage/m);
  }
});
