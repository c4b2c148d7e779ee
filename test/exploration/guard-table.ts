import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Explored } from './search.ts';
import { RECOVERY_BEGINS } from './story.ts';
import type { VariantThread } from './try-variant.ts';
import { type Variant, variants } from './unsafe-variants.ts';

/** The part of docs/guards.md that the exploration writes: each unsafe variant, and what the exploration found. */

const FILE = fileURLToPath(new URL('../../docs/guards.md', import.meta.url));
const BEGIN = '<!-- Written by `npm run explore -- --guards`. -->\n';
const END = '<!-- The end of what is written. -->\n';

/** The number of steps until the invariant breaks, without what fresh runs do after the faults. */
export const lengthOf = ({ story }: Explored): number | null => {
  if (story === null) return null;
  const recovery = story.says.indexOf(RECOVERY_BEGINS);
  return recovery < 0 ? story.says.length : recovery;
};

const filesOf = ({ edits }: Variant): string =>
  [...new Set(edits.map(({ file }) => file))].map((file) => `\`${file}\``).join(', ');

/** A line of the table. `steps` is null in a comparison that does not explore. */
export const guardLine = (variant: Variant, steps: number | null): string =>
  `| ${variant.says} | ${filesOf(variant)} | \`${variant.scenario}\` | \`${variant.breaks}\` | ${steps ?? ''} |`;

const HEAD = '| unsafe variant | file | scenario | what breaks | steps |\n|---|---|---|---|---|\n';

const parts = (document: string): readonly [string, string, string] => {
  const [from, to] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${FILE} has no place for the table`);
  const at = from + BEGIN.length;
  return [document.slice(0, at), document.slice(at, to), document.slice(to)];
};

/** The lines that are in docs/guards.md now. */
export const writtenLines = async (): Promise<readonly string[]> => {
  const [, table] = parts(await readFile(FILE, 'utf8'));
  return table
    .replace(HEAD, '')
    .split('\n')
    .filter((line) => line !== '');
};

/** Explores each variant and writes the table. @throws Error if the exploration does not find one of them */
export const writeGuards = async (thread: VariantThread, tell: (line: string) => void): Promise<void> => {
  const lines: string[] = [];
  for (const variant of variants) {
    const found = await thread.explore(variant);
    if (found.story?.breaks !== variant.breaks)
      throw new Error(
        `the exploration does not find that ${variant.says}: it finds ${found.story?.breaks ?? 'nothing'}`,
      );
    lines.push(guardLine(variant, lengthOf(found)));
    tell(lines.at(-1) ?? '');
  }
  const [before, , after] = parts(await readFile(FILE, 'utf8'));
  await writeFile(FILE, `${before}\n${HEAD}${lines.join('\n')}\n\n${after}`);
};
