import { CoreV1Api, type V1ConfigMap } from '@kubernetes/client-node/dist/gen/index.js';
import { PermissionDenied, Unavailable } from '../fencing/model/errors.ts';
import { createGroups, type GroupMember, type Groups } from '../fencing/loop/groups.ts';
import { abortOnSignal } from '../fencing/loop/ports.ts';
import type { LedgerState } from '../fencing/model/cap-use.ts';
import type { CallClock, Reader, Writer } from './connection.ts';
import { isPreconditionFailed } from './errors.ts';
import { parseLedger, serializeLedger } from './ledger-text.ts';
import { LEDGER } from './names.ts';

/**
 * The ConfigMap that contains the ledger. Every write names the version that was read. If many runs change the ledger
 * at the same time, the API server accepts one write, and the others read it again. The runs of one process write their
 * changes together.
 */

/** The access to the API server for a change of the ledger. `jitter` returns a number from 0 to 1. */
export interface LedgerAccess {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly clock: CallClock;
  readonly signal: AbortSignal;
  readonly jitter: () => number;
}

/** The maximum number of tries. Thirty concurrent writers need at most thirty tries each, and usually fewer. */
const TRIES = 60;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

const { namespace, name } = LEDGER;

/** The ledger as read or written, with its version. */
export interface LedgerVersion {
  readonly resourceVersion: string | undefined;
  readonly ledger: LedgerState;
}

const EMPTY: LedgerState = { entries: [], counted: [] };

/** Returns null if there is no ledger. */
export const readVersion = async ({ reader }: Pick<LedgerAccess, 'reader'>): Promise<LedgerVersion | null> => {
  const map = await reader.readIfPresent(CoreV1Api, { namespace, name }, (core, key) =>
    core.readNamespacedConfigMap(key),
  );
  return map && { resourceVersion: map.metadata?.resourceVersion, ledger: parseLedger(map.data) };
};

/**
 * Creates the ledger. RBAC cannot allow the creation of a single ConfigMap. So the manifest contains the ConfigMap, and
 * only an administrator can create it again.
 * @throws PermissionDenied with the remedy
 */
