import { allowance, type Allowance } from './reading.ts';
import { jsonIn, mayHoldJson, textOfBytes } from './json-text.ts';

/**
 * What a person may add to any event, anywhere in it. Of what is `unclear`, or `unseen` because there is too much of
 * it, nobody knows whether it asks for one.
 */
export interface DryRunWish {
  readonly says: 'dry' | 'unclear' | 'unseen';
  /** A JSON path, from `$`. */
  readonly where: string;
}

interface Place {
  readonly value: unknown;
  /** From the place around it. */
  readonly step: string | number;
  readonly around: Place | null;
}

const pathOf = (place: Place, end: string): string => {
  const steps: string[] = [end];
  for (let at: Place | null = place; at; at = at.around)
    steps.push(typeof at.step === 'number' ? `[${at.step}]` : at.step);
  return steps.toReversed().join('');
};

const LONGEST_NAME = 20;

/** However it is spelled: whoever means it must not get a fence in its place. */
const namesIt = (key: string): boolean =>
  key.length <= LONGEST_NAME && key.toLowerCase().replaceAll(/[-_\s]/g, '') === 'dryrun';

/** Words and numbers, of which there may be millions, ask for nothing. */
const mayAsk = (value: unknown): boolean =>
  typeof value === 'string' ? mayHoldJson(value) : typeof value === 'object' && value !== null;

const insideText = (text: string | null, around: Place, allowed: Allowance): readonly Place[] =>
  jsonIn(text ?? '', '', allowed).flatMap((one) =>
    'value' in one ? [{ value: one.value, step: one.where, around }] : [],
  );

const insideOf = (around: Place, allowed: Allowance): readonly Place[] => {
  const { value } = around;
  if (typeof value === 'string') return insideText(value, around, allowed);
  if (value instanceof Uint8Array) return insideText(textOfBytes(value, allowed), around, allowed);
  if (Array.isArray(value))
    return value.flatMap((one: unknown, step) => (mayAsk(one) ? [{ value: one, step, around }] : []));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => (mayAsk(one) ? [{ value: one, step: `.${key}`, around }] : []));
};

const wishAt = (place: Place): DryRunWish | null => {
  const { value } = place;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Uint8Array) return null;
  const wishes = Object.entries(value).filter(([key, wanted]) => namesIt(key) && wanted !== false);
  const [key] = wishes.find(([, wanted]) => wanted !== true) ?? wishes[0] ?? [];
  return key === undefined
    ? null
    : { says: wishes.every(([, wanted]) => wanted === true) ? 'dry' : 'unclear', where: pathOf(place, `.${key}`) };
};

/**
 * The wish for a dry run in a message, wherever it stands: beside an event or in it, in a text, a wrapping, or a
 * carrier that no reader looks into. Goes as deep as there is anything, without a stack that could overflow.
 */
export const wishIn = (raw: unknown, where = '$'): DryRunWish | null => {
  const allowed = allowance();
  const open: Place[] = [{ value: raw, step: where, around: null }];
  let dry: DryRunWish | null = null;
  for (let place = open.pop(); place; place = open.pop()) {
    const wish = wishAt(place);
    if (wish?.says === 'unclear') return wish;
    dry ??= wish;
    for (const inside of insideOf(place, allowed)) open.push(inside);
  }
  return allowed.left() < 0 ? { says: 'unseen', where } : dry;
};
