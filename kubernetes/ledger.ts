import { createHash } from 'node:crypto';
import { CoreV1Api, type V1ConfigMap } from '@kubernetes/client-node/dist/gen/index.js';
import { PermissionDenied, Unavailable } from '../fencing/model/errors.ts';
import {
  type Admission,
  admitClaim,
  capUse,
  type CapUse,
  type Claim,
  concludeEntry,
  finishVanishedFences,
  type LedgerEntry,
  pruneEntries,
} from '../fencing/model/ledger.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { Clock, Connection, Reader, Writer } from './connection.ts';
import { isPreconditionFailed } from './errors.ts';
import { LEDGER } from './names.ts';
import { type CapLift, activeCapLift, countNodes, endLift, liftCap, readSettings } from './settings-map.ts';

/**
 * This module keeps the ledger: the one ConfigMap in which Cloudfence enters a fence before the fence begins.
 * Every write names the version that was read. When many runs claim the last free place at the same time, the API
 * server accepts one write, and the other runs read again.
 */

/** What a claim needs. `jitter` returns a number from 0 to 1. */
export interface LedgerAccess {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly jitter: () => number;
}

/** Thirty writers at the same time need at most thirty turns each, and most of them need fewer. */
const TRIES = 60;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

const { namespace, name, key } = LEDGER;

const readMap = ({ reader }: Pick<LedgerAccess, 'reader'>): Promise<V1ConfigMap | null> =>
  reader.readIfPresent(CoreV1Api, (core) => core.readNamespacedConfigMap({ namespace, name }));

const entriesIn = (map: V1ConfigMap | null): readonly LedgerEntry[] => readLedger(map?.data?.[key] ?? '');

/** Returns the entries of the ledger, or null when there is no ledger. */
export const readEntries = async (reader: Reader): Promise<readonly LedgerEntry[] | null> => {
  const map = await readMap({ reader });
  return map && entriesIn(map);
};

/**
 * Creates the ledger. RBAC cannot allow the creation of one ConfigMap and of no other. Therefore the manifest contains
 * the ConfigMap, and only an administrator's tools can create it again.
 * @throws PermissionDenied with the remedy
 */
const create = async ({ writer }: LedgerAccess, entries: readonly LedgerEntry[]): Promise<void> => {
  const body = { metadata: { namespace, name }, data: { [key]: writtenLedger(entries) } };
  try {
    await writer.write(CoreV1Api, (core) => core.createNamespacedConfigMap({ namespace, body }));
  } catch (error) {
    if (!(error instanceof PermissionDenied)) throw error;
    throw new PermissionDenied(
      `the ConfigMap ${namespace}/${name} with the ledger does not exist: apply infra/kubernetes/rbac.yaml again`,
      { cause: error },
    );
  }
};

/** Writes the ledger. Returns false when someone else has written it since the read. */
const isWritten = async (
  registry: LedgerAccess,
  map: V1ConfigMap | null,
  entries: readonly LedgerEntry[],
): Promise<boolean> => {
  try {
    if (map === null) await create(registry, entries);
    else {
      const body = {
        metadata: { resourceVersion: map.metadata?.resourceVersion },
        data: { [key]: writtenLedger(entries) },
      };
      await registry.writer.mergePatch(CoreV1Api, (core) => core.patchNamespacedConfigMap({ namespace, name, body }));
    }
    return true;
  } catch (error) {
    if (isPreconditionFailed(error)) return false;
    throw error;
  }
};

const pauseBetween = (tries: number, jitter: () => number): number =>
  Math.ceil(jitter() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries));

const rest = async ({ clock, signal }: LedgerAccess, ms: number): Promise<void> => {
  try {
    await clock.sleep(ms, signal);
  } catch (cause) {
    throw new Unavailable(`the run ended before Cloudfence could write ${namespace}/${name}`, { cause });
  }
};

/**
 * Reads, decides, and writes, until no one else has written in between. Each decision is therefore about the entries
 * that are there. `read` is the ledger if the caller has just read it.
 * @throws Unavailable after `TRIES` tries, or when the time is up
 */
const change = async <T>(
  registry: LedgerAccess,
  decide: (entries: readonly LedgerEntry[]) => { readonly says: T; readonly write: readonly LedgerEntry[] | null },
  read?: V1ConfigMap | null,
): Promise<T> => {
  let known = read;
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const map = known === undefined ? await readMap(registry) : known;
    known = undefined;
    const { says, write } = decide(entriesIn(map));
    if (write === null || (await isWritten(registry, map, write))) return says;
    await rest(registry, pauseBetween(tries, registry.jitter));
  }
  throw new Unavailable(
    `other writers changed ${namespace}/${name} ${TRIES} times while Cloudfence was recording a fence`,
  );
};

/** Adds the remedy to a denial of permission. The usual cause is a manifest of an older version. */
const withMend = (error: unknown): never => {
  if (!(error instanceof PermissionDenied) || error.message.includes('rbac.yaml')) throw error;
  throw new PermissionDenied(
    `${error.message}. Cloudfence counts fences in ${namespace}/${name}: apply infra/kubernetes/rbac.yaml again`,
    { cause: error },
  );
};

