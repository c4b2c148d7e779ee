import { z } from 'zod';
import { $ZodCheckMaxLength, $ZodCheckMinLength } from 'zod/v4/core';
import { onOneLine, shorten } from './reason.ts';

/**
 * Checks, quotes, and encodes text that others wrote. Such a text may have any form: it may be the content of a file
 * with a token, or contain half of a character. In its place, there may also be an object.
 */

/**
 * Zod also compares the field `length` of an object that is not the expected text or list. If that field is an object
 * without a primitive value, the comparison throws. So the checks here run only for texts and lists.
 */
const hasLength = ({ value }: { readonly value: unknown }): boolean =>
  typeof value === 'string' || Array.isArray(value);

/** Requires at least `minimum` characters or entries. Use it in place of Zod's `min` for texts and lists. */
export const minLength = (minimum: number, error?: string): z.core.$ZodCheckMinLength => {
  const check = { check: 'min_length', minimum, when: hasLength } as const;
  return new $ZodCheckMinLength(error === undefined ? check : { ...check, error: () => error });
};

/** Allows at most `maximum` characters or entries. Use it in place of Zod's `max` for texts and lists. */
export const maxLength = (maximum: number): z.core.$ZodCheckMaxLength =>
  new $ZodCheckMaxLength({ check: 'max_length', maximum, when: hasLength });

/** A text with at least one character. */
export const nonEmptyText = z.string().check(minLength(1));

/** A mistake is visible in so many characters. The rest may be a token (characters). */
const LONGEST_QUOTE = 40;

/** Quotes the beginning of a text in an error. */
export const quoteBeginning = (text: string): string => `"${shorten(onOneLine(text), LONGEST_QUOTE)}"`;

/**
 * Encodes a text as one part of a path. A text with half of a character cannot be encoded, so the replacement character
 * takes the place of that half.
 */
export const encodePart = (text: string): string => encodeURIComponent(text.toWellFormed());
