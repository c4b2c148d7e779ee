import { z } from 'zod';
import { Unavailable } from './errors.ts';

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

/**
 * The same pages, of which there must not be more than `most`: a server that promises another page for ever would never be
 * done. What was read by then is not the whole, and so it is no answer.
 */
export async function* bounded<T>(pages: AsyncIterable<T>, most: number, list: string): AsyncGenerator<T> {
  let count = 0;
  for await (const page of pages) {
    count += 1;
    if (count > most) throw new Unavailable(`${list} does not end: ${most} pages were read, and more are promised`);
    yield page;
  }
}
