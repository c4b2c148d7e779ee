import { isName } from '../fencing/model/cluster-facts.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import { shorten } from '../fencing/model/reason.ts';
import type { ObjectName } from './model/facts.ts';

/** What a person names. */
export type NamedTarget =
  | ({ readonly kind: 'pod' | 'claim' } & ObjectName)
  | { readonly kind: 'volume' | 'node'; readonly name: string }
  /** The id of a disk, or the handle of a volume, as its cloud or its driver writes it. */
  | { readonly kind: 'disk'; readonly id: string };

/** What a person asks about. */
export type Target = { readonly kind: 'everything' } | NamedTarget;

const FORMS = 'pod/<namespace>/<name>, pvc/<namespace>/<name>, pv/<name>, node/<name>, or the id of a volume';

const NAMED: Readonly<Record<string, 'pod' | 'claim'>> = { pod: 'pod', pods: 'pod', pvc: 'claim', claim: 'claim' };
const SINGLE: Readonly<Record<string, 'volume' | 'node'>> = { pv: 'volume', node: 'node', nodes: 'node' };

const LONGEST_SHOWN = 200;

/** Quotes what a person wrote, unchanged but no longer than people read. */
export const quoted = (text: string): string => JSON.stringify(shorten(text, LONGEST_SHOWN));

const misspelled = (text: string): InvalidInput => new InvalidInput(`${quoted(text)} is not ${FORMS}`);

/** Parses what a person wrote. Without a namespace, a pod or a claim is in `default`. @throws InvalidInput */
export const parseNamedTarget = (text: string): NamedTarget => {
  const [kind = '', ...rest] = text.split('/');
  const [first, second] = rest;
  const namespaced = Object.hasOwn(NAMED, kind) ? NAMED[kind] : undefined;
  const single = Object.hasOwn(SINGLE, kind) ? SINGLE[kind] : undefined;
  if (!namespaced && !single) {
    if (text.trim() === '') throw misspelled(text);
    return { kind: 'disk', id: text };
  }
  if (first === undefined || rest.length > (namespaced ? 2 : 1) || !rest.every(isName)) throw misspelled(text);
  if (single) return { kind: single, name: first };
  const name = second === undefined ? { namespace: 'default', name: first } : { namespace: first, name: second };
  return { kind: namespaced ?? 'pod', ...name };
};

/** Parses what a person wrote. Nothing means everything. @throws InvalidInput */
export const parseTarget = (text: string | undefined): Target =>
  text === undefined ? { kind: 'everything' } : parseNamedTarget(text);

/** Returns the target as a person reads it. */
export const targetInWords = (target: NamedTarget): string => {
  switch (target.kind) {
    case 'pod':
    case 'claim':
      return `${target.kind} ${target.namespace}/${target.name}`;
    case 'volume':
    case 'node':
      return `${target.kind} ${target.name}`;
    case 'disk':
      return `volume ${target.id}`;
  }
};
