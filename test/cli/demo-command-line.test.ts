import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { runCommand } from '../../cli/program.ts';
import { systemClock } from '../../config/environment.ts';

const cloudfence = async (...args: readonly string[]) => {
  const [lines, complaints]: [string[], string[]] = [[], []];
  const status = await runCommand(['demo', ...args], {
    screens: { output: null, errors: null },
    line: (text) => void lines.push(text),
    complain: (text) => void complaints.push(text),
    input: () => Readable.from([]),
    clock: systemClock(),
  });
  return { status, lines, complaints };
};

it('exits 2 with one sentence for an unknown scenario', async () => {
  expect(await cloudfence('--scenario', 'nobody')).toEqual({
    status: 2,
    lines: [],
    complaints: [expect.stringMatching(/"nobody" is not a scenario[^\n]*$/)],
  });
});

it('prints exactly one JSON object and exits 0', async () => {
  const { status, lines, complaints } = await cloudfence('--json', '--scenario', 'partition');
  expect([status, complaints, lines.length]).toEqual([0, [], 1]);
  expect(JSON.parse(lines.join(''))).toMatchObject({ scenario: 'partition', verdict: { right: true } });
});

it('exits 1 if the scenario ends wrong', async () => {
  expect((await cloudfence('--json', '--without-mark')).status).toBe(1);
});
