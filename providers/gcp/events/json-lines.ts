/** One JSON document of a text; no value where the text is none. */
export interface JsonDocument {
  /** From 1; null where the whole text is the document. */
  readonly line: number | null;
  readonly value: unknown;
  readonly isJson: boolean;
}

/** Editors and shells of Windows put one before a file. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/** The text as one document if it is one, and otherwise line by line; none for a blank text. */
export const jsonIn = (marked: string): readonly JsonDocument[] => {
  const text = marked.replace(BYTE_ORDER_MARK, '');
  const whole = parsed(text, null);
  const lines = text.split(/\r?\n/).flatMap((line, index) => (line.trim() === '' ? [] : [parsed(line, index + 1)]));
  return whole.isJson || (lines.length > 0 && !lines.some(({ isJson }) => isJson)) ? [whole] : lines;
};

/** What the parser has to say would quote the text. */
const parsed = (text: string, line: number | null): JsonDocument => {
  try {
    const value: unknown = JSON.parse(text);
    return { line, value, isJson: true };
  } catch (cause) {
    if (cause instanceof SyntaxError) return { line, value: undefined, isJson: false };
    throw cause;
  }
};
