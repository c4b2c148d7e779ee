import { z } from 'zod';

/** A schema for a string that contains JSON. Returns the parsed JSON. */
export const jsonTextSchema = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    context.addIssue({ code: 'custom', message: `not JSON: ${String(cause)}` });
    return z.NEVER;
  }
});

/** Parses a string as JSON, or returns null if it is not JSON. Use it if you try another format next. */
export const parseJsonOrNull = (text: unknown): unknown => jsonTextSchema.safeParse(text).data ?? null;

/**
 * Serializes foreign data as JSON, or returns null if it is nested too deeply. `JSON.parse` reads any depth, but
 * `JSON.stringify` does not write it.
 */
export const jsonOrNull = (value: unknown): string | null => {
  try {
    return JSON.stringify(value) ?? '';
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
};

/** Parses a string as JSON, or returns the string unchanged if it is not JSON. */
export const parseJsonOrText = (text: string): unknown => {
  const read = jsonTextSchema.safeParse(text);
  return read.success ? read.data : text;
};
