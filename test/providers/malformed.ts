import fc from 'fast-check';
import { pages } from '../fuzz/pages.ts';
import type { Answered } from './stand-in.ts';

/**
 * Answers that a cloud never gives, but that something between Cloudfence and the cloud may give. They are correct
 * answers in a changed form. A wrong answer in the right form cannot be recognized.
 */
export type Malformed = (truth: { readonly status: number; readonly body: string }) => Answered;

const page = fc
  .record({
    status: fc.constantFrom(200, 201, 202, 203, 204, 302, 400, 404, 405, 407, 410, 451),
    body: fc.constantFrom(...pages),
    type: fc.constantFrom('text/html', 'application/json', 'text/xml', 'text/plain'),
  })
  .map(({ status, body, type }): Malformed => () => ({
    status,
    body: status === 204 ? '' : body,
    headers: { 'content-type': type },
  }));

const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const at = (text: string, part: number): number => Math.floor(text.length * part);

/** The answer is cut off somewhere, as if that were all of it. */
const cutOff = share.map((part): Malformed => ({ status, body }) => ({ status, body: body.slice(0, at(body, part)) }));

const STRUCTURE = /[{}[\]":,<>]/;

/**
 * A piece in the middle is lost, unless it is only a part of a name or a number: without such a part, the answer is in
 * the right form, and is about something else.
 */
const holed = fc.tuple(share, fc.integer({ min: 1, max: 60 })).map(([part, size]): Malformed => ({ status, body }) => {
  const from = at(body, part);
  const lost = body.slice(from, from + size);
  return { status, body: STRUCTURE.test(lost) ? body.slice(0, from) + body.slice(from + size) : body };
});

/** The right body with a status that it never has. */
const restated = fc.constantFrom(201, 203, 206, 302, 404, 410).map((status): Malformed => ({ body }) => ({
  status,
  body,
}));

const namesIn = (body: string, pattern: RegExp): readonly string[] => [
  ...new Set([...body.matchAll(pattern)].map(([, name]) => name ?? '')),
];

const picked = <T>(items: readonly T[], part: number): T | undefined => items[Math.floor(items.length * part)];

const TAG = /<([A-Za-z]+)>/g;

/** All XML elements of one name are removed, renamed, or empty. */
const otherXml = fc
  .tuple(share, fc.constantFrom('gone', 'renamed', 'empty'))
  .map(([part, how]): Malformed => ({ status, body }) => {
    const name = picked(namesIn(body, TAG), part) ?? 'none';
    const element = new RegExp(`<${name}>.*?</${name}>`, 'gs');
    if (how === 'renamed') return { status, body: body.replaceAll(new RegExp(`(</?)${name}>`, 'g'), `$1other>`) };
    return { status, body: body.replaceAll(element, how === 'gone' ? '' : `<${name}/>`) };
  });

type Json = unknown;

const changed = (value: Json, name: string, change: (value: Json) => Json): Json => {
  if (Array.isArray(value)) return value.map((item) => changed(item, name, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      key === name ? (change(item) === undefined ? [] : [[key, change(item)]]) : [[key, changed(item, name, change)]],
    ),
  );
};

const KEY = /"([A-Za-z$]+)":/g;

/** JSON values of one name are removed or have another type. `spared`: names that the cloud itself sometimes omits. */
const otherJson = (spared: readonly string[]) =>
  fc
    .tuple(share, fc.constantFrom<Json>(undefined, null, '', 0, 7, true, [], {}, 'other', [{}]))
    .map(([part, value]): Malformed => ({ status, body }) => {
      const name =
        picked(
          namesIn(body, KEY).filter((key) => !spared.includes(key)),
          part,
        ) ?? 'none';
      return { status, body: changed(JSON.parse(body), name, () => value) };
    });

export const malformedXml = fc.oneof(page, cutOff, holed, restated, otherXml);
export const malformedJson = (spared: readonly string[]) => fc.oneof(page, cutOff, holed, restated, otherJson(spared));
