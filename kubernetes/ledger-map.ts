import { createHash } from 'node:crypto';
import { CoreV1Api, type V1ConfigMap } from '@kubernetes/client-node/dist/gen/index.js';
import { PermissionDenied, Unavailable } from '../fencing/model/errors.ts';
import type { LedgerEntry } from '../fencing/model/ledger.ts';
import type { CallClock, Reader, Writer } from './connection.ts';
import { isPreconditionFailed } from './errors.ts';
import { LEDGER } from './names.ts';

/**
 * The ConfigMap that holds the ledger. Every write names the version that was read. When many runs change the ledger at
 * the same time, the API server accepts one write, and the others read again. The runs of one process change it together.
 */

/** What a change of the ledger needs. `jitter` returns a number from 0 to 1. */
export interface LedgerAccess {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly clock: CallClock;
  readonly signal: AbortSignal;
  readonly jitter: () => number;
}

/** Thirty writers at the same time need at most thirty turns each, and most of them need fewer. */
const TRIES = 60;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

const { namespace, name, key } = LEDGER;

export const readMap = ({ reader }: Pick<LedgerAccess, 'reader'>): Promise<V1ConfigMap | null> =>
  reader.readIfPresent(CoreV1Api, (core) => core.readNamespacedConfigMap({ namespace, name }));

export const entriesIn = (map: V1ConfigMap | null): readonly LedgerEntry[] => readLedger(map?.data?.[key] ?? '');

/**
 * Creates the ledger. RBAC cannot allow the creation of one ConfigMap and of no other. Therefore the manifest contains
 * the ConfigMap, and only an administrator's tools can create it again.
 * @throws PermissionDenied with the remedy
 */
const create = async ({ writer }: LedgerAccess, entries: readonly LedgerEntry[]): Promise<V1ConfigMap> => {
  const body = { metadata: { namespace, name }, data: { [key]: writtenLedger(entries) } };
  try {
    return await writer.write(CoreV1Api, (core) => core.createNamespacedConfigMap({ namespace, body }));
  } catch (error) {
    if (!(error instanceof PermissionDenied)) throw error;
    throw new PermissionDenied(
      `the ConfigMap ${namespace}/${name} with the ledger does not exist: apply infra/kubernetes/rbac.yaml again`,
      { cause: error },
    );
  }
};

/** Writes the ledger. Returns it as it is then, or null when someone else has written it since the read. */
const written = async (
  access: LedgerAccess,
  map: V1ConfigMap | null,
  entries: readonly LedgerEntry[],
): Promise<V1ConfigMap | null> => {
  try {
    if (map === null) return await create(access, entries);
    const body = {
      metadata: { resourceVersion: map.metadata?.resourceVersion },
      data: { [key]: writtenLedger(entries) },
    };
    return await access.writer.mergePatch(CoreV1Api, (core) =>
      core.patchNamespacedConfigMap({ namespace, name, body }),
    );
  } catch (error) {
    if (isPreconditionFailed(error)) return null;
    throw error;
  }
};

const pauseBetween = (tries: number, jitter: () => number): number =>
  Math.ceil(jitter() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries));

/** A decision about the ledger. `write` is null if the ledger is right already. */
type Decide<T> = (entries: readonly LedgerEntry[]) => {
  readonly says: T;
  readonly write: readonly LedgerEntry[] | null;
};

interface WaitingChange {
  readonly access: LedgerAccess;
  /** Returns the ledger after the change, and what tells the caller that it is written. */
  readonly decide: (entries: readonly LedgerEntry[]) => {
    readonly write: readonly LedgerEntry[] | null;
    readonly done: () => void;
  };
  readonly reject: (error: unknown) => void;
  tries: number;
}

/** Makes the changes of one ledger. Those that come while a write is under way are written together. */
export interface LedgerChanges {
  /**
   * Reads, decides, and writes, until no one else has written in between. Each decision is therefore about the entries
   * that are there. `read` is the ledger if the caller has just read it.
   * @throws Unavailable after `TRIES` tries, or when the time is up
   */
  readonly change: <T>(access: LedgerAccess, decide: Decide<T>, read?: V1ConfigMap | null) => Promise<T>;
}

interface Queue {
  waiting: readonly WaitingChange[];
  isWorking: boolean;
  /** The ledger as it was last read or written; undefined if someone else may have written it since. */
  known: V1ConfigMap | null | undefined;
}

/** Decides one after the other, each about the ledger that the ones before leave. */
const decideAll = (group: readonly WaitingChange[], before: readonly LedgerEntry[]) => {
  let entries = before;
  let write: readonly LedgerEntry[] | null = null;
  const ends = group.map(({ decide }) => {
    const decided = decide(entries);
    write = decided.write ?? write;
    entries = write ?? entries;
    return decided.done;
  });
  return { write, ends };
};

const tooManyWriters = (): Unavailable =>
  new Unavailable(`other writers changed ${namespace}/${name} ${TRIES} times while Cloudfence was recording a fence`);

/** Puts back the changes of a write that came too late, and pauses. */
const putBack = async (queue: Queue, group: readonly WaitingChange[], { clock, jitter }: LedgerAccess) => {
  for (const one of group) one.tries += 1;
  for (const { reject } of group.filter(({ tries }) => tries >= TRIES)) reject(tooManyWriters());
  queue.waiting = [...group.filter(({ tries }) => tries < TRIES), ...queue.waiting];
  const most = Math.max(...group.map(({ tries }) => tries));
  const someone = AbortSignal.any(queue.waiting.map(({ access }) => access.signal));
  // Whoever's time is up ends by itself. The others go on at once.
  await clock.sleep(pauseBetween(most, jitter), someone).catch(() => undefined);
};

