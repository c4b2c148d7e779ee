import { parseJsonOrNull } from '../../fencing/model/json-text.ts';

/** What an older version writes: records and messages lack the fields that came later. */

const LATER_FIELDS: ReadonlySet<string> = new Set(['renewed', 'vouched', 'recurring', 'dryRun']);

const without = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).filter(([key]) => !LATER_FIELDS.has(key)))
    : value;

export const asOldVersion = {
  record: (text: string): string => {
    const record = parseJsonOrNull(text);
    return record === null ? text : JSON.stringify(without(record));
  },
  message: (body: string): string => {
    const message = parseJsonOrNull(body);
    return message === null ? body : JSON.stringify(without(message));
  },
};
