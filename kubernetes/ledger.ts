import { PermissionDenied } from '../fencing/model/errors.ts';
import { type CapUse, capUse, type DatedFences, oldestFirst, type LedgerState } from '../fencing/model/cap-use.ts';
import {
  type Admission,
  admitReservation,
  type CapReservation,
  concludeEntry,
  type EndedFence,
  finishVanishedFences,
  pruneLedger,
} from '../fencing/model/ledger.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { CallClock, Connection, Reader } from './connection.ts';
import {
  createLedgerChanges,
  type LedgerAccess,
  type LedgerChanges,
  type LedgerVersion,
  readVersion,
} from './ledger-map.ts';
import { shortBoot, shortMachine } from './ledger-text.ts';
import { LEDGER } from './names.ts';
import {
  type CapOverride,
  activeCapOverride,
  countNodes,
  endCapOverride,
  overrideCap,
  readSettings,
  type SettingsMap,
} from './settings-map.ts';

/** The ledger, to which Cloudfence adds each fence before the fence begins. */

const { namespace, name } = LEDGER;

/** Returns the ledger, or null if there is none. */
export const readLedger = async (reader: Reader): Promise<LedgerState | null> =>
  (await readVersion({ reader }))?.ledger ?? null;

/** Adds the remedy to an error about missing permissions. The usual cause is a manifest of an older version. */
const withRemedy = (error: unknown): unknown =>
  !(error instanceof PermissionDenied) || error.message.includes('rbac.yaml')
    ? error
    : new PermissionDenied(
        `${error.message}. Cloudfence counts fences in ${namespace}/${name}: apply infra/kubernetes/rbac.yaml again`,
        { cause: error },
      );

/** The facts on which a reservation is decided. */
interface ReservationBasis {
  readonly nodes: number;
  readonly settings: Readonly<Record<string, string>>;
  /** Undefined if the ledger must be read. */
  readonly ledger: LedgerVersion | null | undefined;
}

const readReservationBasis = async (reader: Reader, asked = readSettings(reader)): Promise<ReservationBasis> => {
  const [nodes, settings, ledger] = await Promise.all([countNodes(reader), asked, readVersion({ reader })]);
  return { nodes, settings, ledger };
};

/** How long (ms) reservations may use the facts that a look has read for them. */
const BASIS_LASTS_MS = 1_000;

/** The facts that looks have read for later reservations in one cluster. */
const createReservationBases = ({ now }: Pick<CallClock, 'now'>) => {
  let lately: { basis: Promise<ReservationBasis | null>; readonly at: number } | null = null;
  const fresh = () => (lately && Math.abs(now() - lately.at) < BASIS_LASTS_MS ? lately : null);
  return {
    /**
     * Reads the facts for the next reservations. If that fails, the reservation reads them itself, and reports the
     * reason.
     */
    prepare: async (reader: Reader, settings: Promise<SettingsMap>): Promise<void> => {
      const reading = fresh() ?? { basis: readReservationBasis(reader, settings).catch(() => null), at: now() };
      lately = reading;
      await reading.basis;
    },
    /** Returns the facts that were read. They contain the ledger only once, because a reservation changes it. */
    take: async (): Promise<ReservationBasis | null> => {
      const found = fresh();
      if (!found) return null;
      const { basis } = found;
      found.basis = basis.then((read) => read && { ...read, ledger: undefined });
      return basis;
    },
  };
};

/** The ledger of one cluster. All methods throw `PermissionDenied` and `Unavailable`. */
export interface Ledger {
  /** Reads the facts for the reservations that follow. `settings` are the settings that the look reads. */
  readonly prepare: (reader: Reader, settings: Promise<SettingsMap>) => Promise<void>;
  /**
   * Decides on a reservation under the cap. If it is admitted, writes it to the ledger, unless the caller only asks.
   */
  readonly reserve: (access: LedgerAccess, wanted: CapReservation) => Promise<Admission>;
  /**
   * Records that the fence of the machine's boot is finished. Writes nothing if the ledger has no such open fence.
   */
  readonly conclude: (access: LedgerAccess, ended: EndedFence) => Promise<void>;
  /**
   * Marks every fence as finished that has left no trace in the cluster. Writes nothing if there is no such fence.
   */
  readonly concludeUnless: (access: LedgerAccess, showing: readonly MachineId[], readAt: number) => Promise<void>;
}

const shortNames = ({ machine, boot }: EndedFence): EndedFence => ({
  machine: shortMachine(machine),
  boot: boot === null ? null : shortBoot(boot),
});

const reserveFence = async (
  changes: LedgerChanges,
  access: LedgerAccess,
  { machine, boot, cap, onlyAsked }: CapReservation,
  { nodes, settings, ledger }: ReservationBasis,
  maxFinished?: number,
): Promise<Admission> => {
  const short = { ...shortNames({ machine, boot }), cap, nodes };
  const decide = (read: LedgerState) => {
    const now = access.clock.now();
    const isOverridden = activeCapOverride(settings, now) !== null;
    const decided = admitReservation(read, { ...short, now, isOverridden }, maxFinished);
    return onlyAsked ? { ...decided, write: null } : decided;
  };
  return changes.change(access, decide, ledger);
};

/** `maxFinished`: the number of finished fences that keep their entries, if it differs from the default. */
export const createLedger = (clock: Pick<CallClock, 'now'>, maxFinished?: number): Ledger => {
  const changes = createLedgerChanges();
  const bases = createReservationBases(clock);
  return {
    prepare: bases.prepare,
    reserve: async (access, wanted) => {
      try {
        return await reserveFence(
          changes,
          access,
          wanted,
          (await bases.take()) ?? (await readReservationBasis(access.reader)),
          maxFinished,
        );
      } catch (error) {
        throw withRemedy(error);
      }
    },
    conclude: (access, ended) =>
      changes.change(access, (read) => ({
        says: undefined,
        write: concludeEntry(read, shortNames(ended), access.clock.now(), maxFinished),
      })),
    concludeUnless: (access, machines, readAt) => {
      const shown = { showing: new Set(machines.map(shortMachine)), readAt };
      return changes.change(access, (read) => ({
        says: undefined,
        write: finishVanishedFences(read, shown, access.clock.now(), maxFinished),
      }));
    },
  };
};

/** The state of one cluster's cap. */
export interface CapStatus extends CapUse {
  readonly override: CapOverride | null;
  /** The fences within the window, oldest first. If there are many, those of the same minute are combined. */
  readonly fences: readonly DatedFences[];
}

/**
 * The functions with which people inspect and override the cap. All methods throw `Unavailable` or `PermissionDenied`.
 */
export interface CapControl {
  /** Returns null if there is no ledger. */
  readonly status: (cap: Policy['cap'], signal: AbortSignal) => Promise<CapStatus | null>;
  readonly override: (decision: CapOverride, signal: AbortSignal) => Promise<void>;
  readonly endOverride: (signal: AbortSignal) => Promise<void>;
}

export const createCapControl = ({ reader, writer, clock }: Connection): CapControl => ({
  status: async (cap, signal) => {
    const asking = reader(signal);
    const [read, nodes, settings] = await Promise.all([readLedger(asking), countNodes(asking), readSettings(asking)]);
    if (read === null) return null;
    const now = clock.now();
    const { ledger } = pruneLedger(read, now);
    return { ...capUse(ledger, cap, nodes), override: activeCapOverride(settings, now), fences: oldestFirst(ledger) };
  },
  override: (decision, signal) => overrideCap(writer(null, signal), decision),
  endOverride: (signal) => endCapOverride(writer(null, signal)),
});
