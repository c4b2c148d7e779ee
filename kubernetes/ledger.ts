import type { V1ConfigMap } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import { Denied, Unavailable } from '../fencing/errors.ts';
import { admit, concluded, type Admission, type Claim, type LedgerEntry } from '../fencing/ledger.ts';
import type { MachineId } from '../fencing/machine.ts';
import type { Clock } from './clock.ts';
import type { Reader, Writer } from './connection.ts';
import { saysChanged } from './errors.ts';
import { readLedger, shortBoot, shortMachine, writtenLedger } from './ledger-text.ts';
import { LEDGER } from './names.ts';
import { capLiftIn, readSettings } from './settings-map.ts';
import { countNodes } from './surroundings.ts';

/**
 * The one ConfigMap in which fences are entered before they begin. Every write names the version that was read: of many that
 * claim the last free place at once, the API server lets one through, and the others read again.
 */

/** What a claim is made over; `jitter` draws from 0 to 1. */
export interface Registry {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly jitter: () => number;
}

/** Thirty at once need thirty turns at most, and most of them fewer. */
const TRIES = 60;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

const { namespace, name, key } = LEDGER;

const readMap = ({ reader }: Pick<Registry, 'reader'>): Promise<V1ConfigMap | null> =>
  reader.readIfPresent(CoreV1Api, (core) => core.readNamespacedConfigMap({ namespace, name }));

const entriesIn = (map: V1ConfigMap | null): readonly LedgerEntry[] => readLedger(map?.data?.[key] ?? '');

/** Null when there is no ledger. */
export const readEntries = async (reader: Reader): Promise<readonly LedgerEntry[] | null> => {
  const map = await readMap({ reader });
  return map && entriesIn(map);
};

/** RBAC cannot allow creating one ConfigMap and no other: so the manifest brings it, and only an administrator's tools make it anew. */
const create = async ({ writer }: Registry, entries: readonly LedgerEntry[]): Promise<void> => {
  const body = { metadata: { namespace, name }, data: { [key]: writtenLedger(entries) } };
  try {
    await writer.write(CoreV1Api, (core) => core.createNamespacedConfigMap({ namespace, body }));
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    throw new Denied(`the ConfigMap ${namespace}/${name}, in which fences are counted, is gone: apply infra/kubernetes/rbac.yaml again`, { cause: error });
  }
};

/** False when somebody else has written since. */
const isWritten = async (registry: Registry, map: V1ConfigMap | null, entries: readonly LedgerEntry[]): Promise<boolean> => {
  try {
    if (map === null) await create(registry, entries);
    else {
      const body = { metadata: { resourceVersion: map.metadata?.resourceVersion }, data: { [key]: writtenLedger(entries) } };
      await registry.writer.mergePatch(CoreV1Api, (core) => core.patchNamespacedConfigMap({ namespace, name, body }));
    }
    return true;
  } catch (error) {
    if (saysChanged(error)) return false;
    throw error;
  }
};

const pauseBetween = (tries: number, jitter: () => number): number => Math.ceil(jitter() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries));

const rest = async ({ clock, signal }: Registry, ms: number): Promise<void> => {
  try {
    await clock.sleep(ms, signal);
  } catch (cause) {
    throw new Unavailable(`the time was up before ${namespace}/${name} could be written`, { cause });
  }
};

/** Reads, decides and writes until nobody has written in between. What is decided is decided on what stands. */
const change = async <T>(registry: Registry, decide: (entries: readonly LedgerEntry[]) => { readonly says: T; readonly write: readonly LedgerEntry[] | null }): Promise<T> => {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const map = await readMap(registry);
    const { says, write } = decide(entriesIn(map));
    if (write === null || (await isWritten(registry, map, write))) return says;
    await rest(registry, pauseBetween(tries, registry.jitter));
  }
  throw new Unavailable(`${namespace}/${name} was written by others ${TRIES} times while a fence was to be entered`);
};

/** Denied is a matter of the manifest of an older version, most of all. */
const withMend = (error: unknown): never => {
  if (!(error instanceof Denied) || error.message.includes('rbac.yaml')) throw error;
  throw new Denied(`${error.message}; fences are counted in ${namespace}/${name}: apply infra/kubernetes/rbac.yaml again`, { cause: error });
};

const claimed = async (registry: Registry, { machine, boot, cap, onlyAsked }: Claim): Promise<Admission> => {
  const [nodes, settings] = await Promise.all([countNodes(registry.reader), readSettings(registry.reader)]);
  const short = { machine: shortMachine(machine), boot: boot === null ? null : shortBoot(boot), cap, nodes };
  return change(registry, (entries) => {
    const now = registry.clock.now();
    const decided = admit(entries, { ...short, now, lifted: capLiftIn(settings, now) !== null });
    return onlyAsked ? { ...decided, write: null } : decided;
  });
};

/** @throws Denied, Unavailable */
export const claim = (registry: Registry, wanted: Claim): Promise<Admission> => claimed(registry, wanted).catch(withMend);

/** Whether anything had to be written for it. */
export const conclude = (registry: Registry, machine: MachineId): Promise<void> =>
  change(registry, (entries) => ({ says: undefined, write: concluded(entries, shortMachine(machine), registry.clock.now()) }));
