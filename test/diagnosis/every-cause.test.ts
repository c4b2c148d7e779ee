import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const golden = new URL('__snapshots__/', import.meta.url);

const kindsOfCauses = (): readonly string[] => {
  const source = readFileSync(new URL('../../diagnosis/model/cause.ts', import.meta.url), 'utf8');
  const [, union = ''] = /export type CauseKind =([^;]+);/.exec(source) ?? [];
  return [...union.matchAll(/'([a-z-]+)'/g)].map(([, kind]) => kind ?? '');
};

it('every cause has a scene with a golden answer', () => {
  const answers = readdirSync(golden)
    .map((file) => readFileSync(new URL(file, golden), 'utf8'))
    .join('\n');
  const kinds = kindsOfCauses();
  expect(kinds.length).toBeGreaterThan(60);
  expect(kinds.filter((kind) => !answers.includes(`: ${kind}]\n`))).toEqual([]);
});
