import type { V1PersistentVolume, V1PersistentVolumeClaim, V1Pod, V1Volume } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Reader } from './connection.ts';

/** A claim, as a pod names it. */
export interface Claim {
  readonly namespace: string;
  readonly name: string;
}

const claimName = (pod: V1Pod, volume: V1Volume): string | null => {
  if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral ? `${pod.metadata?.name ?? ''}-${volume.name}` : null;
};

/**
 * Claims of a pod, those of its generic ephemeral volumes included.
 * https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#persistentvolumeclaim-naming
 */
export const claimsOf = (pod: V1Pod): readonly Claim[] =>
  (pod.spec?.volumes ?? []).flatMap((volume) => {
    const name = claimName(pod, volume);
    return name === null ? [] : [{ namespace: pod.metadata?.namespace ?? '', name }];
  });

export const claimKey = ({ namespace, name }: Claim): string => `${namespace}/${name}`;

export const readVolume = (reader: Reader, name: string): Promise<V1PersistentVolume | null> =>
  reader.readIfPresent(CoreV1Api, (core) => core.readPersistentVolume({ name }));

const readClaim = (reader: Reader, { namespace, name }: Claim): Promise<V1PersistentVolumeClaim | null> =>
  reader.readIfPresent(CoreV1Api, (core) => core.readNamespacedPersistentVolumeClaim({ namespace, name }));

/** The volume that is bound to the claim from both sides; null when there is none (yet, or any more). */
const readBound = async (reader: Reader, claim: Claim): Promise<V1PersistentVolume | null> => {
  const volumeName = (await readClaim(reader, claim))?.spec?.volumeName ?? '';
  const volume = volumeName === '' ? null : await readVolume(reader, volumeName);
  const back = volume?.spec?.claimRef;
  return back?.namespace === claim.namespace && back.name === claim.name ? volume : null;
};

/** More claims than these no Node's pods have: those beyond are not asked for, and count as claims that cannot be resolved. */
const MOST_CLAIMS = 1_000;

/** The PersistentVolumes behind the pods' claims, by claim key; claims without one are left out. */
export const readClaimed = async (reader: Reader, pods: readonly V1Pod[]): Promise<ReadonlyMap<string, V1PersistentVolume>> => {
  const claims = new Map(pods.flatMap(claimsOf).map((claim) => [claimKey(claim), claim]));
  const bound = await Promise.all([...claims].slice(0, MOST_CLAIMS).map(async ([key, claim]) => [key, await readBound(reader, claim)] as const));
  return new Map(bound.flatMap(([key, volume]) => (volume ? [[key, volume] as const] : [])));
};
