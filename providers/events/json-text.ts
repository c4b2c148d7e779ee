import { gunzipSync } from 'node:zlib';

/** The most characters in all texts of one event, including texts packed in other texts. */
const MOST_CHARACTERS = 64 * 1024 * 1024;
/** The most list entries and lines in one event. */
const MOST_ENTRIES = 20_000;

/**
 * The limits for reading one event. The sender of an event must not determine how long that takes or how much memory it
 * needs.
 */
export interface ReadBudget {
  readonly left: () => number;
  /** Uses up characters. Returns false if too few are left. */
  readonly spend: (characters: number) => boolean;
  /** Uses up entries or lines in the same way. */
  readonly count: (entries: number) => boolean;
}

export const createReadBudget = (): ReadBudget => {
  let characters = MOST_CHARACTERS;
  let entries = MOST_ENTRIES;
  return {
    left: () => characters,
    spend: (wanted) => {
      characters -= wanted;
      return characters >= 0;
    },
    count: (wanted) => {
      entries -= wanted;
      return entries >= 0;
    },
  };
};

/** One JSON document in a text with its path, or what is wrong with it. */
export type JsonDocument =
  | { readonly where: string; readonly value: unknown }
  | { readonly where: string; readonly problem: string };

/** Windows editors and shells write a byte order mark at the start of a file. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/**
 * Parses one document. The parser's message quotes the text at the error, which may contain foreign data. The position
 * is sufficient.
 */
const parse = (text: string, where: string): JsonDocument => {
  try {
    const value: unknown = JSON.parse(text);
    return { where, value };
  } catch (cause) {
    const at = cause instanceof Error ? /position \d+/.exec(cause.message)?.[0] : undefined;
    return {
      where,
      problem: at === undefined ? 'the text ends too early, or is not JSON' : `the text is not valid at ${at}`,
    };
  }
};

const NO_BASE64 = /[^\w+/=\s-]/;
/** The first bytes of data worth unpacking: JSON, a byte order mark or white space before JSON, or gzip. */
const BEGINNINGS: ReadonlySet<number | undefined> = new Set([0x7b, 0x5b, 0x22, 0xef, 0x20, 0x09, 0x0a, 0x0d, 0x1f]);

const isPacked = (text: string): boolean =>
  BEGINNINGS.has(Buffer.from(text.slice(0, 8), 'base64')[0]) && !NO_BASE64.test(text);

/** Returns whether the text is worth parsing. Most texts are plain words. */
const mayHoldJson = (text: string): boolean => {
  const [first = ''] = text.slice(0, 1_000).trimStart();
  return '{["'.includes(first) || text.includes('\n') || isPacked(text);
};

const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/**
 * Returns null for data that is not gzip, or that is larger than allowed after unpacking. A text of a few bytes may
 * unpack to gigabytes.
 */
const unzipped = (bytes: Uint8Array, most: number): Buffer | null => {
  try {
    return gunzipSync(bytes, { maxOutputLength: Math.max(1, most) });
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
};

/** Returns gzipped or plain bytes as text, or null when they cannot be unzipped. */
export const textOfBytes = (bytes: Uint8Array, { left }: ReadBudget): string | null => {
  const plain = isZip(bytes) ? unzipped(bytes, left()) : bytes;
  return plain && Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength).toString('utf8');
};

const CANNOT_UNZIP = 'the compressed data is broken, or it is too large when decompressed';

const TOO_MUCH = 'the event is too large';

const byLines = (text: string, where: string, allowed: ReadBudget): readonly JsonDocument[] => {
  const lines = text.split(/\r?\n/);
  if (!allowed.count(lines.length)) return [{ where, problem: TOO_MUCH }];
  return lines.flatMap((line, index) => (line.trim() === '' ? [] : [parse(line, `${where}(line ${index + 1})`)]));
};

/**
 * Returns the documents in a text: one document, plain or in base64, gzipped or not, packed any number of times; or one
 * document per line. Returns none for a blank text.
 */
export const parseJsonDocuments = (raw: string, where: string, budget: ReadBudget): readonly JsonDocument[] => {
  if (!budget.spend(raw.length)) return [{ where, problem: TOO_MUCH }];
  const text = raw.replace(BYTE_ORDER_MARK, '').trim();
  if (text === '') return [];
  const whole = parse(text, where);
  if ('value' in whole) return [whole];
  if (isPacked(text)) {
    const inside = textOfBytes(Buffer.from(text, 'base64'), budget);
    if (inside === null) return [{ where, problem: CANNOT_UNZIP }];
    const documents = parseJsonDocuments(inside, where, budget);
    if (documents.some((one) => 'value' in one)) return documents;
  }
  const documents = byLines(text, where, budget);
  return documents.some((one) => 'value' in one) ? documents : [whole];
};

/**
 * A request for a dry run, which a person may add anywhere in any event. With `unclear`, it is unknown whether the
 * event requests a dry run. `unseen` means the same, because the event was too large to search.
 */
export interface DryRunRequest {
  readonly says: 'dry' | 'unclear' | 'unseen';
  /** A JSON path, from `$`. */
  readonly where: string;
}

interface JsonNode {
  readonly value: unknown;
  /** The step from the parent to this value. */
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

/**
 * Returns whether the key is `dryRun` in any spelling. A person who requests a dry run must not get a fence instead.
 */
const namesIt = (key: string): boolean =>
  key.length <= LONGEST_NAME && key.toLowerCase().replaceAll(/[-_\s]/g, '') === 'dryrun';

/** Returns false for strings and numbers. They contain no request, and there may be millions of them. */
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
 * Returns the request for a dry run in a message, wherever it is: next to an event, inside an event, in a text, in an
 * envelope, or in a container that no reader opens. Searches to any depth, without recursion that could overflow the
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
