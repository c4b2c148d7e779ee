import { constants } from 'node:fs';
import { access, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { shownPath } from '../config/settings.ts';
import { InvalidInput } from '../fencing/model/errors.ts';

/** Files that a person names for the output of a command. */

const unwritable: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist: create it, or name another file',
  EEXIST: 'a part of its path is a file: name another file',
  ENOTDIR: 'a part of its path is a file: name another file',
  EISDIR: 'it is a directory: name a file',
  EACCES: 'you do not have permission to write it: name another file',
  EPERM: 'you do not have permission to write it: name another file',
  EROFS: 'its file system is read-only: name another file',
  ENOSPC: 'the disk is full',
  ENAMETOOLONG: 'the name is too long',
};

/** Says which file cannot be written, why, and what to do. */
export const unwritableFile = (file: string, cause: unknown): InvalidInput => {
  const { code = '', message = String(cause) }: { readonly code?: unknown; readonly message?: string } =
    cause instanceof Error ? cause : {};
  return new InvalidInput(`the file ${shownPath(file)} cannot be written: ${unwritable[String(code)] ?? message}`, {
    cause,
  });
};

const codeOf = (cause: unknown): unknown => (cause instanceof Error && 'code' in cause ? cause.code : null);

/** Returns false if its parent does not exist, and throws every other error. */
const created = async (folder: string): Promise<boolean> => {
  try {
    await mkdir(folder);
    return true;
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') return true;
    if (codeOf(cause) === 'ENOENT') return false;
    throw cause;
  }
};

/**
 * Creates a folder and its parents, if they do not exist. `mkdir` with `recursive` never ends if the system answers
 * ENOENT although the parent exists, as in /proc.
 */
export const createFolder = async (folder: string): Promise<void> => {
  if (await created(folder)) return;
  const parent = path.dirname(folder);
  if (parent !== folder) await createFolder(parent);
  await mkdir(folder).catch((cause: unknown) => {
    if (codeOf(cause) !== 'EEXIST') throw cause;
  });
};

/** @throws InvalidInput if the file cannot be written */
export const writeOutput = async (file: string, text: string): Promise<void> => {
  try {
    await writeFile(file, text);
  } catch (cause) {
    throw unwritableFile(file, cause);
  }
};

/**
 * Rejects a file that certainly cannot be written, before a command does work whose result would be lost.
 * @throws InvalidInput
 */
export const refuseUnwritable = async (file: string): Promise<void> => {
  try {
    // A slash at the end makes the system reject a folder that is a file.
    await access(`${path.dirname(file)}/`, constants.W_OK);
  } catch (cause) {
    throw unwritableFile(file, cause);
  }
};
