import { openIncidents, openTestChain } from '../app/clouds.ts';
import { readVariable } from '../config/environment.ts';
import { type Configuration, policyOf } from '../config/schema.ts';
import {
  asCloudfenceError,
  type CloudfenceError,
  InvalidInput,
  PermissionDenied,
  Unexpected,
} from '../fencing/model/errors.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import { keepIncidents, type RunLogs } from '../functions/incidents.ts';
import type { RunTrigger } from '../incidents/of-run.ts';
import type { IncidentKeeper, ObjectStore, StoredObject } from '../incidents/store.ts';
import type { IncidentPlace, TestChain } from '../providers/plugin.ts';
import type { Output } from './answer.ts';
import { createFolder } from './output-file.ts';
import { createHash, randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import type { IncidentObject, IncidentSource } from '../incidents/source.ts';

/** Where the CLI reads and stores incidents. */

/** An address has a scheme. Everything else is a folder. */
export const isAddress = (place: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(place);

/** Opens the incidents at an address. @throws CloudfenceError */
export const openPlace = (address: string, { region }: Pick<Configuration, 'region'>): Promise<IncidentPlace> =>
  openIncidents(address, { variable: readVariable, region: region ?? null });

/** Opens the chain of events behind an entrance. @throws CloudfenceError */
export const openChain = (entrance: string, { region }: Pick<Configuration, 'region'>): Promise<TestChain> =>
  openTestChain(entrance, { variable: readVariable, region: region ?? null });

/** Warns people about incidents that could not be stored. */
export const warnings =
  ({ complain }: Pick<Output, 'complain'>) =>
  (line: object): void =>
    complain(`cloudfence: ${'says' in line ? String(line.says) : 'the incident is not complete'}`);

/** The trigger is a person with this command. */
const triggerOfCommand = (command: string): RunTrigger => ({
  trigger: { kind: 'person', event: null, says: `cloudfence ${command}`, happened: null },
  account: null,
  region: null,
});

interface Shown {
  readonly settings: Configuration;
  readonly logs: RunLogs;
  readonly ports: Ports;
}

/** No command waits longer for this than the functions do. */
const LASTS_MS = 6_000;

/** The stage's sweep sends the messages about incidents in a bucket. For a folder, there is no sweep. */
const openKeeper = async (place: string, settings: Configuration): Promise<IncidentKeeper> =>
  isAddress(place) ? { objects: (await openPlace(place, settings)).objects, announce: null } : folderStore(place);

/**
 * Stores what the runs of a command show, if the configuration names a place. This happens after the answer, and a
 * failure is only a warning.
 */
export const storeCommandIncidents = async (
  command: string,
  outcomes: readonly Outcome[],
  { settings, logs, ports }: Shown,
  output: Output,
): Promise<void> => {
  const { incidents: place } = settings;
  if (place === undefined || outcomes.every(({ dryRun }) => dryRun)) return;
  const log = warnings(output);
  try {
    // The functions of the install may power machines off although this configuration does not.
    const policy = { ...policyOf(settings, false), unreachable: 'power-off' } as const;
    const keeping = { incidents: await openKeeper(place, settings), ports, log, policy };
    await keepIncidents(outcomes, logs, () => triggerOfCommand(command), keeping, LASTS_MS);
  } catch (caught) {
    log({ says: `the incident is not complete: ${asCloudfenceError(caught).message}` });
  }
};

/** Incidents in a local folder: a copy of the stack's bucket, or the CLI's own incidents. */

/** An incident with all its steps has at most about 2 MB. */
const LARGEST_BYTES = 16_000_000;

/** Other objects in a bucket of incidents. */
const OTHER_OBJECTS = /^(?:notes|test-events)\//;

const codeOf = (caught: unknown): string =>
  caught instanceof Error && 'code' in caught && typeof caught.code === 'string' ? caught.code : 'unknown';

const fileNamesIn = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .sort();
};

const listFiles = async (folder: string): Promise<readonly IncidentObject[]> => {
  try {
    const names = await fileNamesIn(folder);
    return names
      .filter((name) => name.endsWith('.json') && !OTHER_OBJECTS.test(name))
      .map((name) => ({ name, written: null }));
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'EACCES') throw new PermissionDenied(`${folder} may not be read: check its permissions`, { cause });
    throw new InvalidInput(`${folder} is not a folder that can be read (${code}): give --from the path of a folder`, {
      cause,
    });
  }
};

