import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { accepted } from './accepted.ts';

it.each(accepted)('$file still has the line of an accepted mutant: $from  →  $to', ({ file, line, because }) => {
  const lines = readFileSync(file, 'utf8').split('\n');
  expect(lines.map((text) => text.trim())).toContain(line);
  expect(because).not.toBe('');
});
