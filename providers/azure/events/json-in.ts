/** What a text holds: JSON, or what is wrong with it. */
export type Parsed = { readonly where: string; readonly value: unknown } | { readonly where: string; readonly problem: string };

const BYTE_ORDER_MARK = /^\uFEFF/;
const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;

/** The words of a parser quote what they stumbled over, which may be anybody's; the place is enough. */
const parse = (text: string, where: string): Parsed => {
  try {
    const value: unknown = JSON.parse(text);
    return { where, value };
  } catch (cause) {
    const at = cause instanceof Error ? /position \d+/.exec(cause.message)?.[0] : undefined;
    return { where, problem: at === undefined ? 'it ends too early, or is none at all' : `it breaks off at ${at}` };
  }
};

/** Azure's storage queues carry text, and most who write to them encode it. */
const decoded = (text: string): string => (BASE64.test(text) ? Buffer.from(text, 'base64').toString('utf8').replace(BYTE_ORDER_MARK, '') : text);

/** One document, plain or in base64, or one on each line; none for a blank text. */
export const jsonIn = (raw: string, where: string): readonly Parsed[] => {
  const text = raw.replace(BYTE_ORDER_MARK, '').trim();
  if (text === '') return [];
  const whole = parse(text, where);
  if ('value' in whole) return [whole];
  const inside = parse(decoded(text), where);
  if ('value' in inside) return [inside];
  const lines = text.split(/\r?\n/).map((line, index) => ({ line, place: `${where}(line ${index + 1})` }));
  const parsed = lines.filter(({ line }) => line.trim() !== '').map(({ line, place }) => parse(line, place));
  return parsed.some((one) => 'value' in one) ? parsed : [whole];
};
