import { StorageV1Api, type V1Node, VersionApi } from '@kubernetes/client-node/dist/gen/index.js';
import { CloudfenceError } from '../../fencing/model/errors.ts';
import type { IdentitySource } from '../../fencing/model/machine.ts';
import { type Connection, pages, type Reader } from '../connection.ts';
import { withReadableAnswers } from '../errors.ts';
import { nodeIdentitySources, nodePages } from '../node.ts';

/** What `cloudfence init` reads from a cluster: its version, its Nodes, and its CSI drivers. Nothing is written. */

export interface InventoryNode {
  readonly name: string;
  readonly identitySources: readonly IdentitySource[];
  readonly labels: Readonly<Record<string, string>>;
  readonly kubelet: string;
}

export interface InventoryDriver {
  readonly name: string;
  /** The number of Nodes that have registered it. */
  readonly nodes: number;
  /** Whether the cluster has a CSIDriver object of that name. */
  readonly installed: boolean;
}

export interface Inventory {
  /** The version from `/version`, such as `v1.33.1-eks-…`. */
  readonly version: string;
  readonly nodes: readonly InventoryNode[];
  /** Null if they cannot be read. */
  readonly drivers: readonly InventoryDriver[] | null;
  /** Why the drivers cannot be read. */
  readonly unread: string | null;
}

const inventoryNode = (node: V1Node): InventoryNode => ({
  name: node.metadata?.name ?? '',
  identitySources: nodeIdentitySources(node),
  labels: node.metadata?.labels ?? {},
  kubelet: node.status?.nodeInfo?.kubeletVersion ?? '',
});

const nodesIn = async (reader: Reader): Promise<readonly InventoryNode[]> => {
  const nodes: InventoryNode[] = [];
  for await (const page of nodePages(reader)) nodes.push(...page.map(inventoryNode));
  return nodes;
};

const driversIn = async (reader: Reader): Promise<readonly InventoryDriver[]> => {
  const installed = new Set<string>();
  for await (const page of pages((paging) => reader.read(StorageV1Api, (storage) => storage.listCSIDriver(paging))))
    for (const { metadata } of page) installed.add(metadata?.name ?? '');
  const registered = new Map<string, number>();
  for await (const page of pages((paging) => reader.read(StorageV1Api, (storage) => storage.listCSINode(paging))))
    for (const { name } of page.flatMap(({ spec }) => spec.drivers))
      registered.set(name, (registered.get(name) ?? 0) + 1);
  return [...new Set([...registered.keys(), ...installed])]
    .toSorted()
    .map((name) => ({ name, nodes: registered.get(name) ?? 0, installed: installed.has(name) }));
};

/** If a person may not read drivers, the other reads still succeed. */
const driversOrReason = async (reader: Reader): Promise<Pick<Inventory, 'drivers' | 'unread'>> => {
  try {
    return { drivers: await driversIn(reader), unread: null };
  } catch (error) {
    if (error instanceof CloudfenceError) return { drivers: null, unread: error.message };
    throw error;
  }
};

/** Reads the inventory of one cluster. @throws Unavailable, PermissionDenied */
export const readInventory = (name: string, { reader }: Connection, signal: AbortSignal): Promise<Inventory> =>
  withReadableAnswers(name, async () => {
    const asked = reader(signal);
    const { gitVersion } = await asked.read(VersionApi, (api) => api.getCode());
    const [nodes, drivers] = await Promise.all([nodesIn(asked), driversOrReason(asked)]);
    return { version: gitVersion, nodes, ...drivers };
  });
