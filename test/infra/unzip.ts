import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { unzipSync } from 'fflate';

/** Unpacks a zip as Lambda does, and returns the names in it. */
export const unzip = async (file: string, into: string): Promise<readonly string[]> => {
  const entries = Object.entries(unzipSync(await readFile(file)));
  for (const [name, content] of entries) {
    await mkdir(path.dirname(path.join(into, name)), { recursive: true });
    await writeFile(path.join(into, name), content);
  }
  return entries.map(([name]) => name);
};
