import { InvalidInput } from '../fencing/errors.ts';
import { jsonIn } from '../fencing/json-text.ts';
import type { Delivery } from './errand.ts';

/** What a person may add to any event that is sent by hand. */
type DryRunWish = 'none' | 'dry' | 'unclear';

const wishOf = (document: unknown): DryRunWish => {
  if (typeof document !== 'object' || document === null || !('dryRun' in document)) return 'none';
  if (typeof document.dryRun !== 'boolean') return 'unclear';
  return document.dryRun ? 'dry' : 'none';
};

const BYTE_ORDER_MARK = /^\uFEFF/;

/** Whatever a reader of events would find: one document, plain or in base64, or one on each line. */
const documentsIn = (marked: string): readonly unknown[] => {
  const text = marked.replace(BYTE_ORDER_MARK, '');
  const whole = jsonIn(text) ?? jsonIn(Buffer.from(text, 'base64').toString('utf8').replace(BYTE_ORDER_MARK, ''));
  return whole === null ? text.split(/\r?\n/).map(jsonIn) : [whole];
};

/** What is wished for one is wished for all. */
const dryRunWish = (...texts: readonly string[]): DryRunWish => {
  const wishes = new Set(texts.flatMap(documentsIn).flat().map(wishOf));
  if (wishes.has('unclear')) return 'unclear';
  return wishes.has('dry') ? 'dry' : 'none';
};

/** @throws InvalidInput where that is unclear */
export const wantsDryRun = (...texts: readonly string[]): boolean => {
  const wish = dryRunWish(...texts);
  if (wish === 'unclear') throw new InvalidInput('`dryRun` is neither true nor false (at $.dryRun): send true or false');
  return wish === 'dry';
};

const noDryRunHere = { what: 'a dry run is wanted, and there is none in a queue', where: '$.dryRun', mend: 'send it to `replay`', excerpt: '' };

/** Whoever wanted a dry run must not get a fence in its place. */
export const forQueue = (delivery: Delivery): Delivery =>
  dryRunWish(delivery.body) === 'none' ? delivery : { ...delivery, errands: [], faults: [...delivery.faults, noDryRunHere] };
