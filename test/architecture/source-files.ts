import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface SourceFile {
  /** Relative to the repository. */
  readonly file: string;
  readonly text: string;
}

/** Returns the TypeScript files of a top-level directory. */
export const sourceFilesIn = (room: string): readonly SourceFile[] =>
  readdirSync(path.join(root, room), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));
