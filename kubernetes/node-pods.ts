import type { V1PersistentVolume, V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { PodFacts } from '../fencing/cluster-facts.ts';
import { claimKey, claimsOf } from './claims.ts';
import type { Reader } from './connection.ts';
import { pages } from './pages.ts';
import { podFacts } from './pod-facts.ts';
import { handleOf } from './volume-handle.ts';
import { volumeKey } from './volume-key.ts';

/** All pods that are bound to the Node's name. */
export const readNodePods = async (reader: Reader, node: string): Promise<readonly V1Pod[]> => {
  const pods: V1Pod[] = [];
  const readPage = (paging: { limit: number; _continue?: string }) =>
    reader.read(CoreV1Api, (core) => core.listPodForAllNamespaces({ ...paging, fieldSelector: `spec.nodeName=${node}` }));
  for await (const page of pages(readPage)) pods.push(...page);
  return pods;
};

export const podFactsOf = (pod: V1Pod, claimed: ReadonlyMap<string, V1PersistentVolume>): PodFacts => {
  const volumes = claimsOf(pod).flatMap((claim) => {
    const volume = claimed.get(claimKey(claim));
    const handle = volume && handleOf(volume);
    return handle ? [volumeKey(handle)] : [];
  });
  return podFacts(pod, [...new Set(volumes)]);
};
