import { z } from 'zod';

const handler = z.custom<(request: object, context: object) => Promise<unknown>>((value) => typeof value === 'function');
const answered = z.object({ status: z.int(), body: z.string() });

const context = { log: console.error, warn: console.error, error: console.error };

/** Stands for the Functions host: a request with that body. Lines of the log go to standard error. */
export const invokeLocally = async (exported: unknown, payload: unknown): Promise<unknown> => {
  const text = JSON.stringify(payload);
  const request = { method: 'POST', headers: [['content-type', 'application/json']], text: async () => text };
  const said = answered.safeParse(await handler.parse(exported)(request, context));
  if (!said.success) return null;
  const { status, body } = said.data;
  return { status, ...(body !== '' && { body: JSON.parse(body) as unknown }) };
};
