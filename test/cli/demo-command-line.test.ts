import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const cloudfence = (...args: readonly string[]) =>
  spawnSync(process.execPath, [fileURLToPath(new URL('../../cli/main.ts', import.meta.url)), 'demo', ...args], {
    encoding: 'utf8',
  });

it('ends with 2 and one sentence for a scenario that there is not', () => {
  const { status, stdout, stderr } = cloudfence('--scenario', 'nobody');
  expect([status, stdout, stderr.trim().split('\n')]).toEqual([
    2,
    '',
    [expect.stringContaining('there is no scenario "nobody"')],
  ]);
});

it('prints one JSON object and nothing else, and ends with 0', () => {
  const { status, stdout, stderr } = cloudfence('--json', '--scenario', 'partition');
  expect([status, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toMatchObject({ scenario: 'partition', verdict: { right: true } });
});

it('ends with 1 when the end is wrong', () => {
  expect(cloudfence('--json', '--without-mark').status).toBe(1);
});
