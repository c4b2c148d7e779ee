import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

it('docs/diagnose.md explains each cause once, and no other', () => {
  const [, union = ''] = /export type CauseKind =([^;]+);/.exec(read('diagnosis/model/cause.ts')) ?? [];
  const kinds = [...union.matchAll(/'([a-z-]+)'/g)].map(([, kind]) => kind);
  const [, causes = ''] = /^## Causes$([\s\S]+?)^## Storage/m.exec(read('docs/diagnose.md')) ?? [];
  const explained = [...causes.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, kind]) => kind);
  expect(kinds.length).toBeGreaterThan(50);
  expect(new Set(explained)).toEqual(new Set(kinds));
  expect(explained).toHaveLength(kinds.length);
});
