/**
 * The part of the template language that our templates use.
 * https://learn.microsoft.com/azure/azure-resource-manager/templates/template-functions
 */

export type Lookup = (id: string) => Readonly<Record<string, unknown>> | null;

const REFERENCE = /^reference\('([^']+)',\s*'\d{4}-\d{2}-\d{2}(?:-preview)?'\)\.(\w+)/;
const TEXT = /^'([^']*)'/;

class Unresolved extends Error {}

/** Evaluates one argument after the other, until the closing bracket. */
const argumentsIn = (text: string, lookup: Lookup): string => {
  let rest = text;
  let joined = '';
  while (!rest.startsWith(')')) {
    const [value, length] = term(rest, lookup);
    joined += value;
    rest = rest.slice(length).replace(/^\s*,\s*/, '');
  }
  return joined;
};

const term = (text: string, lookup: Lookup): readonly [string, number] => {
  const quoted = TEXT.exec(text);
  if (quoted) return [quoted[1] ?? '', quoted[0].length];
  const [whole, id = '', property = ''] = REFERENCE.exec(text) ?? [];
  if (whole === undefined) throw new Error(`the template has an expression that is none: ${text}`);
  const value = lookup(id)?.[property];
  if (typeof value !== 'string') throw new Unresolved(`${id} has no ${property}`);
  return [value, whole.length];
};

const evaluated = (text: string, lookup: Lookup): string => {
  if (!text.startsWith('[') || !text.endsWith(']')) return text;
  if (text.startsWith('[[')) return text.slice(1);
  const inner = text.slice(1, -1);
  return inner.startsWith('concat(') ? argumentsIn(inner.slice('concat('.length), lookup) : term(inner, lookup)[0];
};

/** Returns the same value with its expressions evaluated. `lenient` leaves those that cannot be known yet. */
export const resolved = (value: unknown, lookup: Lookup, lenient = false): unknown => {
  if (Array.isArray(value)) return value.map((one) => resolved(one, lookup, lenient));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolved(inner, lookup, lenient)]));
  if (typeof value !== 'string') return value;
  try {
    return evaluated(value, lookup);
  } catch (error) {
    if (lenient && error instanceof Unresolved) return value;
    throw error;
  }
};
