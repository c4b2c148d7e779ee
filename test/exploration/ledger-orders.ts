import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LedgerState } from '../../fencing/model/cap-use.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { clusterFromConnection, openConnection } from '../../kubernetes/cluster.ts';
import { transportLink, type Transport } from '../../kubernetes/exchange.ts';
import { parseLedger, serializeLedger } from '../../kubernetes/ledger-text.ts';
import { NODES } from '../contract/cluster/harness.ts';
import { adminOf, FENCE_TOKEN, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';

/**
 * Every order in which several processes, each with its own machine, can read and write one ledger. The processes run
 * the shipped code, so a state cannot be copied: each order is played from the beginning. The search does not continue
 * from a state that it knows. Only the calls about the ledger wait for their turn, because no process changes what the
 * other calls read.
 */

/** What one process does. */
export type Script = (cluster: Cluster, report: Report) => Promise<void>;

export interface Report {
  /** The fence of the machine may begin. */
  readonly admitted: (machine: string) => void;
  /** The end of the fence is in the ledger. */
  readonly concluded: (machine: string) => void;
}

export interface LedgerScenario {
  readonly nodes: number;
  /** The ledger at the beginning. `now` is in epoch ms. */
  readonly ledger: (now: number) => LedgerState;
  readonly processes: readonly Script[];
  /** How many calls may go wrong. */
  readonly faults: number;
  /** How many finished fences keep their own entries. */
  readonly entriesKept: number;
  /** Changes a call before it is sent. Only unsafe variants have it. */
  readonly edit?: (request: Request) => Request;
}

/**
 * What happens to a call. `fails`: it has no effect, and no answer. `loses`: it has its effect, and no answer. `dies`:
 * the same, and its process ends.
 */
const FATES = ['answers', 'fails', 'loses', 'dies'] as const;

export interface Move {
  readonly process: number;
  readonly call: 'reads the ledger' | 'writes the ledger';
  readonly fate: (typeof FATES)[number];
}

/** The state after a call. */
export interface Seen {
  readonly ledger: LedgerState;
  readonly version: string;
  readonly admitted: readonly string[];
  readonly concluded: readonly string[];
  /** Whether every process has finished. */
  readonly over: boolean;
}

type Request = Parameters<Transport>[0];
type Answer = Awaited<ReturnType<Transport>>;

interface WaitingCall extends Pick<Move, 'process' | 'call'> {
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

const LEDGER = '/api/v1/namespaces/kube-system/configmaps/cloudfence-ledger';
export const NOW = Date.UTC(2026, 10, 21, 10);

/** A process for which no time passes, so that a pause between two tries ends at once. */
const clusterOver = (transport: Transport, entriesKept: number): Cluster => {
  const clock = { now: () => NOW, sleep: async () => undefined, deadline: () => new AbortController().signal };
  const options = { name: 'test', link: transportLink(transport, FENCE_TOKEN), clock };
  return clusterFromConnection(options.name, openConnection(options), () => 1, entriesKept);
};

const openStage = async ({ nodes, ledger }: LedgerScenario) => {
  const server = sandboxServer({ now: () => NOW });
  const admin = adminOf(server);
  for (let count = 0; count < nodes; count += 1) await admin('POST', NODES, { metadata: { name: `node-${count}` } });
  await admin('PATCH', LEDGER, { data: serializeLedger(ledger(NOW)) });
  const read = async () => {
    const { data, metadata } = (await admin('GET', LEDGER)).body;
    return { ledger: parseLedger(Object(data)), version: metadata.resourceVersion };
  };
  return { transport: inProcess(server), read };
};

/** Holds each call about the ledger until its turn. */
const heldBy =
  (waiting: WaitingCall[], process: number, transport: Transport): Transport =>
  (request, signal) => {
    if (!request.path.startsWith(LEDGER)) return transport(request, signal);
    const call = request.method === 'GET' ? 'reads the ledger' : 'writes the ledger';
    return new Promise((resolve, reject) => waiting.push({ process, call, request, resolve, reject }));
  };

/** Lets each process continue to its next call about the ledger. Until then, it only awaits promises. */
const untilAllWait = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
};

/** Starts all processes of a scenario. */
const beginOrder = async (scenario: LedgerScenario) => {
  const { transport, read } = await openStage(scenario);
  const waiting: WaitingCall[] = [];
  const [admitted, concluded]: [string[], string[]] = [[], []];
  const report: Report = {
    admitted: (machine) => void admitted.push(machine),
    concluded: (machine) => void concluded.push(machine),
  };
  for (const [process, script] of scenario.processes.entries())
    void script(clusterOver(heldBy(waiting, process, transport), scenario.entriesKept), report).catch(() => undefined);
  await untilAllWait();
  const seen = async (): Promise<Seen> => ({
    ...(await read()),
    admitted: admitted.toSorted(),
    concluded: concluded.toSorted(),
    over: waiting.length === 0,
  });
  /** Runs every process once more, one after the other, without faults. */
  const runAgain = async (): Promise<Seen> => {
    for (const script of scenario.processes) await script(clusterOver(transport, scenario.entriesKept), report);
    return seen();
  };
  return { scenario, transport, waiting, seen, runAgain };
};

type Order = Awaited<ReturnType<typeof beginOrder>>;

/** Sends one call, and lets its process continue. */
const carryOut = async ({ waiting, scenario, transport }: Order, { process, call, fate }: Move): Promise<void> => {
  const at = waiting.findIndex((one) => one.process === process && one.call === call);
  const [held] = waiting.splice(at, at < 0 ? 0 : 1);
  if (!held) throw new Error(`process ${process} never ${call}`);
  const answer = fate === 'fails' ? null : await transport(scenario.edit?.(held.request) ?? held.request, undefined);
  if (fate === 'answers' && answer) held.resolve(answer);
  else if (fate !== 'dies') held.reject(new Error('socket hang up'));
  else waiting.splice(0, waiting.length, ...waiting.filter((other) => other.process !== process));
  await untilAllWait();
};

const movesFrom = ({ waiting }: Order, faultsLeft: number): readonly Move[] =>
  waiting.flatMap(({ process, call }) =>
    FATES.slice(0, faultsLeft > 0 ? FATES.length : 1).map((fate) => ({ process, call, fate })),
  );

/** The number of a version that is not the newest has no meaning. */
const callsIn = ({ waiting }: Order, newest: string): readonly unknown[] =>
  waiting.map(({ process, request: { method, body } }) => [
    process,
    method,
    body.replace(/"resourceVersion":"(\d+)"/, (_, version) => (version === newest ? 'newest' : 'old')),
  ]);

/**
 * Everything that decides what may still happen: for each process, the call that it waits for, and what it has
 * reported.
 */
const keyOf = (order: Order, { ledger, version, admitted, concluded }: Seen, faultsLeft: number): string =>
  JSON.stringify([ledger, admitted, concluded, callsIn(order, version), faultsLeft]);

const playOrder = async (scenario: LedgerScenario, moves: readonly Move[]): Promise<Order> => {
  const order = await beginOrder(scenario);
  for (const move of moves) await carryOut(order, move);
  return order;
};

export interface OrdersExplored {
  readonly states: number;
  /** What is wrong, and the shortest order that leads to it. Null if nothing is wrong. */
  readonly broken: { readonly says: string; readonly moves: readonly Move[] } | null;
}

/** Both return what is wrong, or null. */
export interface Judge {
  /** `before` is the state one call earlier. */
  readonly always: (seen: Seen, before: Seen | null) => string | null;
  /** Judges the end, after each process has run once more. */
  readonly atTheEnd: (seen: Seen) => string | null;
}

interface Unexplored {
  readonly moves: readonly Move[];
  readonly before: Seen | null;
}

/** Explores breadth-first, so the first order that breaks something is a shortest one. */
export const exploreOrders = async (scenario: LedgerScenario, judge: Judge): Promise<OrdersExplored> => {
  const known = new Set<string>();
  const unexplored: Unexplored[] = [{ moves: [], before: null }];
  for (const { moves, before } of unexplored) {
    const order = await playOrder(scenario, moves);
    const seen = await order.seen();
    const faultsLeft = scenario.faults - moves.filter(({ fate }) => fate !== 'answers').length;
    const key = keyOf(order, seen, faultsLeft);
    const isKnown = known.has(key);
    const says = judge.always(seen, before) ?? (seen.over && !isKnown ? judge.atTheEnd(await order.runAgain()) : null);
    if (says !== null) return { states: known.size, broken: { says, moves } };
    if (isKnown) continue;
    known.add(key);
    for (const move of movesFrom(order, faultsLeft)) unexplored.push({ moves: [...moves, move], before: seen });
  }
  return { states: known.size, broken: null };
};
