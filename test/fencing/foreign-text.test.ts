import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isObjectName } from '../../fencing/model/cluster-facts.ts';
import { encodePart, maxLength, minLength, quoteBeginning } from '../../fencing/model/foreign-text.ts';
import { jsonOrNull } from '../../fencing/model/json-text.ts';
import { powerInWords } from '../../fencing/model/machine.ts';

/** Text that others wrote, and text for people. */

describe('a limit for a length', () => {
  const messages = (schema: z.ZodType, value: unknown) =>
    schema.safeParse(value).error?.issues.map(({ message }) => message) ?? [];

  it('holds for texts and lists, with the given words or those of Zod', () => {
    expect(messages(z.string().check(minLength(2, 'too short')), 'a')).toEqual(['too short']);
    expect(messages(z.string().check(minLength(2)), 'a')).toEqual([expect.stringMatching(/^Too small/)]);
    expect(messages(z.string().check(maxLength(2)), 'abc')).toEqual([expect.stringMatching(/^Too big/)]);
    expect(messages(z.array(z.string()).check(maxLength(1)), ['a', 'b'])).toHaveLength(1);
    expect(messages(z.string().check(minLength(2), maxLength(2)), 'ab')).toEqual([]);
  });

  it('does not compare the field of an object that stands in place of a text', () => {
    const length = Object.create(null);
    expect(messages(z.string().check(minLength(2), maxLength(2)), { length })).toEqual([
      expect.stringContaining('expected string'),
    ]);
  });
});

it('a quote shows the first forty characters of a text, on one line', () => {
  expect(quoteBeginning('a\nb')).toBe('"a b"');
  expect(quoteBeginning('x'.repeat(41))).toBe(`"${'x'.repeat(39)}…"`);
});

it('a part of a path is encoded, even with half of a character', () => {
  expect(encodePart('a/b \ud800')).toBe('a%2Fb%20%EF%BF%BD');
});

it('data that JSON cannot hold becomes an empty text, or null if it is nested too deeply', () => {
  expect(jsonOrNull({ a: 1 })).toBe('{"a":1}');
  expect(jsonOrNull(undefined)).toBe('');
  let deep: unknown = 1;
  for (let at = 0; at < 200_000; at += 1) deep = [deep];
  expect(jsonOrNull(deep)).toBeNull();
  const circle: unknown[] = [];
  circle.push(circle);
  expect(() => jsonOrNull(circle)).toThrow(TypeError);
});

it('the name of an object has 1 to 253 characters', () => {
  const names = ['a', 'a-b.c', 'a'.repeat(253), '', '-a', 'a-', 'A', 'a'.repeat(254)];
  expect(names.map(isObjectName)).toEqual([true, true, true, false, false, false, false, false]);
});

it('a power state that takes two reads is called off', () => {
  expect(['off-if-repeated', 'off', 'running'].map(powerInWords)).toEqual(['off', 'off', 'running']);
});
