import { LineCounter, parseDocument } from 'yaml';
import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { type Configuration, configurationFrom } from './schema.ts';

/** Reads the configuration as people write it. A deployed function gets JSON, and does not load this file. */

/**
 * Parses the configuration from a YAML or JSON text. `source` names the text in messages.
 * @throws InvalidConfiguration with all faults at once
 */
export const parseConfiguration = (text: string, source: string): Configuration =>
  configurationFrom(yamlIn(text, source), source);

/** What a person looks for, by the codes of the parser (the package yaml, ErrorCode). */
const WORDS: Readonly<Record<string, string>> = {
  BAD_INDENT: 'the indentation differs from the lines above',
  DUPLICATE_KEY: 'the key is there twice',
  MISSING_CHAR: 'a bracket, a quote, a colon, or a comma is missing, or the indentation differs from the lines above',
  TAB_AS_INDENT: 'a tab indents the line: use spaces',
  UNEXPECTED_TOKEN: 'the text does not continue what is above: check the indentation and the quotes',
};

/**
 * Describes a YAML error by its code and its place. The parser's own message quotes the text there, which may be a
 * token.
 */
const yamlFault = (
  source: string,
  counter: LineCounter,
  { code, pos: [start] }: { readonly code: string; readonly pos: readonly [number, number] },
): string => {
  const { line, col } = counter.linePos(start);
  return `${source}, line ${line}, column ${col}: is not valid YAML (${WORDS[code] ?? code})`;
};

/** Longer than any real configuration (characters). The parser may need minutes for a text of megabytes. */
const LONGEST = 1_000_000;

const yamlIn = (text: string, source: string): unknown => {
  if (text.length > LONGEST)
    throw new InvalidConfiguration([`${source}: has ${text.length} characters, and no more than ${LONGEST} are read`]);
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter, logLevel: 'error' });
  if (document.errors.length > 0)
    throw new InvalidConfiguration(document.errors.map((error) => yamlFault(source, lineCounter, error)));
  try {
    return document.toJS();
  } catch {
    // The error has no cause, because the parser's message quotes the text, which may be a token.
    throw new InvalidConfiguration([`${source}: is not valid YAML (an alias without an anchor)`]);
  }
};
