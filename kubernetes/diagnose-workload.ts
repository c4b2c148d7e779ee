import { AppsV1Api, type V1Deployment } from '@kubernetes/client-node/dist/gen/index.js';
import type { OwnerView, WorkloadView } from '../diagnosis/model/facts.ts';
import type { Reader } from './connection.ts';
import { ownerView } from './diagnose-views.ts';

const REVISION = 'deployment.kubernetes.io/revision';

const plain = (owner: OwnerView, revision: string | null): WorkloadView => ({
  ...owner,
  revision,
  replicas: null,
  surges: false,
});

/** Percentages of maxSurge round up, so any but zero is at least one pod. The default is 25 %. */
const surgesBy = ({ spec }: V1Deployment): boolean => {
  const strategy = spec?.strategy;
  if (strategy?.type === 'Recreate') return false;
  const surge: unknown = strategy?.rollingUpdate?.maxSurge ?? '25%';
  return Number.parseInt(String(surge), 10) > 0;
};

const readDeployment = async (
  reader: Reader,
  namespace: string,
  owner: OwnerView,
  revision: string | null,
): Promise<WorkloadView> => {
  const found = await reader.readIfPresent(AppsV1Api, (api) =>
    api.readNamespacedDeployment({ namespace, name: owner.name }),
  );
  if (found === null) return plain(owner, revision);
  return { ...owner, revision, replicas: found.spec?.replicas ?? 1, surges: surgesBy(found) };
};

/** Returns what controls a pod: its owner, or the Deployment behind a ReplicaSet. */
export const readWorkload = async (reader: Reader, namespace: string, owner: OwnerView): Promise<WorkloadView> => {
  if (owner.kind === 'Deployment') return readDeployment(reader, namespace, owner, null);
  if (owner.kind !== 'ReplicaSet') return plain(owner, null);
  const set = await reader.readIfPresent(AppsV1Api, (api) =>
    api.readNamespacedReplicaSet({ namespace, name: owner.name }),
  );
  const above = set && ownerView(set);
  const revision = set?.metadata?.annotations?.[REVISION] ?? null;
  return above?.kind === 'Deployment' ? readDeployment(reader, namespace, above, revision) : plain(owner, revision);
};
