import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { InvalidConfiguration } from '../fencing/errors.ts';
import { configuration, type Configuration } from './schema.ts';

/** Every way of a union that was tried complains; the one that came furthest is the one that was meant. */
const furthest = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] => {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const [meant = []] = [...issue.errors].sort((a, b) => a.length - b.length);
  return meant.flatMap((inner) => furthest({ ...inner, path: [...issue.path, ...inner.path] }));
};

/** A key that runs on past a word is a line that lost its blank, and what follows may be a token. */
const messageOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys' ? `does not know ${issue.keys.map((key) => `"${/^[\w-]{0,40}/.exec(key)?.[0] ?? ''}"`).join(', ')}` : issue.message;

const inWords = (source: string) => (issue: z.core.$ZodIssue): string => {
  const path = issue.path.map(String).join('.');
  return `${source}${path === '' ? '' : `, at ${path}`}: ${messageOf(issue)}`;
};

/** The parser's own words quote what stands there, which may be a token: its code and the place say enough. */
const yamlFault = (source: string, counter: LineCounter, { code, pos: [start] }: { readonly code: string; readonly pos: readonly [number, number] }): string => {
  const { line, col } = counter.linePos(start);
  return `${source}, line ${line}, column ${col}: is no YAML (${code})`;
};

const yamlIn = (text: string, source: string): unknown => {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter });
  if (document.errors.length > 0) throw new InvalidConfiguration(document.errors.map((error) => yamlFault(source, lineCounter, error)));
  try {
    return document.toJS();
  } catch {
    throw new InvalidConfiguration([`${source}: is no YAML (an alias that stands for nothing)`]);
  }
};

/**
 * The configuration in a YAML or JSON text. `source` names it in messages.
 * @throws InvalidConfiguration with all faults at once
 */
export const parseConfiguration = (text: string, source: string): Configuration => {
  const raw: unknown = yamlIn(text, source) ?? {};
  const read = configuration.safeParse(raw);
  if (read.success) return read.data;
  throw new InvalidConfiguration(read.error.issues.flatMap(furthest).map(inWords(source)));
};
