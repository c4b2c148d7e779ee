import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PROOF_LASTS_MS } from '../../fencing/model/permit.ts';
import { timing } from '../../fencing/model/policy.ts';

/**
 * docs/safety.md says for each time of the protocol what a shorter or longer one would do. Most tests use the times of
 * the code, so they would not notice another value.
 */

const safety = readFileSync(new URL('../../docs/safety.md', import.meta.url), 'utf8');
const [, section = ''] = /\n## The times\n(.*?)\n## /s.exec(safety) ?? [];

const MS_PER: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };

const rows = [...section.matchAll(/^\| `(\w+)` \| (\d+) (\w+) \| (.+) \| (.+) \|$/gm)];
const documented = rows.map(([, name = '', value = '', unit = '']) => [name, Number(value) * (MS_PER[unit] ?? NaN)]);

it('docs/safety.md names every time of the protocol with its value, and no other', () => {
  expect(Object.fromEntries(documented)).toEqual({ PROOF_LASTS_MS, ...timing });
});
