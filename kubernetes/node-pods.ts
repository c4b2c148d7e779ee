import type { V1PersistentVolume, V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { PodFacts } from '../fencing/cluster-facts.ts';
import { claimKey, claimsOf } from './claims.ts';
import type { Reader } from './connection.ts';
import { pages } from './pages.ts';
import { podFacts } from './pod-facts.ts';
import { handleOf, inlineBackings, inlineHandles, isUnknown } from './volume-handle.ts';
import { volumeKey } from './volume-key.ts';

/** All pods that are bound to the Node's name. */
export const readNodePods = async (reader: Reader, node: string): Promise<readonly V1Pod[]> => {
  const pods: V1Pod[] = [];
  const readPage = (paging: { limit: number; _continue?: string }) =>
    reader.read(CoreV1Api, (core) => core.listPodForAllNamespaces({ ...paging, fieldSelector: `spec.nodeName=${node}` }));
  for await (const page of pages(readPage)) pods.push(...page);
  return pods;
};

/** What cannot be resolved is said so: which volume it is, nobody knows then. */
export const podFactsOf = (pod: V1Pod, claimed: ReadonlyMap<string, V1PersistentVolume>): PodFacts => {
  const claims = claimsOf(pod).map((claim) => [claimKey(claim), claimed.get(claimKey(claim))] as const);
  const handles = [...claims.flatMap(([, volume]) => (volume && handleOf(volume)) ?? []), ...inlineHandles([pod])];
  const unresolved = [
    ...claims.filter(([, volume]) => !volume || isUnknown(volume)).map(([claim]) => claim),
    ...inlineBackings(pod).filter(([, backing]) => backing === 'unknown').map(([name]) => `volume ${name}`),
  ];
  return podFacts(pod, { volumes: [...new Set(handles.map(volumeKey))], unresolved });
};
