import type { Recheck } from '../fencing/cluster-facts.ts';
import type { Reader } from './connection.ts';
import { readLease } from './lease.ts';
import { OUT_OF_SERVICE } from './names.ts';
import { hasOwnTaint, hasTaint, recordTextOf } from './node-facts.ts';
import { readNode } from './node-look.ts';

export const recheck = async (reader: Reader, name: string): Promise<Recheck> => {
  const [node, lease] = await Promise.all([readNode(reader, name), readLease(reader, name)]);
  return {
    uid: node?.metadata?.uid ?? null,
    recordText: node && recordTextOf(node),
    taints: { outOfService: node !== null && hasTaint(node, OUT_OF_SERVICE.key), ours: node !== null && hasOwnTaint(node) },
    lease,
  };
};
