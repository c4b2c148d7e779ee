import { createReadBudget, mayHoldJson, parseJsonDocuments, type ReadBudget, textOfBytes } from './json-text.ts';

/**
 * A request for a dry run, which a person may add anywhere in any event. With `unclear`, and with `unseen` because
 * there is too much of it, it is unknown whether the event asks for a dry run.
 */
export interface DryRunRequest {
  readonly says: 'dry' | 'unclear' | 'unseen';
  /** A JSON path, from `$`. */
  readonly where: string;
}

interface JsonNode {
  readonly value: unknown;
  /** The step from the surrounding place to this one. */
  readonly step: string | number;
  readonly around: JsonNode | null;
}

const pathOf = (place: JsonNode, end: string): string => {
  const steps: string[] = [end];
  for (let at: JsonNode | null = place; at; at = at.around)
    steps.push(typeof at.step === 'number' ? `[${at.step}]` : at.step);
  return steps.toReversed().join('');
};

const LONGEST_NAME = 20;

/** True for `dryRun` in any spelling. A person who means it must not get a fence instead. */
const namesIt = (key: string): boolean =>
  key.length <= LONGEST_NAME && key.toLowerCase().replaceAll(/[-_\s]/g, '') === 'dryrun';

/** False for words and numbers. They ask for nothing, and there may be millions of them. */
const mayAsk = (value: unknown): boolean =>
  typeof value === 'string' ? mayHoldJson(value) : typeof value === 'object' && value !== null;

const insideText = (text: string | null, around: JsonNode, allowed: ReadBudget): readonly JsonNode[] =>
  parseJsonDocuments(text ?? '', '', allowed).flatMap((one) =>
    'value' in one ? [{ value: one.value, step: one.where, around }] : [],
  );

const insideOf = (around: JsonNode, allowed: ReadBudget): readonly JsonNode[] => {
  const { value } = around;
  if (typeof value === 'string') return insideText(value, around, allowed);
  if (value instanceof Uint8Array) return insideText(textOfBytes(value, allowed), around, allowed);
  if (Array.isArray(value))
    return value.flatMap((one: unknown, step) => (mayAsk(one) ? [{ value: one, step, around }] : []));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => (mayAsk(one) ? [{ value: one, step: `.${key}`, around }] : []));
};

const wishAt = (place: JsonNode): DryRunRequest | null => {
  const { value } = place;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Uint8Array) return null;
  const wishes = Object.entries(value).filter(([key, wanted]) => namesIt(key) && wanted !== false);
  const [key] = wishes.find(([, wanted]) => wanted !== true) ?? wishes[0] ?? [];
  return key === undefined
    ? null
    : { says: wishes.every(([, wanted]) => wanted === true) ? 'dry' : 'unclear', where: pathOf(place, `.${key}`) };
};

/**
 * Returns the request for a dry run in a message, wherever it is: next to an event, inside an event, in a text, in a
 * wrapper, or in a container that no reader opens. Searches to any depth, without recursion that could overflow the
 * stack.
 */
export const findDryRunRequest = (raw: unknown, where = '$'): DryRunRequest | null => {
  const allowed = createReadBudget();
  const open: JsonNode[] = [{ value: raw, step: where, around: null }];
  let dry: DryRunRequest | null = null;
  for (let place = open.pop(); place; place = open.pop()) {
    const wish = wishAt(place);
    if (wish?.says === 'unclear') return wish;
    dry ??= wish;
    for (const inside of insideOf(place, allowed)) open.push(inside);
  }
  return allowed.left() < 0 ? { says: 'unseen', where } : dry;
};
