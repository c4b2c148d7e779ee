import type { ClusterFacts } from '../fencing/model/cluster-facts.ts';
import type { Cluster, LookRequest } from '../fencing/model/cluster.ts';
import type { Permit } from '../fencing/model/permit.ts';
import { attachmentFacts, readAttachment } from './attachments.ts';
import { applyStep, recordEvent, type StepSession, createRechecks, type Rechecks } from './apply.ts';
import { surveyConnectivity } from './leases.ts';
import { type CallClock, createConnection, type Connection } from './connection.ts';
import { findNodes, readExistingNode } from './node.ts';
import type { LedgerAccess } from './ledger-map.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { withReadableAnswers } from './errors.ts';
import type { Link } from './exchange.ts';
import { lookAtCluster } from './look.ts';
import { versionReader } from './doctor.ts';
import { readSettings } from './settings-map.ts';
import { findSuspects } from './suspects.ts';

/** Combines the reads and the writes into the `Cluster` that the loop uses. */

export interface ClusterOptions {
  readonly name: string;
  readonly link: Link;
  readonly clock: CallClock;
  /** The longest time that one request may take, in ms. */
  readonly callLasts?: number;
  /** Returns a number from 0 to 1 that scales the pause if many clients write the ledger at the same time. */
  readonly jitter?: () => number;
}

const CALL_LASTS_MS = 10_000;

export const openConnection = ({ link, clock, callLasts = CALL_LASTS_MS }: ClusterOptions): Connection =>
  createConnection(link, clock, callLasts);

/** Returns the `Cluster` interface for a Kubernetes cluster. Close the link after use. */
export const createCluster = ({ jitter = Math.random, ...options }: ClusterOptions): Cluster =>
  clusterFromConnection(options.name, openConnection(options), jitter);

type Jitter = NonNullable<ClusterOptions['jitter']>;

/** Returns what each call needs, including what one call prepares for the next. */
const sessionsOver = ({ reader, writer, clock }: Connection, jitter: Jitter, entriesKept?: number) => {
  const rechecks = createRechecks(clock);
  const session = (permit: Permit, signal: AbortSignal): StepSession => ({
    reader: reader(signal),
    writer: writer(permit, signal),
    now: clock.now,
    rechecks,
  });
  const registry = (signal: AbortSignal): LedgerAccess => ({
    reader: reader(signal),
    writer: writer(null, signal),
    clock,
    signal,
    jitter,
  });
  return { rechecks, ledger: createLedger(clock, entriesKept), session, registry };
};

/** Returns the look. It also reads what a following reservation and a following patch of the Node need. */
const lookOver = ({ reader, clock }: Connection, { prepare }: Ledger, { keepNode }: Rechecks) => {
  const version = versionReader(clock);
  return async (request: LookRequest, signal: AbortSignal): Promise<ClusterFacts> => {
    const asking = reader(signal);
    const settings = readSettings(asking);
    const prepared = request.beforeReservation ? prepare(asking, settings) : null;
    const aids = { version, settings, keepNode, now: clock.now };
    const [facts] = await Promise.all([lookAtCluster(asking, aids, request), prepared]);
    return facts;
  };
};

/**
 * Returns the `Cluster` interface over a connection to an API server. `entriesKept`: the number of finished fences that
 * keep their entries in the ledger, if it differs from the default.
 */
export const clusterFromConnection = (
  name: string,
  connection: Connection,
  jitter: Jitter,
  entriesKept?: number,
): Cluster => {
  const { reader, writer, clock } = connection;
  const { rechecks, ledger, session, registry } = sessionsOver(connection, jitter, entriesKept);
  const look = lookOver(connection, ledger, rechecks);
  const asked = <T>(read: () => Promise<T>): Promise<T> => withReadableAnswers(name, read);
  return {
    name,
    find: (query, signal) => asked(() => findNodes(reader(signal), query)),
    identify: (node, signal) =>
      asked(async () => (await readExistingNode(reader(signal), node))?.identitySources ?? null),
    look: (request, signal) => asked(() => look(request, signal)),
    attachment: (attachment, signal) =>
      asked(async () => {
        const found = await readAttachment(reader(signal), attachment);
        return found && attachmentFacts(found);
      }),
    recheck: (node, signal) => asked(() => rechecks.read(reader(signal), node)),
    apply: (step, permit, signal) => asked(() => applyStep(session(permit, signal), step)),
    recordEvent: (about, event, signal) => recordEvent(writer(null, signal), about, event, clock.now()),
    surveyConnectivity: (node, staleFor, machine, signal) =>
      asked(() => surveyConnectivity(reader(signal), node, { now: clock.now(), staleFor }, machine)),
    reserve: (wanted, signal) => asked(() => ledger.reserve(registry(signal), wanted)),
    conclude: (ended, signal) => asked(() => ledger.conclude(registry(signal), ended)),
    concludeUnless: (showing, readAt, signal) => asked(() => ledger.concludeUnless(registry(signal), showing, readAt)),
    suspects: (staleFor, signal) => asked(() => findSuspects(reader(signal), { now: clock.now(), staleFor })),
  };
};