const create = async ({ writer }: LedgerAccess, ledger: LedgerState): Promise<V1ConfigMap> => {
  const body = { metadata: { namespace, name }, data: serializeLedger(ledger) };
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

/** Writes the ledger. Returns null if someone else has written the ledger since it was read. */
const writeLedger = async (
  access: LedgerAccess,
  before: LedgerVersion | null,
  ledger: LedgerState,
): Promise<V1ConfigMap | null> => {
  try {
    if (before === null) return await create(access, ledger);
    const body = {
      metadata: { resourceVersion: before.resourceVersion },
      data: serializeLedger(ledger),
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

/** A function that decides on a change of the ledger. `write` is null if the ledger needs no change. */
type Decide<T> = (ledger: LedgerState) => {
  readonly says: T;
  readonly write: LedgerState | null;
};

interface WaitingChange extends GroupMember {
  readonly access: LedgerAccess;
  /** Returns the ledger after the change, and a callback that reports the write to the caller. */
  readonly decide: (ledger: LedgerState) => {
    readonly write: LedgerState | null;
    readonly done: () => void;
  };
}

/** Makes the changes of one ledger. Changes that arrive during a write are written together afterwards. */
export interface LedgerChanges {
  /**
   * Reads, decides, and writes, until no one else has written in between. So each decision is based on the present
   * ledger. `read` is the ledger if the caller has just read it.
   * @throws Unavailable after `TRIES` tries, or at the deadline
   */
  readonly change: <T>(access: LedgerAccess, decide: Decide<T>, read?: LedgerVersion | null) => Promise<T>;
}

/** Makes the decisions one after the other, each based on the result of the previous ones. */
const decideAll = (group: readonly WaitingChange[], before: LedgerState) => {
  let ledger = before;
  let write: LedgerState | null = null;
  const ends = group.map(({ decide }) => {
    const decided = decide(ledger);
    write = decided.write ?? write;
    ledger = write ?? ledger;
    return decided.done;
  });
  return { write, ends };
};

const ranOutOfTime = (cause: unknown): Unavailable =>
  new Unavailable(`the run ended before Cloudfence could write ${namespace}/${name}`, { cause });

const tooManyWriters = (): Unavailable =>
  new Unavailable(`other writers changed ${namespace}/${name} ${TRIES} times while Cloudfence was recording a fence`);

/**
 * Returns the ledger after a write, for the decisions that follow. Uses only the version from the answer, because a
 * proxy may have answered. Undefined if the answer contains no version. The ledger is then read again.
 */
const afterWrite = ({ metadata }: V1ConfigMap, ledger: LedgerState): LedgerVersion | undefined =>
  metadata?.resourceVersion === undefined ? undefined : { resourceVersion: metadata.resourceVersion, ledger };

/** Waits before another try. A change that reaches its deadline ends alone, and the others continue immediately. */
const pause = async (waiting: readonly WaitingChange[], { clock, jitter }: LedgerAccess): Promise<void> => {
  const most = Math.max(0, ...waiting.map(({ tries }) => tries));
  const someone = AbortSignal.any(waiting.map(({ signal }) => signal));
  await clock.sleep(pauseBetween(most, jitter), someone).catch(() => undefined);
};

interface RecentLedger {
  /** The ledger as last read or written; undefined if someone else may have written it since. */
  known: LedgerVersion | null | undefined;
}

/**
 * Writes the changes of a group with the access of the first one. Returns null if someone else has written the ledger
 * since.
 */
const writeGroup = async (
  group: readonly WaitingChange[],
  access: LedgerAccess,
  { known }: RecentLedger,
): Promise<RecentLedger | null> => {
  const { signal } = access;
  const before = known === undefined ? await abortOnSignal(signal, () => readVersion(access)) : known;
  const { write, ends } = decideAll(group, before?.ledger ?? EMPTY);
  const answer = write && (await abortOnSignal(signal, () => writeLedger(access, before, write)));
  if (write && !answer) return null;
  for (const done of ends) done();
  return { known: write && answer ? afterWrite(answer, write) : before };
};

/** Queues the changes of a rejected write again, and pauses. */
const requeueChanges = async (
  { again, waiting }: Groups<WaitingChange>,
  group: readonly WaitingChange[],
  access: LedgerAccess,
): Promise<void> => {
  again(group, TRIES, tooManyWriters());
  await pause(waiting(), access);
};

/** The groups of changes of one ledger. */
const createChanges = (lately: RecentLedger): Groups<WaitingChange> => {
  const changes = createGroups<WaitingChange>(async (group) => {
    const [{ access }] = group;
    try {
      const after = await writeGroup(group, access, lately);
      lately.known = changes.waiting().length > 0 ? after?.known : undefined;
      if (!after) await requeueChanges(changes, group, access);
    } catch (error) {
      lately.known = undefined;
      // The deadline of one run does not affect the other runs. Any other error applies to all of them.
      if (!access.signal.aborted) throw error;
      changes.again(group, TRIES, tooManyWriters());
    }
  });
  return changes;
};

export const createLedgerChanges = (): LedgerChanges => {
  const lately: RecentLedger = { known: undefined };
  const changes = createChanges(lately);
  return {
    change: (access, decide, read) =>
      new Promise((resolve, reject) => {
        const { signal } = access;
        const decided = (ledger: LedgerState) => {
          const { says, write } = decide(ledger);
          return { write, done: () => resolve(says) };
        };
        const rejected = (error: unknown): void => reject(signal.aborted ? ranOutOfTime(error) : error);
        if (!changes.isAnswering()) lately.known = read;
        changes.add({ access, signal, decide: decided, reject: rejected, tries: 0 });
      }),
  };
};
