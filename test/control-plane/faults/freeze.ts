import { setTimeout as delay } from 'node:timers/promises';
import { changeIn } from './changes.ts';
import type { StartedProgram } from '../entry-points/programs.ts';
import type { Handling, GateRequest } from './gate.ts';
import type { RunMoment } from './strike.ts';
import { inWords, keyOf } from './strike.ts';

/**
 * A moment between two calls: a change was answered, or the next change was cleared (`null` for the first), or the Node
 * was read for the mark, and only the last check of the mark still holds the mark back.
 */
export interface Pause {
  readonly after: RunMoment | null;
  readonly at: 'answer' | 'recheck' | 'read for the mark';
}

export const pauseInWords = ({ after, at }: Pause): string => {
  if (at === 'read for the mark') return 'with its Node read for the mark';
  if (at === 'answer') return after ? `after ${inWords(after)}` : 'before anything';
  return after ? `cleared after ${inWords(after)}` : 'cleared to begin';
};

const NODE_READS =
  /^\/apis\/(storage\.k8s\.io\/v1\/csinodes|coordination\.k8s\.io\/v1\/namespaces\/kube-node-lease\/leases)\//;

/** The requests of one look are sent at once, but over their own connections. */
export const STRAGGLES_MS = 60;

/**
 * Each look at a Node reads its Lease and its CSINode, and a recheck reads only the Lease. So an additional Lease
 * belongs to a recheck.
 */
export const recheckSpotter = (): ((passing: GateRequest) => Promise<boolean>) => {
  let rechecks = 0;
  const read = { csinodes: 0, leases: 0 };
  return async ({ method, path }) => {
    if (method !== 'GET' || !NODE_READS.test(path)) return false;
    if (path.includes('/csinodes/')) {
      read.csinodes += 1;
      return false;
    }
    read.leases += 1;
    const asked = read.leases;
    await delay(STRAGGLES_MS);
    const isRecheck = asked - rechecks > read.csinodes;
    if (isRecheck) rechecks += 1;
    return isRecheck;
  };
};

export const NODE = /^\/api\/v1\/nodes\/[^/?]+$/;

/**
 * The first look reads the Node once. The next read is that of the recheck, from which the patch of the mark is
 * created.
 */
const markSpotter = (): ((passing: GateRequest) => Promise<boolean>) => {
  let reads = 0;
  return async ({ method, path }) => {
    if (method !== 'GET' || !NODE.test(path)) return false;
    reads += 1;
    return reads > 1;
  };
};

export interface Freeze {
  readonly handling: Handling;
  /** Resolves once the process is stopped and its answer waits for it. */
  readonly frozen: Promise<void>;
}

/** Freezes the process at that moment, once. */
export const freezeAt = ({ after, at }: Pause, running: () => StartedProgram): Freeze => {
  const { promise: frozen, resolve: tell } = Promise.withResolvers<void>();
  const isMoment = at === 'read for the mark' ? markSpotter() : recheckSpotter();
  const passed = new Set<string>();
  let reached = after === null;
  let over = false;
  const freeze = (): void => {
    over = true;
    running().kill('SIGSTOP');
    tell();
  };
  const handling: Handling = async (passing, forward) => {
    const answer = await forward();
    if (over) return answer;
    if (after && changeIn(passing) === after.change && passed.add(keyOf(passing)).size === after.nth) {
      reached = true;
      if (at === 'answer') freeze();
      return answer;
    }
    if ((await isMoment(passing)) && reached && at !== 'answer' && !over) freeze();
    return answer;
  };
  return { handling, frozen };
};
