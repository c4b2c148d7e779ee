import { createRequire } from 'node:module';
import { z } from 'zod';

/** The handler of a packaged function, called as Lambda calls it: with the event and the remaining time. */
const LASTS_MS = 60_000;

type Handler = (event: unknown, context: { readonly getRemainingTimeInMillis: () => number }) => Promise<unknown>;

const loaded = z.object({ handler: z.custom<Handler>((value) => typeof value === 'function') });

export const handlerIn = (entry: string): ((event: unknown) => Promise<unknown>) => {
  const { handler } = loaded.parse(createRequire(import.meta.url)(entry));
  return (event) => {
    const endsAt = Date.now() + LASTS_MS;
    return handler(event, { getRemainingTimeInMillis: () => endsAt - Date.now() });
  };
};
