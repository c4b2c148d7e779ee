import { z } from 'zod';

/** A schema for a text that holds JSON. Returns what the text holds. */
export const jsonTextSchema = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    context.addIssue({ code: 'custom', message: `not JSON: ${String(cause)}` });
    return z.NEVER;
  }
});

/** Returns the JSON in a text, or null if the text is not JSON. It is for readers that try another form next. */
export const parseJsonOrNull = (text: unknown): unknown => jsonTextSchema.safeParse(text).data ?? null;

/** Returns the JSON in a text, or the text as it is. */
export const parseJsonOrText = (text: string): unknown => {
  const read = jsonTextSchema.safeParse(text);
  return read.success ? read.data : text;
};
