import { parseJsonOrNull } from '../../fencing/model/json-text.ts';

/**
 * What other versions write. Records and messages of an older version lack the newer fields. Those of a newer version
 * have unknown fields.
 */

const LATER_FIELDS: ReadonlySet<string> = new Set(['renewed', 'vouched', 'recurring', 'dryRun']);

const without = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).filter(([key]) => !LATER_FIELDS.has(key)))
    : value;

const withUnknown = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? { ...value, later: { unknown: [1] }, alsoLater: 'x' } : value;

const changed =
  (change: (value: unknown) => unknown) =>
  (text: string): string => {
    const parsed = parseJsonOrNull(text);
    return parsed === null ? text : JSON.stringify(change(parsed));
  };

export interface OtherVersion {
  readonly record: (text: string) => string;
  readonly message: (body: string) => string;
  /** Whether it writes the seal of a record. */
  readonly seals: boolean;
}

export const newerVersion: OtherVersion = { record: changed(withUnknown), message: changed(withUnknown), seals: true };

export const olderVersion: OtherVersion = { record: changed(without), message: changed(without), seals: false };
