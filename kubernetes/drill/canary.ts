import {
  type V1ObjectMeta,
  type V1StatefulSet,
  AppsV1Api,
  CoreV1Api,
  type V1DeleteOptions,
} from '@kubernetes/client-node/dist/gen/index.js';
import type { PlacedCanary, CanaryOptions, CanaryView } from '../../drill/ports.ts';
import { DRILL_OF_LABEL, HOSTNAME_LABEL } from '../names.ts';
import type { Reader, Writer } from '../connection.ts';
import { isNotFound, isPreconditionFailed } from '../errors.ts';
import { readPod } from '../pods.ts';

/**
 * The canary of a drill: a StatefulSet with one pod and one volume. Its name is always the same, so that only one
 * canary can run. Reports which of its objects exist and to whom they belong, and deletes them.
 */

const CANARY = 'cloudfence-drill';
export const CANARY_POD = `${CANARY}-0`;
const CANARY_CLAIM = `data-${CANARY_POD}`;

const selected = { 'app.kubernetes.io/name': CANARY };

const labelsOf = (drill: string) => ({ ...selected, [DRILL_OF_LABEL]: drill });

/** Larger than the minimum of common storage classes, such as 10 GB for a disk of Compute Engine. */
const SIZE = '10Gi';

/** Meets the Pod Security Standard "restricted". https://kubernetes.io/docs/concepts/security/pod-security-standards/ */
const containerOf = (image: string) => ({
  name: 'canary',
  image,
  resources: { requests: { cpu: '1m', memory: '8Mi' }, limits: { memory: '32Mi' } },
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
});

/** The pod only prefers its Node, so that it can later run on another one. */
const podOf = ({ image, hostname }: PlacedCanary) => ({
  automountServiceAccountToken: false,
  terminationGracePeriodSeconds: 5,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 65_535,
    fsGroup: 65_535,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          preference: { matchExpressions: [{ key: HOSTNAME_LABEL, operator: 'In', values: [hostname] }] },
        },
      ],
    },
  },
  containers: [containerOf(image)],
});

const claimOf = ({ storageClass, drill }: PlacedCanary) => ({
  metadata: { name: 'data', labels: labelsOf(drill) },
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: SIZE } },
    ...(storageClass !== null && { storageClassName: storageClass }),
  },
});

/** Returns whether this drill created the object. Kubernetes copies the label from the templates of the StatefulSet. */
export const isOfDrill = ({ metadata }: { readonly metadata?: V1ObjectMeta }, drill: string): boolean =>
  metadata?.labels?.[DRILL_OF_LABEL] === drill;

/** Kubernetes deletes the claim with the StatefulSet, even if the drill dies before it can delete the claim. */
export const canarySet = (options: PlacedCanary): V1StatefulSet => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: {
    name: CANARY,
    namespace: options.namespace,
    labels: labelsOf(options.drill),
  },
  spec: {
    replicas: 1,
    serviceName: CANARY,
    selector: { matchLabels: selected },
    template: { metadata: { labels: labelsOf(options.drill) }, spec: podOf(options) },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' },
    volumeClaimTemplates: [claimOf(options)],
  },
});

const readSet = (reader: Reader, namespace: string) =>
  reader.readIfPresent(AppsV1Api, { name: CANARY, namespace }, (apps, key) => apps.readNamespacedStatefulSet(key));

const readClaim = (reader: Reader, namespace: string) =>
  reader.readIfPresent(CoreV1Api, { name: CANARY_CLAIM, namespace }, (core, key) =>
    core.readNamespacedPersistentVolumeClaim(key),
  );

export const readVolume = (reader: Reader, name: string) =>
  reader.readIfPresent(CoreV1Api, { name }, (core, key) => core.readPersistentVolume(key));

type Kept = (found: { readonly metadata?: V1ObjectMeta }) => boolean;

