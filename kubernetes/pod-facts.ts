import type { V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import type { PodFacts } from '../fencing/cluster-facts.ts';
import { MIRROR_POD } from './names.ts';
import { optOutOfPod } from './opt-out.ts';
import { toleratesOutOfService } from './tolerations.ts';

const kindOf = ({ metadata }: V1Pod): PodFacts['kind'] => {
  if (metadata?.annotations?.[MIRROR_POD] !== undefined) return 'mirror';
  switch (metadata?.ownerReferences?.find(({ controller }) => controller)?.kind) {
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
