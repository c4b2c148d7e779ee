import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const modulePath = join(import.meta.dirname, 'go');

const OLDEST = [1, 26] as const;

export class NoToolchain extends Error {}

const versionOutput = (): string => {
  try {
    // Outside the module, because its go line would make an older Go download a newer one.
    return execFileSync('go', ['version'], { cwd: tmpdir(), encoding: 'utf8' });
  } catch (cause) {
    throw new NoToolchain('go was not found', { cause });
  }
};

/**
 * Returns the version, such as `go1.26.8 linux/amd64`.
 * @throws NoToolchain if no Go is new enough
 */
export const goVersion = (): string => {
  const said = versionOutput().trim();
  const [, version = '', major = '0', minor = '0'] = /^go version (go(\d+)\.(\d+).*)$/.exec(said) ?? [];
  const isNewEnough = Number(major) > OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) >= OLDEST[1]);
  if (!isNewEnough) throw new NoToolchain(`it says "${said}"`);
  return version;
};

/** The drivers are built from the default modules, whatever the control plane is built from. */
const sources = (modules: string): readonly string[] => {
  const counted = new Set(['go', modules].flatMap((name) => [`${name}.mod`, `${name}.sum`]));
  return readdirSync(modulePath, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.go') || counted.has(path))
    .sort();
};

/** Identifies the result of a build: the same Go, modules, sources, and recipe. */
export const buildKey = (version: string, recipe: string, modules: string): string => {
  const hash = createHash('sha256').update(`${version}\n${recipe}\n`);
  for (const path of sources(modules)) hash.update(`${path}\n`).update(readFileSync(join(modulePath, path)));
  return hash.digest('hex').slice(0, 32);
};
