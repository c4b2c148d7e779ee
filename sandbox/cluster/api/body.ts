import { z } from 'zod';
import type { Resource, Resources } from '../objects.ts';

/** A submitted object, with a name or with a prefix for a generated name. */
export type Arriving = Omit<Resources[Resource], 'metadata'> & {
  metadata: Partial<Resources[Resource]['metadata']> & { generateName?: string };
};

const withMetadata = z.looseObject({ metadata: z.looseObject({}) });

export const arriving = z.custom<Arriving>(
  (value) => withMetadata.safeParse(value).success,
  'an object with metadata was expected',
);

export const written = z.custom<Resources[Resource]>(
  (value) =>
    withMetadata.extend({ metadata: z.looseObject({ name: z.string(), uid: z.string() }) }).safeParse(value).success,
  'the object has lost its metadata',
);

/** Returns the parsed JSON, or null if the text is not JSON. An empty body counts as `{}`. */
export const parsedBody = (text: string): { readonly value: unknown } | null => {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    return { value };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};
