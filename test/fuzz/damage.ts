import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { pages } from './pages.ts';

/**
 * One vocabulary of damage for every reader. An input is a valid sample and a short list of corruptions: first the tree
 * of the sample is corrupted, then its text. A corruption is plain data, so an input can be repeated, and fast-check
 * can shrink it.
 */

export interface Corruption<How extends string> {
  readonly how: How;
  /** Where, and how much. Each number is reduced to what the sample has. */
  readonly at: number;
  readonly n: number;
}

type Tree = unknown;

/** A place in a tree. The root is in its own list. */
interface Slot {
  readonly parent: Record<string, Tree> | Tree[];
  readonly key: string;
  /** The keys next to it that may be corrupted as well. */
  readonly beside?: readonly string[];
}

const isRecord = (value: Tree): value is Record<string, Tree> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const MOST_SLOTS = 5_000;

const slotsIn = (root: Tree[], spared: ReadonlySet<string>): readonly Slot[] => {
  const slots: Slot[] = [];
  const open: (Record<string, Tree> | Tree[])[] = [root];
  for (let parent = open.pop(); parent && slots.length < MOST_SLOTS; parent = open.pop()) {
    const entries = Object.entries(parent).filter(([key]) => !spared.has(key));
    const beside = entries.map(([key]) => key);
    for (const [key, value] of entries) {
      slots.push({ parent, key, beside });
      if (Array.isArray(value) || isRecord(value)) open.push(value);
    }
  }
  return slots;
};

/** Sets an own property, even `__proto__`. */
const set = ({ parent, key }: Slot, value: Tree): void => {
  Object.defineProperty(parent, key, { value, enumerable: true, writable: true, configurable: true });
};
const get = ({ parent, key }: Slot): Tree => Object.getOwnPropertyDescriptor(parent, key)?.value;

const remove = ({ parent, key }: Slot): void => {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else Reflect.deleteProperty(parent, key);
};

const DEEP = [3, 40, 500, 5_000, 100_000] as const;
const MANY = [2, 25, 300, 2_000, 25_000] as const;
const LONG = [1_100, 6_000, 70_000, 1_000_000, 10_000_000] as const;
const LARGEST = 10_000_000;

const MOST = 999_999;

/**
 * Returns the first size in nine of ten cases, and the second size in nine of ten of the others. One large input costs
 * as much as thousands of small ones.
 */
const sizeOf = (sizes: readonly number[], n: number): number => {
  const rarity = 5 - Math.floor(Math.log10(MOST + 1 - n));
  return sizes[Math.max(0, Math.min(sizes.length - 1, rarity))] ?? 1;
};

/** Returns how often to repeat a part, limited by the memory that the result needs. */
const timesOf = (sizes: readonly number[], n: number, each: number): number =>
  Math.max(1, Math.min(sizeOf(sizes, n), Math.floor(LARGEST / Math.max(1, each))));

const pick = <T>(items: readonly [T, ...T[]], n: number): T => items[n % items.length] ?? items[0];

/** Text that JSON.stringify cannot write. A marker in the tree stands for it, and is replaced afterwards. */
const RAW = /"@raw:(\d+):(\d+)@"/g;
const TWICE = '@twice';

const raws = [
  () => '1e400',
  () => '-1e400',
  () => '-0',
  () => '1e-400',
  () => '9007199254740993',
  () => '123456789012345678901234567890',
  () => '01',
  () => 'NaN',
  () => 'undefined',
  () => "'single'",
  () => '{"__proto__":{"items":[],"dryRun":false,"power":"off"}}',
  () => '{"constructor":{"prototype":{"power":"off"}}}',
  () => '{"toString":null,"hasOwnProperty":1,"then":{},"length":-1}',
  () => String.raw`"\ud800"`,
  () => String.raw`"\udc00\ud800 \u0000"`,
  () => '[,]',
  (n: number) => `${'['.repeat(sizeOf(DEEP, n))}${']'.repeat(sizeOf(DEEP, n))}`,
  (n: number) => `${'{"a":'.repeat(sizeOf(DEEP, n))}1${'}'.repeat(sizeOf(DEEP, n))}`,
] as const;

/** Numbers in a text, such as a time or a version, that are too large for any type. */
const DIGITS = ['0', '-1', '00', '1e9', '1e400', '9999999999', '9'.repeat(25), '9'.repeat(400), 'NaN', '0x10'] as const;

