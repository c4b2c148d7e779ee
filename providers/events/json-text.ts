/** One JSON document of a text, and where it stands; or what is wrong with it. */
export type JsonDocument = { readonly where: string; readonly value: unknown } | { readonly where: string; readonly problem: string };

/** Editors and shells of Windows put one before a file. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/** The words of a parser quote what they stumbled over, which may be anybody's; the place is enough. */
const parse = (text: string, where: string): JsonDocument => {
  try {
    const value: unknown = JSON.parse(text);
    return { where, value };
  } catch (cause) {
    const at = cause instanceof Error ? /position \d+/.exec(cause.message)?.[0] : undefined;
    return { where, problem: at === undefined ? 'it ends too early, or is none at all' : `it breaks off at ${at}` };
  }
};

/** One document, as it stands or once `decoded`, or one on each line; none for a blank text. */
export const jsonIn = (raw: string, where: string, decoded: (text: string) => string): readonly JsonDocument[] => {
  const text = raw.replace(BYTE_ORDER_MARK, '').trim();
  if (text === '') return [];
  const whole = parse(text, where);
  if ('value' in whole) return [whole];
  const inside = parse(decoded(text).replace(BYTE_ORDER_MARK, ''), where);
  if ('value' in inside) return [inside];
  const lines = text.split(/\r?\n/).map((line, index) => ({ line, place: `${where}(line ${index + 1})` }));
  const documents = lines.filter(({ line }) => line.trim() !== '').map(({ line, place }) => parse(line, place));
  return documents.some((one) => 'value' in one) ? documents : [whole];
};
