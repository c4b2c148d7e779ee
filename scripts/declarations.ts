import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from './bundle.ts';

/**
 * Writes the types of the package, limited to the declarations that its entries use. It also copies the types of the
 * only library that they use, so that the package needs no other package.
 */

/**
 * Libraries whose types the package's own types use. Any other library would pull in declarations that users of the
 * package do not need.
 */
const LIBRARIES: readonly string[] = ['zod'];

const SPECIFIER = /(?<=\bfrom\s+|\bimport\()(['"])(?<to>[^'"]+)\1/g;

const emitInto = async (folder: string, sources: readonly string[]): Promise<void> => {
  const project = path.join(folder, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    outDir: path.join(folder, 'out'),
    rootDir: repositoryRoot,
    typeRoots: [path.join(repositoryRoot, 'node_modules/@types')],
  };
  await writeFile(
    project,
    JSON.stringify({
      extends: path.join(repositoryRoot, 'tsconfig.json'),
      compilerOptions,
      include: [],
      files: sources.map((source) => path.join(repositoryRoot, source)),
    }),
  );
  await promisify(execFile)(
    process.execPath,
    [path.join(repositoryRoot, 'node_modules/typescript/bin/tsc'), '-p', project],
    {
      cwd: repositoryRoot,
    },
  );
};

const declared = (file: string): string => file.replace(/\.(?:ts|js)$/, '.d.ts');

interface Copied {
  /** The source and the destination of the declarations. */
  readonly from: string;
  readonly to: string;
  readonly done: Set<string>;
  readonly libraries: string;
}

const pathTo = (from: string, to: string): string => {
  const relative = path.relative(path.dirname(from), to).replaceAll(path.sep, '/');
  return relative.startsWith('.') ? relative : `./${relative}`;
};

const libraryNamed = (name: string, file: string): string => {
  if (LIBRARIES.includes(name)) return name;
  throw new Error(
    `the types of the package use the library ${name} in ${file}: declare the needed types in that file, or ` +
      'add the library to scripts/declarations.ts',
  );
};

/** Copies a declaration file and, recursively, what it imports. */
const copy = async (file: string, copied: Copied): Promise<void> => {
  if (copied.done.has(file)) return;
  copied.done.add(file);
  const { from, to, libraries } = copied;
  const text = await readFile(path.join(from, file), 'utf8');
  const imports = [...text.matchAll(SPECIFIER)].map((match) => match.groups?.['to'] ?? '');
  const rewritten = text.replaceAll(SPECIFIER, (_whole, _quote, name: string) =>
    name.startsWith('.')
      ? `'${name.replace(/\.ts$/, '.js')}'`
      : `'${pathTo(path.join(to, file), path.join(libraries, libraryNamed(name, file), 'index.js'))}'`,
  );
  await mkdir(path.dirname(path.join(to, file)), { recursive: true });
  await writeFile(path.join(to, file), rewritten);
  for (const name of imports.filter((one) => one.startsWith('.')))
    await copy(path.join(path.dirname(file), declared(name)), copied);
};

export interface Declarations {
  /** Source files by the name of their entry. */
  readonly entries: Readonly<Record<string, string>>;
  /** The folder of the entries' declarations. The declarations that they import are in its subfolder `types`. */
  readonly folder: string;
}

const writeEntry = async (folder: string, types: string, name: string, source: string): Promise<void> => {
  const file = path.join(folder, `${name}.d.mts`);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `export * from '${pathTo(file, path.join(types, source.replace(/\.ts$/, '.js')))}';\n`);
};

/**
 * Writes the declarations of all entries.
 * @returns the folders of the libraries whose types are shipped
 */
export const writeDeclarations = async ({ entries, folder }: Declarations): Promise<readonly string[]> => {
  const work = await mkdtemp(path.join(tmpdir(), 'cloudfence-types-'));
  const types = path.join(repositoryRoot, folder, 'types');
  const libraries = path.join(types, 'libraries');
  try {
    await rm(types, { recursive: true, force: true });
    await emitInto(work, Object.values(entries));
    const ours: Copied = { from: path.join(work, 'out'), to: types, done: new Set(), libraries };
    for (const source of Object.values(entries)) await copy(declared(source), ours);
    for (const name of LIBRARIES)
      await copy('index.d.ts', {
        from: path.join(repositoryRoot, 'node_modules', name),
        to: path.join(libraries, name),
        done: new Set(),
        libraries,
      });
    for (const [name, source] of Object.entries(entries))
      await writeEntry(path.join(repositoryRoot, folder), types, name, source);
    return LIBRARIES.map((name) => `node_modules/${name}`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
};
