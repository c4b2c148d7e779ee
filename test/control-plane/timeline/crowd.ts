import pLimit from 'p-limit';
import { z } from 'zod';
import { nodeOfCrowd } from '../../bench/crowd-node.ts';
import type { Api } from '../../testbed/api.ts';
import type { Testbed } from '../../testbed/testbed-at.ts';
import { until } from '../../testbed/until.ts';

/**
 * Nodes without a part in the story: they have no machine, no kubelet, and no Lease, and no pod is scheduled in their
 * zone.
 */

const NODES = '/api/v1/nodes';
const AT_ONCE = 24;
const SEEN_WITHIN_MS = 600_000;

const counted = z.looseObject({
  items: z.array(z.unknown()),
  metadata: z.looseObject({ remainingItemCount: z.number().default(0) }),
});

/**
 * Returns the number of Nodes.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
const countNodes = async (admin: Api): Promise<number> => {
  const { items, metadata } = counted.parse(await admin.get(`${NODES}?limit=1`));
  return items.length + metadata.remainingItemCount;
};

const bystander = (ordinal: number) => ({
  ordinal,
  name: `crowd-${ordinal}`,
  machine: `i-c${ordinal.toString(16).padStart(16, '0')}`,
  volumes: [],
});

let born = 0;

/** Every Node has a taint from its creation until the controllers have seen that it is ready. */
const controllersHaveSeen = ({ kubelets: { nodes } }: Testbed, size: number): Promise<boolean> =>
  until(
    `the controllers have seen all ${size} Nodes`,
    async () => nodes.all().length >= size && nodes.all().every(({ spec }) => spec.taints.length === 0),
    SEEN_WITHIN_MS,
  );

/**
 * Adds Nodes until the cluster has `size` of them, with `more` still to come. Resolves once the cluster is quiet again.
 */
export const fillUp = async (testbed: Testbed, size: number, more: number): Promise<void> => {
  const { admin } = testbed;
  const missing = size - more - (await countNodes(admin));
  const limit = pLimit(AT_ONCE);
  const now = Date.now();
  const add = (): Promise<unknown> => limit(() => admin.write('POST', NODES, nodeOfCrowd(bystander((born += 1)), now)));
  await Promise.all(Array.from({ length: Math.max(0, missing) }, add));
  await controllersHaveSeen(testbed, size - more);
};
