import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/**
 * docs/guards.md names guards, and quotes the titles of tests. Each guard has to be declared in the shipped code, and
 * each quotation has to be in a file that its line names.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const plain = (text: string): string =>
  text
    .replaceAll(/\\?’|\\'/g, "'")
    .replaceAll(/\s+/g, ' ')
    .toLowerCase();

const contentOf = (files: readonly string[]): string =>
  plain(files.map((file) => readFileSync(path.join(root, file), 'utf8')).join('\n'));

/** The text of the test files that a short path names: `contract` is a folder, and `test/x` may be a file or a folder. */
const testsAt = (named: string): string => {
  const from = named === 'contract' ? 'test/contract/' : named;
  const starts = [from, `test/control-plane/${from}`];
  return contentOf(starts.flatMap((start) => globSync([`${start}*.ts`, `${start}/**/*.ts`], { cwd: root })));
};

/** A quotation is part of the file, or the title of a group followed by the title of a test. */
const isQuoted = (text: string, quotation: string): boolean => {
  const words = quotation.split(' ');
  const splits = words.map((_, at) => [words.slice(0, at).join(' '), words.slice(at).join(' ')] as const);
  return (
    text.includes(quotation) || splits.slice(2).some(([group, test]) => text.includes(group) && text.includes(test))
  );
};

interface Quotation {
  readonly named: string;
  readonly quotation: string;
}

const quotationsIn = (line: string): readonly Quotation[] => {
  const cell = line.replace(/ \|$/, '').split(' | ').at(-1) ?? '';
  return [...cell.matchAll(/`([\w./-]+)`: (.*?)(?=; (?:\*\*\w+\*\* )?`[\w./-]+`|$)/g)].flatMap(
    ([, named = '', said = '']) =>
      said
        .split(/…|;/)
        .map((piece) =>
          plain(piece)
            .trim()
            .replaceAll(/^,\s*|,$/g, ''),
        )
        .filter((piece) => piece !== '' && !piece.includes('`'))
        .map((quotation) => ({ named, quotation })),
  );
};

const lines = readFileSync(path.join(root, 'docs/guards.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| .* \| .* \|$/.test(line));
const quotations = lines.flatMap(quotationsIn);

it('docs/guards.md quotes tests', () => expect(quotations.length).toBeGreaterThan(200));

it('docs/guards.md quotes only what is in the tests that it names', () => {
  const texts = new Map([...new Set(quotations.map(({ named }) => named))].map((named) => [named, testsAt(named)]));
  const stale = quotations.filter(({ named, quotation }) => !isQuoted(texts.get(named) ?? '', quotation));
  expect(stale).toEqual([]);
});

/** The directories of the code that ships. */
const SHIPPED =
  '{app,cli,config,diagnosis,drill,fencing,functions,incidents,infra,kubernetes,providers,report,transport}/**/*.ts';

/**
 * What the code declares outside of functions, the members of its types, and the keys of its objects. A key is followed
 * by a value, and a parameter by a type.
 */
const DECLARATIONS = [
  /^(?:export )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm,
  /\breadonly (\w+)/g,
  /(?:^|[{,])[ \t]*(\w+): (?!(?:readonly|string|number|boolean|[A-Z]\w*[a-z])\b)/gm,
];
const COMMENTS = /^\s*(?:\/\*\*|\*|\/\/).*$/gm;

/** The names in the first column: `name`, `Type.member`, and `name(other)`. Other code in backticks is no name. */
const guardsIn = (line: string): readonly string[] =>
  [...(line.split(' | ')[0] ?? '').matchAll(/`(\w+(?:\.\w+)*)(?:\((\w+)\))?`/g)].flatMap(([, path = '', argument]) => [
    ...path.split('.'),
    ...(argument === undefined ? [] : [argument]),
  ]);

it('docs/guards.md names only guards that the shipped code declares', () => {
  const code = globSync(SHIPPED, { cwd: root })
    .map((file) => readFileSync(path.join(root, file), 'utf8').replaceAll(COMMENTS, ''))
    .join('\n');
  const declared = new Set(DECLARATIONS.flatMap((form) => [...code.matchAll(form)].map(([, name]) => name)));
  const named = lines.flatMap(guardsIn);
  expect(named.length).toBeGreaterThan(400);
  expect([...new Set(named)].filter((name) => !declared.has(name))).toEqual([]);
});
