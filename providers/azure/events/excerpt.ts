import { inspect } from 'node:util';

const DEEPEST = 4;

/** Who did something, from where and with what token: nobody's business here. */
const PRIVATE: ReadonlySet<string> = new Set(['authorization', 'caller', 'calleripaddress', 'claims', 'httprequest', 'identity']);

/** From the first such word on, a text may hold what its parsed form would hide. */
const PRIVATE_IN_TEXT = /"?\\*"?(?:authorization|caller|calleripaddress|claims|httprequest|identity)\b.*$/is;

/** Base64 hides the same from people, and not from anybody who cares. */
const ENCODED = /^[\w+/=\s-]{80,}$/;
const LONGEST = 400;
const shownText = (text: string): string => (ENCODED.test(text.slice(0, LONGEST)) ? `(${text.length} characters)` : text.slice(0, LONGEST).replace(PRIVATE_IN_TEXT, '…'));

const shown = (value: unknown, depth: number): unknown => {
  if (typeof value === 'string') return shownText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEEPEST) return '…';
  if (Array.isArray(value)) return value.slice(0, 5).map((one) => shown(one, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, PRIVATE.has(key.toLowerCase()) ? '…' : shown(one, depth + 1)]));
};

/** A short piece of what came, for the person who sent it. */
export const excerptOf = (raw: unknown): string => inspect(shown(raw, 0), { depth: DEEPEST, breakLength: Infinity }).slice(0, 300);
