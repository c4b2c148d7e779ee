import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** The runbook explains every code that a reason may have, and no other. */

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

const declared = [...read('fencing/model/reason.ts').matchAll(/\| '([a-z-]+)'/g)].map(([, code = '']) => code);

const tables = read('docs/runbook.md').split('\n## The codes\n')[1] ?? '';
const explained = [...tables.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code),
);

it('finds codes', () => expect(declared.length).toBeGreaterThan(50));
it('explains every code', () => expect(declared.filter((code) => !explained.includes(code))).toEqual([]));
it('explains no code that does not exist', () =>
  expect(explained.filter((code) => !declared.includes(code))).toEqual([]));
