import { inspect } from 'node:util';

const SHOWN = 8;

/** What came, as the text that it was before a platform parsed it. What is nested too deep to be written is cut off: nobody could read it either. */
export const textOf = (body: unknown): string => {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString('utf8');
  try {
    return JSON.stringify(body) ?? '';
  } catch (error) {
    if (error instanceof RangeError) return inspect(body, { depth: SHOWN });
    throw error;
  }
};
