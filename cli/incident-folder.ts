import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { InvalidInput, PermissionDenied, Unexpected } from '../fencing/model/errors.ts';
import type { IncidentObject, IncidentSource } from '../incidents/source.ts';

/** Reads incidents from a folder, such as a copy of the stack's bucket. */

/** An incident with all its steps has at most about 2 MB. */
const LARGEST_BYTES = 16_000_000;

const codeOf = (caught: unknown): string =>
  caught instanceof Error && 'code' in caught && typeof caught.code === 'string' ? caught.code : 'unknown';

const listFiles = async (folder: string): Promise<readonly IncidentObject[]> => {
  try {
    const entries = await readdir(folder, { withFileTypes: true, recursive: true });
    return entries
      .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.json'))
      .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
      .sort()
      .map((name) => ({ name, written: null }));
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'EACCES') throw new PermissionDenied(`${folder} may not be read: check its permissions`, { cause });
    throw new InvalidInput(`${folder} is no folder that can be read (${code}): give --from the path of a folder`, {
      cause,
    });
  }
};

const readFileText = async (file: string, signal: AbortSignal): Promise<string | null> => {
  try {
    const { size } = await stat(file);
    if (size > LARGEST_BYTES) throw new InvalidInput(`it has ${size} bytes, more than any incident`);
    return await readFile(file, { encoding: 'utf8', signal });
  } catch (cause) {
    if (cause instanceof InvalidInput || signal.aborted) throw cause;
    const code = codeOf(cause);
    if (code === 'ENOENT') return null;
    if (code === 'EACCES') throw new PermissionDenied('its permissions do not let you read it', { cause });
    throw new Unexpected(`it cannot be read (${code})`, { cause });
  }
};

/** Opens a folder. The content of a file counts, not its name. Only names that end with `.json` count. */
export const incidentFolder = (folder: string): IncidentSource => ({
  where: `the folder ${folder}`,
  list: () => listFiles(folder),
  read: (name, signal) => readFileText(path.join(folder, name), signal),
});
