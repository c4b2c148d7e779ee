import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { accepted } from './accepted.ts';
import { LADDER, rulesIn, withoutRule } from './ladder.ts';

it.each(accepted)('$file still has the line of an accepted mutant: $from  →  $to', ({ file, line, because }) => {
  const lines = readFileSync(file, 'utf8').split('\n');
  expect(lines.map((text) => text.trim())).toContain(line);
  expect(because).not.toBe('');
});

it('finds each rule of the ladder, and removes only that one', () => {
  const text = readFileSync(LADDER, 'utf8');
  const rules = rulesIn(text);
  expect(rules.length).toBeGreaterThan(40);
  expect(rules).toContain('beforeItBegins(capReached)');
  for (const [at] of rules.entries())
    expect(rulesIn(withoutRule(text, at))).toEqual(rules.filter((_, other) => other !== at));
  expect(withoutRule(text, rules.length)).toBe(text);
});