const notRead = (what: string, cause: unknown): CloudfenceError => {
  const code = codeOf(cause);
  return code === 'EACCES'
    ? new PermissionDenied(`${what}: its permissions do not let you read it`, { cause })
    : new Unexpected(`${what} cannot be read (${code})`, { cause });
};

const readFileText = async (file: string, signal: AbortSignal): Promise<string | null> => {
  try {
    const { size } = await stat(file);
    if (size > LARGEST_BYTES) throw new InvalidInput(`it has ${size} bytes, which is more than an incident can have`);
    return await readFile(file, { encoding: 'utf8', signal });
  } catch (cause) {
    if (cause instanceof InvalidInput || signal.aborted) throw cause;
    if (codeOf(cause) === 'ENOENT') return null;
    throw notRead('it', cause);
  }
};

/** Opens a folder. The content of a file is used, not its name. Only names that end with `.json` count. */
export const incidentFolder = (folder: string): IncidentSource => ({
  where: `the folder ${folder}`,
  list: () => listFiles(folder),
  read: (name, signal) => readFileText(path.join(folder, name), signal),
});

const notWritten = (file: string, cause: unknown): CloudfenceError => {
  const code = codeOf(cause);
  return code === 'EACCES' || code === 'EROFS'
    ? new PermissionDenied(`${file} may not be written: check its permissions`, { cause })
    : new Unexpected(`${file} cannot be written (${code})`, { cause });
};

/** @throws InvalidInput for a name that leads out of the folder */
const fileIn = (folder: string, name: string): string => {
  if (name.split('/').includes('..')) throw new InvalidInput(`${name} leads out of ${folder}`);
  return path.join(folder, name);
};

const readObject = async (file: string, signal: AbortSignal): Promise<StoredObject | null> => {
  const text = await readFileText(file, signal);
  return text === null ? null : { text, version: createHash('sha256').update(text).digest('hex') };
};

/** Creates a file with this name, unless it exists. */
const linkNew = async (written: string, file: string): Promise<boolean> => {
  try {
    await link(written, file);
    return true;
  } catch (caught) {
    if (codeOf(caught) === 'EEXIST') return false;
    throw caught;
  }
};

const writeObject = async (file: string, text: string, over: string | null, signal: AbortSignal): Promise<boolean> => {
  if (over !== null && (await readObject(file, signal))?.version !== over) return false;
  const written = `${file}.${randomUUID()}`;
  try {
    await createFolder(path.dirname(file));
    await writeFile(written, text);
    if (over === null) return await linkNew(written, file);
    await rename(written, file);
    return true;
  } catch (cause) {
    throw notWritten(file, cause);
  } finally {
    await rm(written, { force: true });
  }
};

/** Returns null if the file has been deleted in the meantime. A file that cannot be read is treated as missing. */
const objectAt = async (folder: string, name: string): Promise<IncidentObject | null> => {
  const file = path.join(folder, name);
  try {
    return { name, written: (await stat(file)).mtimeMs };
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null;
    throw notRead(file, cause);
  }
};

const listObjects = async (folder: string, prefix: string): Promise<readonly IncidentObject[]> => {
  await createFolder(folder);
  const wanted = (await fileNamesIn(folder)).filter((name) => name.startsWith(prefix));
  const found = await Promise.all(wanted.map((name) => objectAt(folder, name)));
  return found.filter((object) => object !== null);
};

/**
 * Returns the objects of a folder. Each object is a file. The writes of one process run one after the other. If two
 * processes write the same object at the same moment, one of the changes may be lost.
 */
export const objectsInFolder = (folder: string): ObjectStore => {
  const inTurn = pLimit(1);
  return {
    list: (prefix) => listObjects(folder, prefix),
    read: async (name, signal) => readObject(fileIn(folder, name), signal),
    write: (name, text, over, signal) => inTurn(async () => writeObject(fileIn(folder, name), text, over, signal)),
    remove: (name) => inTurn(async () => rm(fileIn(folder, name), { force: true })),
  };
};

/** Stores incidents in a folder. Sends no messages about them. */
export const folderStore = (folder: string): IncidentKeeper => ({
  objects: objectsInFolder(folder),
  announce: async () => undefined,
});
