import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from './api.ts';
import type { Pod } from './objects.ts';
import { claim, persistentVolume } from './objects.ts';

/** The Node authorizer's graph lags behind the scheduler: right after binding a kubelet is not let at its pod's claims yet. */
const ATTEMPTS = 40;
const PAUSE_MS = 50;

const getSoon = async (api: Api, path: string, attempts = ATTEMPTS): Promise<unknown> => {
  const { status, body } = await api.call('GET', path);
  if (status === 200) return body;
  if (attempts === 0) throw new Error(`GET ${path}: ${status}`);
  await delay(PAUSE_MS);
  return getSoon(api, path, attempts - 1);
};

const volumeBehind = async (api: Api, namespace: string, claimName: string): Promise<string> => {
  const { spec } = claim.parse(await getSoon(api, `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claimName}`));
  const { csi } = persistentVolume.parse(await getSoon(api, `/api/v1/persistentvolumes/${spec.volumeName}`)).spec;
  return `kubernetes.io/csi/${csi.driver}^${csi.volumeHandle}`;
};

/** Unique names of the volumes that a pod wants, as they stand in `volumesInUse` and `volumesAttached`. */
export const volumesOf = (api: Api, { metadata, spec }: Pod): Promise<readonly string[]> =>
  Promise.all(spec.volumes.flatMap(({ persistentVolumeClaim }) => (persistentVolumeClaim ? [volumeBehind(api, metadata.namespace, persistentVolumeClaim.claimName)] : [])));
