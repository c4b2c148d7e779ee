import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { InvalidConfiguration } from '../fencing/errors.ts';
import { configuration, type Configuration } from './schema.ts';

/** Every way of a union that was tried complains; the one that came furthest is the one that was meant. */
const furthest = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] => {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const [meant = []] = [...issue.errors].sort((a, b) => a.length - b.length);
  return meant.flatMap((inner) => furthest({ ...inner, path: [...issue.path, ...inner.path] }));
};

const inWords = (source: string) => (issue: z.core.$ZodIssue): string => {
  const path = issue.path.map(String).join('.');
  return `${source}${path === '' ? '' : `, at ${path}`}: ${issue.message}`;
};

/**
 * The configuration in a YAML or JSON text. `source` names it in messages.
 * @throws InvalidConfiguration with all faults at once
 */
export const parseConfiguration = (text: string, source: string): Configuration => {
  const document = parseDocument(text);
  if (document.errors.length > 0) throw new InvalidConfiguration(document.errors.map((error) => `${source}: ${error.message}`));
  const raw: unknown = document.toJS() ?? {};
  const read = configuration.safeParse(raw);
  if (read.success) return read.data;
  throw new InvalidConfiguration(read.error.issues.flatMap(furthest).map(inWords(source)), { cause: read.error });
};