const readParts = async (reader: Reader, namespace: string, kept: Kept) => {
  const [set, pod, claim] = await Promise.all([
    readSet(reader, namespace),
    readPod(reader, { namespace, name: CANARY_POD }),
    readClaim(reader, namespace),
  ]);
  return {
    set: set && kept(set) ? set : null,
    pod: pod && kept(pod) ? pod : null,
    claim: claim && kept(claim) ? claim : null,
  };
};

type CanaryParts = Awaited<ReturnType<typeof readParts>>;

const inWords = ({ set, pod, claim }: CanaryParts, namespace: string): readonly string[] =>
  [set && `statefulset/${CANARY}`, pod && `pod/${CANARY_POD}`, claim && `pvc/${CANARY_CLAIM}`]
    .filter((part) => part !== null)
    .map((part) => `${part} in namespace ${namespace}`);

/** Describes the existing objects of a canary that `own` did not create. */
export const partsOfOthers = async (
  reader: Reader,
  namespace: string,
  own: string | null,
): Promise<readonly string[]> =>
  inWords(await readParts(reader, namespace, (found) => own === null || !isOfDrill(found, own)), namespace);

/** Returns the name of the volume to which the canary's claim is bound, or null. */
export const boundVolume = async (
  reader: Reader,
  namespace: string,
  kept: Kept = () => true,
): Promise<string | null> => {
  const claim = await readClaim(reader, namespace);
  return claim && kept(claim) ? (claim.spec?.volumeName ?? null) : null;
};

/** Deletes the object that was read, and never another object with the same name. */
const askToDelete = async (
  found: { readonly metadata?: V1ObjectMeta } | null,
  send: (body: V1DeleteOptions) => Promise<unknown>,
): Promise<void> => {
  const uid = found?.metadata?.uid;
  if (uid === undefined) return;
  try {
    await send({ preconditions: { uid }, propagationPolicy: 'Background' });
  } catch (error) {
    if (!isNotFound(error) && !isPreconditionFailed(error)) throw error;
  }
};

/** Deletes the StatefulSet first, because it would recreate its pod. */
const askToDeleteAll = async (writer: Writer, namespace: string, { set, pod, claim }: CanaryParts): Promise<void> => {
  await askToDelete(set, (body) =>
    writer.write(AppsV1Api, (apps) => apps.deleteNamespacedStatefulSet({ name: CANARY, namespace, body })),
  );
  await askToDelete(pod, (body) =>
    writer.write(CoreV1Api, (core) => core.deleteNamespacedPod({ name: CANARY_POD, namespace, body })),
  );
  await askToDelete(claim, (body) =>
    writer.write(CoreV1Api, (core) =>
      core.deleteNamespacedPersistentVolumeClaim({ name: CANARY_CLAIM, namespace, body }),
    ),
  );
};

const volumeLeft = async (reader: Reader, volume: CanaryView['volume']): Promise<readonly string[]> => {
  const left = volume && (await readVolume(reader, volume.persistentVolume));
  return left ? [`pv/${volume.persistentVolume} with ${volume.handle}`] : [];
};

/** Requests the deletion of everything that the drill created, and describes what still exists. */
export const removeCanaryObjects = async (
  { reader, writer }: { readonly reader: Reader; readonly writer: Writer },
  { namespace, drill }: Pick<PlacedCanary, 'namespace' | 'drill'>,
  volume: CanaryView['volume'],
): Promise<readonly string[]> => {
  const kept: Kept = (found) => isOfDrill(found, drill);
  await askToDeleteAll(writer, namespace, await readParts(reader, namespace, kept));
  return [...inWords(await readParts(reader, namespace, kept), namespace), ...(await volumeLeft(reader, volume))];
};

export const removeCommandFor = ({ namespace }: Pick<CanaryOptions, 'namespace'>, drill: string | null): string =>
  drill === null
    ? `kubectl -n ${namespace} delete statefulset/${CANARY} pvc/${CANARY_CLAIM} --ignore-not-found`
    : `kubectl -n ${namespace} delete statefulset,pvc -l ${DRILL_OF_LABEL}=${drill}`;
