import { z } from 'zod';

/** A text that holds JSON, and what it holds. */
export const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    context.addIssue({ code: 'custom', message: `not JSON: ${String(cause)}` });
    return z.NEVER;
  }
});

/** The JSON in a text, or null when it is none: for readers that try another form next. */
export const jsonIn = (text: unknown): unknown => jsonText.safeParse(text).data ?? null;

/** The JSON in a text, or the text as it is. */
export const jsonOrText = (text: string): unknown => {
  const read = jsonText.safeParse(text);
  return read.success ? read.data : text;
};
