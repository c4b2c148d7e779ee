import { gunzipSync } from 'node:zlib';

/** The most characters in all texts of one event, including texts packed in other texts. */
const MOST_CHARACTERS = 64 * 1024 * 1024;
/** The most list entries and lines in one event. */
const MOST_ENTRIES = 20_000;

/**
 * How much of one event is read. The sender of an event must not decide how long that takes or how much memory it
 * needs.
 */
export interface ReadBudget {
  readonly left: () => number;
  /** Spends characters. Returns false when that is more than is left. */
  readonly spend: (characters: number) => boolean;
  /** Spends entries or lines in the same way. */
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
 * Parses one document. The parser's message quotes the text where it failed, which may contain anyone's data. The
 * position is enough.
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

/** True when the text is worth parsing. Most texts are just words. */
export const mayHoldJson = (text: string): boolean => {
  const [first = ''] = text.slice(0, 1_000).trimStart();
  return '{["'.includes(first) || text.includes('\n') || isPacked(text);
};

const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/**
 * Returns null for data that is not gzip after all, or that unpacks to more than is allowed. A text of a few bytes may
 * contain gigabytes.
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
