import type { V1CSINode, V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api, StorageV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { ClusterFacts } from '../fencing/cluster-facts.ts';
import type { IdentityCarrier } from '../fencing/machine.ts';
import { csiNodeCarriers, nodeCarriers } from './carriers.ts';
import type { Reader } from './connection.ts';

/** What a look finds of the Node itself; the cluster around it is the same for both ways of looking. */
export type NodeLook = Omit<ClusterFacts, 'surroundings' | 'taintSupported'>;

export const readNode = (reader: Reader, name: string): Promise<V1Node | null> =>
  reader.readIfPresent(CoreV1Api, (core) => core.readNode({ name }));

export const readCsiNode = (reader: Reader, name: string): Promise<V1CSINode | null> =>
  reader.readIfPresent(StorageV1Api, (storage) => storage.readCSINode({ name }));

/** A Node and everything on it and its CSINode that may name the machine. */
export interface StandingNode {
  readonly node: V1Node;
  readonly carriers: readonly IdentityCarrier[];
}

export const readStanding = async (reader: Reader, name: string): Promise<StandingNode | null> => {
  const [node, csiNode] = await Promise.all([readNode(reader, name), readCsiNode(reader, name)]);
  return node && { node, carriers: [...nodeCarriers(node), ...csiNodeCarriers(csiNode)] };
};