const rawMarker = (n: number): string => `@raw:${n % raws.length}:${n}@`;

const withRaws = (text: string): string =>
  text.replaceAll(RAW, (_, kind: string, n: string) => raws[Number(kind)]?.(Number(n)) ?? 'null').replaceAll(TWICE, '');

/** The values are texts, so that no two places share an object. */
const OTHERS = [
  'null',
  'true',
  'false',
  '0',
  '-1',
  '1.5',
  '7',
  '""',
  '"x"',
  '" "',
  '[]',
  '{}',
  '[null]',
  '[{}]',
  '[[]]',
  '{"a":null}',
] as const;
const other = (n: number): Tree => JSON.parse(pick(OTHERS, n));

const WORDS = [
  'ÅÄÖ\u0301 名前',
  '\u0000',
  '\u001b[31m',
  'a\r\nb: c\n\n{"decision":"fenced"}',
  '../../../etc/passwd',
  '%00%2e%2e',
  "'; --",
  '${jndi:x}',
  '\u202Eabc',
  '\uD800',
  '9'.repeat(40),
  '1970-01-01T00:00:00Z',
  '+275760-09-13T00:00:00.001Z',
  '__proto__',
  'constructor',
  'null',
] as const;

const KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'then',
  'length',
  'hasOwnProperty',
  '',
  'a b',
] as const;

const keyBeside = ({ key, beside = [] }: Slot, n: number): string => beside[n % Math.max(1, beside.length)] ?? key;

/** Each of these changes one place in a tree. */
const treeCorruptions = {
  drop: (slot: Slot) => remove(slot),
  retype: (slot: Slot, n: number) => set(slot, other(n)),
  word: (slot: Slot, n: number) => set(slot, pick(WORDS, n)),
  raw: (slot: Slot, n: number) => set(slot, rawMarker(n)),
  digits: (slot: Slot, n: number) => {
    const value = get(slot);
    if (typeof value === 'string') set(slot, value.slice(0, LONG[1]).replaceAll(/\d+/g, pick(DIGITS, n)));
  },
  asText: (slot: Slot) => set(slot, JSON.stringify(get(slot)) ?? ''),
  inList: (slot: Slot) => set(slot, [get(slot)]),
  repeat: (slot: Slot, n: number) => {
    const value = get(slot);
    const repeated = Array.isArray(value) ? value : [value];
    const times = timesOf(MANY, n, JSON.stringify(repeated).length);
    set(slot, Array.from({ length: times }, () => repeated).flat());
  },
  long: (slot: Slot, n: number) => {
    const value = get(slot);
    const unit = typeof value === 'string' && value !== '' ? value : 'long ';
    set(slot, unit.repeat(Math.ceil(sizeOf(LONG, n) / unit.length)));
  },
  odd: (slot: Slot, n: number) => {
    const value = get(slot);
    if (isRecord(value)) set({ parent: value, key: pick(KEYS, n) }, other(Math.floor(n / KEYS.length)));
    else set(slot, { [pick(KEYS, n)]: value });
  },
  twice: (slot: Slot, n: number) => {
    if (!Array.isArray(slot.parent)) set({ ...slot, key: slot.key + TWICE }, other(n));
  },
  rename: (slot: Slot, n: number) => {
    const value = get(slot);
    remove(slot);
    set({ ...slot, key: Array.isArray(slot.parent) ? slot.key : pick([slot.key.toUpperCase(), ...KEYS], n) }, value);
  },
  swap: (slot: Slot, n: number) => {
    const beside = { parent: slot.parent, key: keyBeside(slot, n) };
    const [one, two] = [get(slot), get(beside)];
    set(slot, two ?? null);
    set(beside, one);
  },
  insideOut: (slot: Slot) => set(slot, { [slot.key]: { [slot.key]: get(slot) } }),
} as const;

export type TreeCorruption = Corruption<keyof typeof treeCorruptions>;

/** Changes the tree. It keeps the `spared` names, because an answer without them is wrong but has the right form. */
export const corruptTree = (
  text: string,
  corruptions: readonly TreeCorruption[],
  spared: readonly string[] = [],
): string => {
  if (corruptions.length === 0) return text;
  const root: Tree[] = [JSON.parse(text)];
  for (const { how, at, n } of corruptions) {
    const slots = slotsIn(root, new Set(spared));
    const slot = slots[at % Math.max(1, slots.length)];
    if (slot) treeCorruptions[how](slot, n);
  }
  return withRaws(JSON.stringify(root[0]) ?? '');
};