/**
 * Returns the ledger after a write, to decide the next changes on. Takes only the version from the answer: a proxy may
 * have answered. Undefined if the answer has none, and then the ledger is read again.
 */
const afterWrite = (answer: V1ConfigMap, entries: readonly LedgerEntry[]): V1ConfigMap | undefined => {
  const resourceVersion = answer.metadata?.resourceVersion;
  return resourceVersion === undefined
    ? undefined
    : { metadata: { resourceVersion }, data: { [key]: writtenLedger(entries) } };
};

/** Writes the changes of a group with the access of the first one. Returns false if someone else has written since. */
const isGroupWritten = async (
  queue: Queue,
  group: readonly WaitingChange[],
  access: LedgerAccess,
): Promise<boolean> => {
  const map = queue.known === undefined ? await readMap(access) : queue.known;
  queue.known = undefined;
  const { write, ends } = decideAll(group, entriesIn(map));
  const answer = write && (await written(access, map, write));
  if (write && !answer) return false;
  for (const done of ends) done();
  if (queue.waiting.length > 0) queue.known = write && answer ? afterWrite(answer, write) : map;
  return true;
};

/** The end of one run's time says nothing about the others. Any other error is about all of them. */
const failGroup = (queue: Queue, group: readonly WaitingChange[], access: LedgerAccess, error: unknown): void => {
  if (access.signal.aborted) queue.waiting = [...group, ...queue.waiting];
  else for (const { reject } of group) reject(error);
};

const takeGroup = (queue: Queue): readonly WaitingChange[] => {
  const group = queue.waiting.filter(({ access }) => !access.signal.aborted);
  queue.waiting = [];
  return group;
};

/** Ends in the same moment in which nothing waits, so that no change comes between. */
const work = async (queue: Queue): Promise<void> => {
  if (queue.isWorking) return;
  for (;;) {
    const group = takeGroup(queue);
    queue.isWorking = group.length > 0;
    if (!group[0]) return;
    const { access } = group[0];
    try {
      if (!(await isGroupWritten(queue, group, access))) await putBack(queue, group, access);
    } catch (error) {
      failGroup(queue, group, access, error);
    }
  }
};

export const createLedgerChanges = (): LedgerChanges => {
  const queue: Queue = { waiting: [], isWorking: false, known: undefined };
  return {
    change: ({ signal, ...access }, decide, read) =>
      new Promise((resolve, reject) => {
        const decided = (entries: readonly LedgerEntry[]) => {
          const { says, write } = decide(entries);
          return { write, done: () => resolve(says) };
        };
        const timeIsUp = (): void => {
          const message = `the run ended before Cloudfence could write ${namespace}/${name}`;
          reject(new Unavailable(message, { cause: signal.reason }));
        };
        if (signal.aborted) return timeIsUp();
        signal.addEventListener('abort', timeIsUp, { once: true });
        if (!queue.isWorking) queue.known = read;
        queue.waiting = [...queue.waiting, { access: { ...access, signal }, decide: decided, reject, tries: 0 }];
        void work(queue);
      }),
  };
};

/**
 * The ledger as text has one line for each fence. A line is so short that thousands fit into one ConfigMap.
 * `<machine> <boot> <begun, epoch s> <o(pen) or f(inished)> <nodes>`; an unknown boot is `-`.
 */
const LINE = /^([\w-]{10}) ([\w-]{6}|-) (\d{1,12}) ([of]) (\d{1,7})$/;

const digest = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, length);

/** Shortens a machine id. Machine ids are up to 300 characters long. */
export const shortMachine = (machine: string): string => digest(machine, 10);
export const shortBoot = (boot: string): string => digest(boot, 6);

/**
 * Returns the entry for a line that cannot be read, whoever wrote it. The line counts as a fence that begins now. From
 * the next write on, the entry ages.
 */
const unreadable = (line: string): LedgerEntry => ({
  machine: shortMachine(line),
  boot: '',
  begun: Infinity,
  finished: false,
  nodes: 0,
});

const entryIn = (line: string): LedgerEntry => {
  const [, machine, boot, begun, state, nodes] = LINE.exec(line) ?? [];
  if (machine === undefined) return unreadable(line);
  return {
    machine,
    boot: boot === '-' ? '' : (boot ?? ''),
    begun: Number(begun) * 1_000,
    finished: state === 'f',
    nodes: Number(nodes),
  };
};

/**
 * No cluster begins so many fences within the cap's window. A line that cannot be read becomes a longer one, so without
 * this limit a text of many short lines would become too long for a ConfigMap, and no fence could be entered any more.
 */
const MOST_LINES = 10_000;

const readLedger = (text: string): readonly LedgerEntry[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(-MOST_LINES)
    .map(entryIn);

const writtenLedger = (entries: readonly LedgerEntry[]): string =>
  entries
    .map(
      ({ machine, boot, begun, finished, nodes }) =>
        `${machine} ${boot || '-'} ${Math.floor(begun / 1_000)} ${finished ? 'f' : 'o'} ${nodes}`,
    )
    .join('\n');
