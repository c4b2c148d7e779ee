import { isUtf8 } from 'node:buffer';
import { inspect } from 'node:util';

const SHOWN = 8;

/** Bytes that are no text, such as a zip, are written as readers understand them as well. */
const textOfBytes = (bytes: Uint8Array): string => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? buffer.toString('utf8') : buffer.toString('base64');
};

/** What came, as the text that it was before a platform parsed it. What is nested too deep to be written is cut off: nobody could read it either. */
export const textOf = (body: unknown): string => {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return textOfBytes(body);
  try {
    return JSON.stringify(body) ?? '';
  } catch (error) {
    if (error instanceof RangeError) return inspect(body, { depth: SHOWN });
    throw error;
  }
};
