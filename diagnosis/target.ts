import { InvalidInput } from '../fencing/model/errors.ts';
import type { ObjectName } from './model/facts.ts';

/** What a person asks about. */
export type Target =
  | { readonly kind: 'everything' }
  | ({ readonly kind: 'pod' | 'claim' } & ObjectName)
  | { readonly kind: 'volume' | 'node'; readonly name: string }
  /** The id of a disk, or the handle of a volume, as its cloud or its driver writes it. */
  | { readonly kind: 'disk'; readonly id: string };

const FORMS = 'pod/<namespace>/<name>, pvc/<namespace>/<name>, pv/<name>, node/<name>, or the id of a volume';

const NAMED: Readonly<Record<string, 'pod' | 'claim'>> = { pod: 'pod', pods: 'pod', pvc: 'claim', claim: 'claim' };
const SINGLE: Readonly<Record<string, 'volume' | 'node'>> = { pv: 'volume', node: 'node', nodes: 'node' };

const misspelled = (text: string): InvalidInput =>
  new InvalidInput(`${JSON.stringify(text.slice(0, 200))} is not ${FORMS}`);

/** Parses what a person wrote. Without a namespace, a pod or a claim is in `default`. @throws InvalidInput */
export const parseTarget = (text: string | undefined): Target => {
  if (text === undefined) return { kind: 'everything' };
  const [kind = '', ...rest] = text.split('/');
  const [first, second] = rest;
  const namespaced = Object.hasOwn(NAMED, kind) ? NAMED[kind] : undefined;
  const single = Object.hasOwn(SINGLE, kind) ? SINGLE[kind] : undefined;
  if (!namespaced && !single) {
    if (text.trim() === '') throw misspelled(text);
    return { kind: 'disk', id: text };
  }
  if (!first || rest.length > (namespaced ? 2 : 1) || second === '') throw misspelled(text);
  if (single) return { kind: single, name: first };
  const name = second === undefined ? { namespace: 'default', name: first } : { namespace: first, name: second };
  return { kind: namespaced ?? 'pod', ...name };
};