const near = (text: string, at: number): number => Math.floor(((at % 10_000) / 10_000) * text.length);

const put = (text: string, at: number, piece: string): string =>
  text.slice(0, near(text, at)) + piece + text.slice(near(text, at));

const PIECES = [
  '\u0000',
  '\uFEFF',
  '\n',
  '"',
  '\\',
  '{',
  '}',
  '[',
  ',',
  ':',
  '\uD800',
  '<',
  '&x;',
  '<!--',
  '---',
  '\t',
] as const;

const elementsIn = (text: string): readonly RegExpMatchArray[] => [...text.matchAll(/<([A-Za-z]+)>/g)];

/** The text of an XML element with its tags, or null. */
const elementAt = (
  text: string,
  at: number,
): { readonly name: string; readonly from: number; readonly to: number } | null => {
  const opening = elementsIn(text);
  const [found] = opening.length === 0 ? [] : [opening[at % opening.length]];
  const name = found?.[1] ?? '';
  const end = `</${name}>`;
  const to = found ? text.indexOf(end, found.index) : -1;
  return found && to >= 0 ? { name, from: found.index ?? 0, to: to + end.length } : null;
};

const withElement = (text: string, at: number, change: (inside: string, name: string) => string): string => {
  const found = elementAt(text, at);
  if (!found) return text;
  const { name, from, to } = found;
  const inside = text.slice(from + name.length + 2, to - name.length - 3);
  return text.slice(0, from) + change(inside, name) + text.slice(to);
};

const element = (name: string, inside: string): string => `<${name}>${inside}</${name}>`;

const XML_INSIDE = [
  '',
  ' ',
  'x',
  '0',
  '-1',
  'true',
  '<a/>',
  '<item/>',
  '<item><item/></item>',
  '&#0;',
  '<![CDATA[x]]>',
  '&lol;',
  '\u0000',
] as const;

/** XML is corrupted as text, element by element. */
const xmlCorruptions = {
  drop: (text: string, at: number) => withElement(text, at, () => ''),
  empty: (text: string, at: number) => withElement(text, at, (_, name) => `<${name}/>`),
  rename: (text: string, at: number, n: number) =>
    withElement(text, at, (inside) => element(pick(['other', '__proto__', 'constructor', 'item'], n), inside)),
  inside: (text: string, at: number, n: number) =>
    withElement(text, at, (_, name) => element(name, pick(XML_INSIDE, n))),
  repeat: (text: string, at: number, n: number) =>
    withElement(text, at, (inside, name) => element(name, inside).repeat(timesOf(MANY, n, inside.length + 10))),
  deepen: (text: string, at: number, n: number) =>
    withElement(text, at, (inside, name) => {
      const depth = sizeOf(DEEP, n);
      return `<${name}>`.repeat(depth) + inside + `</${name}>`.repeat(depth);
    }),
  long: (text: string, at: number, n: number) =>
    withElement(text, at, (_, name) => element(name, 'long '.repeat(sizeOf(LONG, n) / 5))),
  everywhere: (text: string, at: number, n: number) => {
    const name = elementAt(text, at)?.name ?? 'none';
    return n % 2 === 0
      ? text.replaceAll(new RegExp(`<${name}>.*?</${name}>`, 'gs'), n % 4 === 0 ? '' : `<${name}/>`)
      : text.replaceAll(new RegExp(`(</?)${name}>`, 'g'), '$1other>');
  },
} as const;

const bombs = new Map<number, string>();

/** Returns a short text that unpacks to this many bytes. */
const bombOf = (size: number): string => {
  const made = bombs.get(size) ?? gzipSync(Buffer.alloc(size, ' ')).toString('base64');
  bombs.set(size, made);
  return made;
};