/** What a claim is decided on. */
export interface ClaimBasis {
  readonly nodes: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly map: V1ConfigMap | null;
}

export const readClaimBasis = async (reader: Reader): Promise<ClaimBasis> => {
  const [nodes, settings, map] = await Promise.all([countNodes(reader), readSettings(reader), readMap({ reader })]);
  return { nodes, settings, map };
};

/** How long (ms) a claim may rest on what a look has read for it. */
const BASIS_LASTS_MS = 1_000;

/** What looks have read for the claims that follow them, in one cluster. */
export const createClaimBases = ({ now }: Pick<Clock, 'now'>) => {
  let lately: { readonly basis: ClaimBasis; readonly at: number } | null = null;
  return {
    /** Reads for the next claim. If that fails, the claim reads for itself, and reports why. */
    prepare: async (reader: Reader): Promise<void> => {
      const at = now();
      const basis = await readClaimBasis(reader).catch(() => null);
      lately = basis && { basis, at };
    },
    /** Returns what was read for this claim, once. */
    take: (): ClaimBasis | null => {
      const found = lately;
      lately = null;
      return found && Math.abs(now() - found.at) < BASIS_LASTS_MS ? found.basis : null;
    },
  };
};

const claimed = async (
  registry: LedgerAccess,
  { machine, boot, cap, onlyAsked }: Claim,
  basis: ClaimBasis | null,
): Promise<Admission> => {
  const { nodes, settings, map } = basis ?? (await readClaimBasis(registry.reader));
  const short = { machine: shortMachine(machine), boot: boot === null ? null : shortBoot(boot), cap, nodes };
  return change(
    registry,
    (entries) => {
      const now = registry.clock.now();
      const decided = admitClaim(entries, { ...short, now, lifted: activeCapLift(settings, now) !== null });
      return onlyAsked ? { ...decided, write: null } : decided;
    },
    map,
  );
};

/**
 * Decides on a claim under the cap. Enters an admitted claim in the ledger, unless the caller only asks. `basis` is what
 * was read for it just before: if someone has written the ledger since, it is read again.
 * @throws PermissionDenied, Unavailable
 */
export const enterClaim = (registry: LedgerAccess, wanted: Claim, basis: ClaimBasis | null): Promise<Admission> =>
  claimed(registry, wanted, basis).catch(withMend);

/**
 * Enters in the ledger that the machine's fence is finished. Writes nothing if the ledger has no unfinished fence of
 * the machine.
 */
export const concludeClaim = (registry: LedgerAccess, machine: MachineId): Promise<void> =>
  change(registry, (entries) => ({
    says: undefined,
    write: concludeEntry(entries, shortMachine(machine), registry.clock.now()),
  }));

/**
 * Enters in the ledger that every fence is finished of which the cluster shows nothing any more. Writes nothing if there
 * is no such fence.
 */
export const concludeUnless = (registry: LedgerAccess, showing: readonly MachineId[]): Promise<void> => {
  const names = new Set(showing.map(shortMachine));
  return change(registry, (entries) => ({
    says: undefined,
    write: finishVanishedFences(entries, names, registry.clock.now()),
  }));
};

/**
 * The ledger as text has one line for each fence. A line is so short that thousands fit into one ConfigMap.
 * `<machine> <boot> <begun, epoch s> <o(pen) or f(inished)> <nodes>`; an unknown boot is `-`.
 */
const LINE = /^([\w-]{10}) ([\w-]{6}|-) (\d{1,12}) ([of]) (\d{1,7})$/;

const digest = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, length);

/** Shortens a machine id. Machine ids are up to 300 characters long. */
const shortMachine = (machine: string): string => digest(machine, 10);
const shortBoot = (boot: string): string => digest(boot, 6);

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

/** The state of one cluster's cap. */
export interface CapStatus extends CapUse {
  readonly lifted: CapLift | null;
  /** The fences that count, oldest first. */
  readonly fences: readonly Pick<LedgerEntry, 'begun' | 'finished'>[];
}

/** What people can do about the cap. All methods throw `Unavailable` or `PermissionDenied`. */
export interface CapControl {
  /** Returns null when there is no ledger that could count fences. */
  readonly standing: (cap: Policy['cap'], signal: AbortSignal) => Promise<CapStatus | null>;
  readonly lift: (lift: CapLift, signal: AbortSignal) => Promise<void>;
  readonly endLift: (signal: AbortSignal) => Promise<void>;
}

export const createCapControl = ({ reader, writer, clock }: Connection): CapControl => ({
  standing: async (cap, signal) => {
    const asking = reader(signal);
    const [read, nodes, settings] = await Promise.all([readEntries(asking), countNodes(asking), readSettings(asking)]);
    if (read === null) return null;
    const now = clock.now();
    const { entries } = pruneEntries(read, now);
    const fences = entries.toSorted((a, b) => a.begun - b.begun).map(({ begun, finished }) => ({ begun, finished }));
    return { ...capUse(entries, cap, nodes), lifted: activeCapLift(settings, now), fences };
  },
  lift: (lift, signal) => liftCap(writer(null, signal), lift),
  endLift: (signal) => endLift(writer(null, signal)),
});
