import type { V1ObjectMeta, V1StatefulSet } from '@kubernetes/client-node/dist/gen/index.js';
import type { PlacedCanary } from '../../drill/ports.ts';
import { DRILL_OF_LABEL, HOSTNAME_LABEL } from '../names.ts';

/** The canary of a drill: a StatefulSet with one pod and one volume. Its name is always the same, so that only one runs. */

export const CANARY = 'cloudfence-drill';
export const CANARY_POD = `${CANARY}-0`;
export const CANARY_CLAIM = `data-${CANARY_POD}`;

const selected = { 'app.kubernetes.io/name': CANARY };

const labelsOf = (drill: string) => ({ ...selected, [DRILL_OF_LABEL]: drill });

/** More than any common class needs at least, such as 10 GB for a disk of Compute Engine. */
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

/** The pod only prefers its Node, so that it can run on another one later. */
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

/** Reports whether this drill made the object. Kubernetes copies the label from the StatefulSet's templates. */
export const isOfDrill = ({ metadata }: { readonly metadata?: V1ObjectMeta }, drill: string): boolean =>
  metadata?.labels?.[DRILL_OF_LABEL] === drill;

/** Kubernetes deletes the claim with the StatefulSet, even if the drill dies before it can. */
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