/** Each of these changes a text of any kind. */
const textCorruptions = {
  cut: (text: string, at: number) => text.slice(0, near(text, at)),
  hole: (text: string, at: number, n: number) =>
    text.slice(0, near(text, at)) + text.slice(near(text, at) + 1 + (n % 60)),
  insert: (text: string, at: number, n: number) => put(text, at, pick(PIECES, n)),
  stutter: (text: string, at: number, n: number) =>
    put(text, at, text.slice(near(text, at), near(text, at) + 1 + (n % 200))),
  page: (_: string, at: number) => pick(pages, at),
  lines: (text: string, at: number, n: number) =>
    Array.from({ length: timesOf([2, 5, 200, 21_000], n, text.length) }, () => text).join(at % 2 ? '\n' : '\r\n'),
  base64: (text: string) => Buffer.from(text).toString('base64'),
  zip: (text: string) => gzipSync(text).toString('base64'),
  bomb: (_: string, __: number, n: number) => bombOf(sizeOf([1_000, 100_000, 1_000_000, 70_000_000], n)),
  quoted: (text: string) => JSON.stringify(text),
  dry: (text: string, at: number) => put(text, at, pick(['"dryRun":true,', '"dry_run":"maybe",', 'dryRun'], at)),
  /** A byte that no UTF-8 text contains. See `bytesOf`. */
  bytes: (text: string, at: number, n: number) =>
    put(text, at, String.fromCharCode(INVALID + (n % INVALID_BYTES.length))),
} as const;

/** Characters for private use stand for bytes until the text becomes bytes. */
const INVALID = 0xe100;
const INVALID_BYTES = [0xff, 0xfe, 0xc0, 0x80, 0xed, 0xf8] as const;
const INVALID_MARKS = new RegExp(
  `[${String.fromCharCode(INVALID)}-${String.fromCharCode(INVALID + INVALID_BYTES.length - 1)}]`,
);

/** The bytes of a damaged text. Some are not UTF-8. */
export const bytesOf = (text: string): Buffer => {
  if (!INVALID_MARKS.test(text)) return Buffer.from(text);
  const pieces = text.split(new RegExp(`(${INVALID_MARKS.source})`));
  return Buffer.concat(
    pieces.map((piece, at) =>
      at % 2 === 0 ? Buffer.from(piece) : Buffer.from([INVALID_BYTES[piece.charCodeAt(0) - INVALID] ?? 0xff]),
    ),
  );
};

/** What a reader gets that decodes those bytes: it contains no invalid UTF-8 byte, and no half of a character. */
export const decoded = (text: string): string => bytesOf(text).toString('utf8');

export type TextCorruption = Corruption<keyof typeof textCorruptions>;
export type XmlCorruption = Corruption<keyof typeof xmlCorruptions>;

export const corruptText = (text: string, corruptions: readonly TextCorruption[]): string =>
  corruptions.reduce((corruption, { how, at, n }) => textCorruptions[how](corruption, at, n), text);

export const corruptXml = (text: string, corruptions: readonly XmlCorruption[]): string =>
  corruptions.reduce((corruption, { how, at, n }) => xmlCorruptions[how](corruption, at, n), text);

/** What is done to one sample. */
export interface Damage {
  /** Which of the reader's samples. */
  readonly sample: number;
  readonly tree: readonly TreeCorruption[];
  readonly xml: readonly XmlCorruption[];
  readonly text: readonly TextCorruption[];
  /** A number by which a reader varies something else, such as a header. */
  readonly turn: number;
}

const namesOf = <T extends object>(corruptions: T): readonly (keyof T & string)[] =>
  Object.keys(corruptions).filter((key): key is keyof T & string => key in corruptions);

const corruptionsOf = <T extends object>(corruptions: T): fc.Arbitrary<Corruption<keyof T & string>> =>
  fc.record({
    how: fc.constantFrom(...namesOf(corruptions)),
    at: fc.nat({ max: 65_535 }),
    // Without the bias of fast-check towards the largest numbers, which are the largest inputs.
    n: fc.noBias(fc.integer({ min: 0, max: MOST })),
  });

const treeCorruption = corruptionsOf(treeCorruptions);
const xmlCorruption = corruptionsOf(xmlCorruptions);
const textCorruption = corruptionsOf(textCorruptions);

const none = fc.constant([]);

const structured = fc.array(treeCorruption, { minLength: 1, maxLength: 4 });
const rough = fc.array(textCorruption, { minLength: 1, maxLength: 2 });

type Corruptions = Pick<Damage, 'tree' | 'xml' | 'text'>;

/**
 * The structure of nearly every input is corrupted. In some inputs, the text is also corrupted, or only the text. A few
 * inputs are valid.
 */
