import { expect, it } from 'vitest';
import { untilRepeated, withoutDoubles } from './repeats.ts';

it('sentences are told until they only repeat themselves', () => {
  expect(untilRepeated(['begins', 'reads', 'waits', 'reads', 'waits', 'reads'])).toEqual(['begins', 'reads', 'waits']);
  expect(untilRepeated(['waits', 'waits', 'reads', 'acts', 'waits', 'waits', 'waits'])).toEqual([
    'waits',
    'waits',
    'reads',
    'acts',
    'waits',
  ]);
  expect(untilRepeated(['begins', 'reads', 'ends'])).toEqual(['begins', 'reads', 'ends']);
});

it('a sentence is not told twice in a row', () => {
  expect(withoutDoubles(['renews', 'renews', 'posts', 'renews'])).toEqual(['renews', 'posts', 'renews']);
});
