import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const folder = new URL('./', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');

it('every cause has a scene in which it is the answer', () => {
  const [, union = ''] = /export type CauseKind =([^;]+);/.exec(read('../../diagnosis/model/cause.ts')) ?? [];
  const kinds = [...union.matchAll(/'([a-z-]+)'/g)].map(([, kind]) => kind);
  const tests = readdirSync(folder)
    .filter((file) => file.endsWith('.test.ts'))
    .map(read)
    .join('\n');
  expect(kinds.length).toBeGreaterThan(60);
  expect(kinds.filter((kind) => !tests.includes(`'${kind}'`))).toEqual([]);
});