const jsonCorruptions: fc.Arbitrary<Corruptions> = fc.oneof(
  { weight: 7, arbitrary: fc.record({ tree: structured, xml: none, text: none }) },
  { weight: 2, arbitrary: fc.record({ tree: structured, xml: none, text: rough }) },
  { weight: 2, arbitrary: fc.record({ tree: none, xml: none, text: rough }) },
  { weight: 1, arbitrary: fc.record({ tree: none, xml: none, text: none }) },
);

const markupCorruptions: fc.Arbitrary<Corruptions> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({ tree: none, xml: fc.array(xmlCorruption, { minLength: 1, maxLength: 3 }), text: none }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ tree: none, xml: fc.array(xmlCorruption, { minLength: 1, maxLength: 2 }), text: rough }),
  },
  { weight: 2, arbitrary: fc.record({ tree: none, xml: none, text: rough }) },
  { weight: 1, arbitrary: fc.record({ tree: none, xml: none, text: none }) },
);

const roughCorruptions: fc.Arbitrary<Corruptions> = fc.record({
  tree: none,
  xml: none,
  text: fc.array(textCorruption, { maxLength: 3 }),
});

const damageBy = (corruptions: fc.Arbitrary<Corruptions>): fc.Arbitrary<Damage> =>
  fc
    .tuple(fc.nat({ max: 65_535 }), corruptions, fc.nat({ max: 65_535 }))
    .map(([sample, done, turn]) => ({ sample, ...done, turn }));

export const damages = {
  json: damageBy(jsonCorruptions),
  xml: damageBy(markupCorruptions),
  text: damageBy(roughCorruptions),
} as const;

/** A sample with its damage. Only the tree of a JSON sample can be corrupted. */
export const damaged = (samples: readonly string[], damage: Damage, spared: readonly string[] = []): string => {
  const sample = samples[damage.sample % samples.length] ?? '';
  return corruptText(corruptXml(corruptTree(sample, damage.tree, spared), damage.xml), damage.text);
};

const WHOLE: Damage = { sample: 0, turn: 0, tree: [], xml: [], text: [] };

const rawOfKind = (kind: number, most: number): number => most - ((most - kind) % raws.length);

const worstTree = (most: number): readonly TreeCorruption[] => [
  ...raws.flatMap((_, kind) => [0, 7].map((at) => ({ how: 'raw', at, n: rawOfKind(kind, most) }) as const)),
  { how: 'long', at: 3, n: most },
  { how: 'repeat', at: 2, n: most },
  ...KEYS.map((_, n) => ({ how: 'odd', at: 0, n }) as const),
];

const worstText = (most: number): readonly TextCorruption[] => [
  ...pages.map((_, at) => ({ how: 'page', at, n: 0 }) as const),
  ...(['bytes', 'zip', 'quoted', 'bomb', 'lines'] as const).map((how) => ({ how, at: 5_000, n: most })),
];

const worstXml = (most: number): readonly XmlCorruption[] =>
  (['long', 'deepen', 'repeat'] as const).map((how) => ({ how, at: 3, n: most }));

/** How large the worst inputs are. Small ones are for a run that has only a few seconds. */
export const worstSizes = { largest: MOST, small: MOST - 100_000 } as const;

/** The worst input of each kind, made from the first sample of the reader. */
const worstOf = (takes: keyof typeof damages, most: number): readonly Damage[] => {
  const texts = worstText(most).map((corruption) => ({ ...WHOLE, text: [corruption] }));
  if (takes === 'json') return [...worstTree(most).map((corruption) => ({ ...WHOLE, tree: [corruption] })), ...texts];
  return takes === 'xml' ? [...worstXml(most).map((corruption) => ({ ...WHOLE, xml: [corruption] })), ...texts] : texts;
};

/**
 * The worst input of each kind, which every reader gets before anything random: each with each number that makes a
 * difference, or, if there are only a few seconds, with one of them.
 */
export const worst = (
  {
    takes,
    turns = [0],
    slowTurns = [],
  }: {
    readonly takes: keyof typeof damages;
    readonly turns?: readonly number[];
    readonly slowTurns?: readonly number[];
  },
  size: keyof typeof worstSizes,
): readonly Damage[] => {
  const one = worstOf(takes, worstSizes[size]);
  return size === 'small'
    ? one.map((damage, at) => ({ ...damage, turn: turns[at % turns.length] ?? 0 }))
    : [...turns, ...slowTurns].flatMap((turn) => one.map((damage) => ({ ...damage, turn, sample: turn })));
};
