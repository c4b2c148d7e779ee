import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { shorten } from '../fencing/model/reason.ts';
import type { ReadVariable } from './plugin.ts';

const LONGEST_SHOWN = 100;

const isWebAddress = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text);

/**
 * Reads a variable that holds the URL of a service. Returns null when it is not set.
 * @throws InvalidConfiguration when it holds anything else
 */
export const readUrl = (variable: ReadVariable, name: string): string | null => {
  const text = variable(name);
  if (text === null || isWebAddress(text)) return text;
  throw new InvalidConfiguration([
    `the environment variable ${name} is "${shorten(text, LONGEST_SHOWN)}", which is not a URL: write one such as https://host.example, or remove the variable`,
  ]);
};
