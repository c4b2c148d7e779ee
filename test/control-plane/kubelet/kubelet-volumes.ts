import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from '../../testbed/api.ts';
import { DRIVER } from './kubelet-node.ts';
import type { Pod } from '../../testbed/objects.ts';
import { claim, persistentVolume } from '../../testbed/objects.ts';

/**
 * The graph of the Node authorizer is behind the scheduler: right after binding, a kubelet may not read the claims of
 * its pod yet.
 */
const ATTEMPTS = 40;
const PAUSE_MS = 50;

const getSoon = async (api: Api, path: string, attempts = ATTEMPTS): Promise<unknown> => {
  const { status, body } = await api.call('GET', path);
  if (status === 200) return body;
  if (attempts === 0) throw new Error(`GET ${path}: ${status}`);
  await delay(PAUSE_MS);
  return getSoon(api, path, attempts - 1);
};

/** Null for a volume of a driver that attaches nothing: it is mounted over the network. */
const volumeBehind = async (api: Api, namespace: string, claimName: string): Promise<string | null> => {
  const { spec } = claim.parse(
    await getSoon(api, `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claimName}`),
  );
  const { csi, awsElasticBlockStore } = persistentVolume.parse(
    await getSoon(api, `/api/v1/persistentvolumes/${spec.volumeName}`),
  ).spec;
  const handle = csi?.driver === DRIVER ? csi.volumeHandle : awsElasticBlockStore?.volumeID.split('/').at(-1);
  return handle === undefined ? null : `kubernetes.io/csi/${DRIVER}^${handle}`;
};

const claimsOf = ({ metadata, spec }: Pod): readonly string[] =>
  spec.volumes.flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim) return [persistentVolumeClaim.claimName];
    return ephemeral ? [`${metadata.name}-${name}`] : [];
  });

/** Unique names of the volumes that a pod wants attached, in the form of `volumesInUse` and `volumesAttached`. */
export const volumesOf = async (api: Api, pod: Pod): Promise<readonly string[]> => {
  const found = await Promise.all(claimsOf(pod).map((name) => volumeBehind(api, pod.metadata.namespace, name)));
  return found.filter((name) => name !== null);
};
