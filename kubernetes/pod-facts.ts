import type { V1OwnerReference, V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import type { PodFacts } from '../fencing/cluster-facts.ts';
import { MIRROR_POD } from './names.ts';
import { optOutOfPod } from './opt-out.ts';
import { toleratesOutOfService } from './tolerations.ts';

const controllerOf = ({ metadata }: V1Pod): V1OwnerReference | undefined => metadata?.ownerReferences?.find(({ controller }) => controller);

const kindOf = (pod: V1Pod): PodFacts['kind'] => {
  if (pod.metadata?.annotations?.[MIRROR_POD] !== undefined) return 'mirror';
  switch (controllerOf(pod)?.kind) {
    case 'DaemonSet':
      return 'daemon';
    case 'Job':
      return 'job';
    default:
      return 'other';
  }
};

export const isFinished = ({ status }: V1Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

export const podFacts = (pod: V1Pod, uses: Pick<PodFacts, 'volumes' | 'unresolved'>): PodFacts => {
  const { metadata, spec } = pod;
  return {
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    owner: controllerOf(pod)?.uid ?? null,
    priority: spec?.priority ?? 0,
    kind: kindOf(pod),
    finished: isFinished(pod),
    deleting: metadata?.deletionTimestamp !== undefined,
    finalizers: (metadata?.finalizers ?? []).length > 0,
    tolerates: toleratesOutOfService(pod),
    optOut: optOutOfPod(metadata),
    ...uses,
  };
};
