import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { runCli } from './run-cli.ts';

/** The scripts run in the shells themselves. If a shell is not on this machine, the title of its test says so. */

const live = {
  kubeconfig: '',
  environment: {},
  clock: { now: () => ({ wall: 0, mono: 0 }), sleep: async () => {}, timeout: () => new AbortController().signal },
};
const cloudfence = (...args: readonly string[]) => runCli(args, live);
const script = async (shell: string): Promise<string> => (await cloudfence('completion', shell)).stdout;

/** What bash offers for the last word. */
const offered = async (...words: readonly string[]): Promise<readonly string[]> => {
  const typed = ['cloudfence', ...words].map((word) => `'${word}'`).join(' ');
  const completes = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _cloudfence; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const asked = `${await script('bash')}\n${completes}`;
  return execFileSync('bash', ['-c', asked], { encoding: 'utf8' }).trim().split('\n');
};

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

describe.each([
  { shell: 'zsh', args: ['-n', '-c'] },
  { shell: 'fish', args: ['-c'] },
])('completion in $shell', ({ shell, args }) => {
  const found = spawnSync(shell, ['-c', 'true']).status === 0;

  it('names each command', async () => expect(await script(shell)).toMatch(/\bfence\b[\s\S]*\bdiagnose\b/));

  it.skipIf(!found)(
    `has no error of syntax${found ? '' : `: not run, because there is no ${shell} here`}`,
    async () => {
      expect(spawnSync(shell, [...args, await script(shell)], { encoding: 'utf8' })).toMatchObject({
        status: 0,
        stderr: '',
      });
    },
  );
});

it('rejects a shell that it does not know', async () =>
  expect(await cloudfence('completion', 'cmd')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bash, zsh, fish'),
  }));

it('shows an example of every command in its help', async () => {
  const { stdout } = await cloudfence('--help');
  const commands = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z]+) /gm)].map(
    ([, name = '']) => name,
  );
  expect(commands).toContain('diagnose');
  for (const command of commands.filter((name) => name !== 'help'))
    expect((await cloudfence(command, '--help')).stdout).toMatch(new RegExp(`Examples:\\n {2}.*cloudfence ${command}`));
});
