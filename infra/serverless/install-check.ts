import type { z } from 'zod';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import { type Configuration, parseConfiguration } from '../../config/schema.ts';
import type { Written } from './written.ts';

/** What was written for an install, on any cloud, in its two halves: the configuration of the functions, and the rest. */
export interface Halves {
  /** The configuration, as JSON. */
  readonly settings: string;
  readonly parameters: Written;
}

export const halvesOf = (written: Written, settingNames: readonly string[]): Halves => {
  const isSetting = (name: string): boolean => settingNames.includes(name);
  const only = (wanted: (name: string) => boolean): Written =>
    Object.fromEntries(Object.entries(written).filter(([name, value]) => wanted(name) && !(value === null && isSetting(name))));
  return { settings: JSON.stringify(only(isSetting)), parameters: only((name) => !isSetting(name)) };
};

export const parameterFaults = (error: z.ZodError | undefined): readonly string[] =>
  (error?.issues ?? []).map(({ path, message }) => `${path.map(String).join('.') || 'parameters'}: ${message}`);

/** Null, with all that is wrong with it, for one that cannot be used. */
export const configurationIn = (settings: string): { readonly configuration: Configuration | null; readonly faults: readonly string[] } => {
  try {
    return { configuration: parseConfiguration(settings, 'configuration'), faults: [] };
  } catch (error) {
    if (error instanceof InvalidConfiguration) return { configuration: null, faults: error.faults };
    throw error;
  }
};
