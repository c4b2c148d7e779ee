/** One JSON document in a text, or what is wrong with it. */
export type JsonDocument =
  | { readonly line: number; readonly problem: null; readonly value: unknown }
  | { readonly line: number; readonly problem: string };

/** The text as one document if it is one, and otherwise line by line; none for a blank text. */
export const jsonIn = (marked: string): readonly JsonDocument[] => {
  const text = marked.replace(BYTE_ORDER_MARK, '');
  const whole = parse(text, 1);
  if (whole.problem === null) return [whole];
  const lines = text
    .split(/\r?\n/)
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, number }) => parse(line, number));
  return lines.length === 0 || lines.some((line) => line.problem === null) ? lines : [whole];
};

/** Editors and shells of Windows put one before a file. */
const BYTE_ORDER_MARK = /^\uFEFF/;

const parse = (text: string, line: number): JsonDocument => {
  try {
    const value: unknown = JSON.parse(text);
    return { line, problem: null, value };
  } catch (cause) {
    return { line, problem: String(cause) };
  }
};
