import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { Recheck } from '../fencing/model/cluster-facts.ts';
import type { CallClock, Reader } from './connection.ts';
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

export const createRechecks = ({ now }: Pick<CallClock, 'now'>): Rechecks => {
  const lately = new Map<string, { readonly node: V1Node; readonly at: number }>();
  return {
    read: async (reader, name) => {
      const at = now();
      const [node, lease] = await Promise.all([readNode(reader, name), readLease(reader, name)]);
      if (node) lately.set(name, { node, at });
      return whatStepRestsOn(node, lease);
    },
    takeNode: (name) => {
      const found = lately.get(name);
      lately.delete(name);
      return found && Math.abs(now() - found.at) < SERVES_FOR_MS ? found.node : null;
    },
  };
};
