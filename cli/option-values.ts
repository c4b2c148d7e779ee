import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../config/schema.ts';

/** Readers of the values of options. Each rejects a value with what to write instead. */

/** A duration (ms). */
export const time = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === null)
    throw new InvalidArgumentError('write a number and ms, s, m, h or d, such as 90s, and at most 365d.');
  return ms;
};

/**
 * Rejects an empty value of an option. A person never intends an empty value, even if a variable in a script is empty.
 */
export const nonEmpty = (text: string): string => {
  if (text.trim() === '') throw new InvalidArgumentError('The value is empty: give a value, or omit the option.');
  return text;
};

export const stageName = (text: string): string => {
  if (!/^[a-z0-9][a-z0-9-]{0,19}$/.test(text)) throw new InvalidArgumentError('write letters, digits, and hyphens.');
  return text;
};

/** An option that may be repeated. */
export const collect = (text: string, before: readonly string[] = []): readonly string[] => [...before, nonEmpty(text)];
