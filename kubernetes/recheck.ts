import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { Recheck } from '../fencing/model/cluster-facts.ts';
import type { Clock, Reader } from './connection.ts';
import { readLease } from './leases.ts';
import { OUT_OF_SERVICE } from './names.ts';
import { fenceAnnotation, hasOwnTaint, hasTaint } from './node-facts.ts';
import { readNode } from './node.ts';

/**
 * How long (ms) the Node that a recheck has read serves for the patch of the step that it cleared. The patch tests what
 * it rests on, so an older Node would only be refused more often.
 */
const SERVES_FOR_MS = 500;

/** The rechecks of one cluster. */
export interface Rechecks {
  /** Reads again what a step rests on: the Node's uid, record, and taints, and the Lease. */
  readonly read: (reader: Reader, node: string) => Promise<Recheck>;
  /** Returns the Node as the recheck of the next step has just read it, once, or null if it has to be read again. */
  readonly takeNode: (node: string) => V1Node | null;
  /**
   * Prepares the recheck of the step that follows a patch: the answer to the patch is the Node, and the Lease is read
   * side by side. Rejects as the patch does.
   */
  readonly prepare: (reader: Reader, node: string, patched: Promise<V1Node>) => Promise<void>;
}

const whatStepRestsOn = (node: V1Node | null, lease: string | null): Recheck => ({
  uid: node?.metadata?.uid ?? null,
  recordText: node && fenceAnnotation(node),
  taints: {
    outOfService: node !== null && hasTaint(node, OUT_OF_SERVICE.key),
    ours: node !== null && hasOwnTaint(node),
  },
  lease,
});

interface Read<T> {
  readonly what: T;
  readonly at: number;
}

/** Keeps one value for each Node, for a short time and for one use. */
const keptShortly = <T>({ now }: Pick<Clock, 'now'>) => {
  const kept = new Map<string, Read<T>>();
  return {
    keep: (node: string, what: T, at: number): void => void kept.set(node, { what, at }),
    take: (node: string): T | null => {
      const found = kept.get(node);
      kept.delete(node);
      return found && Math.abs(now() - found.at) < SERVES_FOR_MS ? found.what : null;
    },
  };
};

export const createRechecks = (clock: Pick<Clock, 'now'>): Rechecks => {
  const nodes = keptShortly<V1Node>(clock);
  const prepared = keptShortly<Recheck>(clock);
  return {
    read: async (reader, name) => {
      const ahead = prepared.take(name);
      if (ahead) return ahead;
      const at = clock.now();
      const [node, lease] = await Promise.all([readNode(reader, name), readLease(reader, name)]);
      if (node) nodes.keep(name, node, at);
      return whatStepRestsOn(node, lease);
    },
    takeNode: nodes.take,
    prepare: async (reader, name, patched) => {
      const at = clock.now();
      const [node, lease] = await Promise.all([patched, readLease(reader, name).catch(() => undefined)]);
      if (lease !== undefined) prepared.keep(name, whatStepRestsOn(node, lease), at);
    },
  };
};
