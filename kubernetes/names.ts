/**
 * The keys that Cloudfence reads and writes, including well-known keys of others. They are in one file, so that docs
 * and RBAC can quote them.
 */

/**
 * Kubernetes looks only at the key. The value that Cloudfence writes contains the fence and the boot; node-facts.ts
 * reads it.
 */
export const OUT_OF_SERVICE = { key: 'node.kubernetes.io/out-of-service', effect: 'NoSchedule' } as const;
export const QUARANTINE = { key: 'cloudfence.dev/quarantine', value: 'fenced', effect: 'NoSchedule' } as const;

/**
 * A kubelet cannot write labels under `node-restriction.kubernetes.io/`. The value contains the fence id; node-facts.ts
 * reads it. https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
 */
export const FENCED_LABEL = 'cloudfence.node-restriction.kubernetes.io/fenced';
/**
 * A copy of the value of Cloudfence's out-of-service taint. One write sets both, and one write removes both. If someone
 * removes the taint, the label remains. The label alone never shows that Cloudfence set the taint.
 */
export const TAINT_LABEL = 'cloudfence.node-restriction.kubernetes.io/out-of-service';

/**
 * The time at which the machine was first seen `stopping`, for clouds that do not report it. The value contains the
 * time and the boot.
 */
export const STOPPING_LABEL = 'cloudfence.node-restriction.kubernetes.io/stopping';

/** A digest of the record, which no kubelet can write (record-seal.ts). */
export const SEAL_LABEL = 'cloudfence.node-restriction.kubernetes.io/record';

export const RECORD_ANNOTATION = 'cloudfence.dev/fence';
export const OPT_OUT_ANNOTATION = 'cloudfence.dev/opt-out';
/** An opt-out label on a Node, which no kubelet can write. */
export const OPT_OUT_LABEL = 'cloudfence.node-restriction.kubernetes.io/opt-out';
/** On each object of a canary: the drill that created it, so that no other drill removes it. */
export const DRILL_OF_LABEL = 'cloudfence.dev/drill';

export const NUDGE_ANNOTATION = 'cloudfence.dev/nudge';

/** A label on a Node with which people allow `cloudfence drill` to stop its machine. No kubelet can write it. */
export const DRILL_LABEL = 'cloudfence.node-restriction.kubernetes.io/drill';
export const DRILL_ALLOWED = 'allowed';
/** A label on a Node with the name of the drill that has reserved it. No kubelet can write it. */
export const DRILL_RESERVED_LABEL = 'cloudfence.node-restriction.kubernetes.io/drill-reserved-by';

/**
 * Labels whose value may be the machine's id. A Node that is found by such a label must still be proven to belong to
 * the machine.
 */
export const INSTANCE_LABELS = ['cloudfence.dev/instance', 'alpha.eksctl.io/instance-id'] as const;

/**
 * Annotations whose value is the machine's immutable id. A person sets the first one, and Google sets the second one.
 */
export const INSTANCE_ID_ANNOTATIONS = ['cloudfence.dev/instance-id', 'container.googleapis.com/instance_id'] as const;

/** The ConfigMap with which people control Cloudfence in a cluster. Cloudfence can only read it. */
export const SETTINGS = { namespace: 'kube-system', name: 'cloudfence' } as const;
export const PAUSE_KEY = 'pause';

/**
 * The keys with which a person overrides the cap. They contain `lifted` because version 0.1.0 reads and writes them.
 */
export const CAP_OVERRIDE = { until: 'cap-lifted-until', reason: 'cap-lifted-because' } as const;

/** The ConfigMap that counts fences, and its two keys. Only Cloudfence and administrators can write it. */
export const LEDGER = {
  namespace: 'kube-system',
  name: 'cloudfence-ledger',
  fences: 'fences',
  counts: 'counts',
} as const;

export const LEASE_NAMESPACE = 'kube-node-lease';
/** The namespace of Events about objects that have no namespace. */
export const EVENT_NAMESPACE = 'default';
export const EVENT_REPORTER = 'cloudfence.dev';

/** A JSON map from each CSI driver to its id for the machine. */
export const CSI_NODE_IDS = 'csi.volume.kubernetes.io/nodeid';
/** The same id, which external-attacher writes on a VolumeAttachment. */
export const ATTACHED_NODE_ID = 'csi.alpha.kubernetes.io/node-id';
export const MIRROR_POD = 'kubernetes.io/config.mirror';
export const HOSTNAME_LABEL = 'kubernetes.io/hostname';
export const ZONE_LABEL = 'topology.kubernetes.io/zone';
/** The taint of a Node that no cloud controller has initialized yet. */
export const UNINITIALIZED = 'node.cloudprovider.kubernetes.io/uninitialized';
export const CONTROL_PLANE_LABELS = [
  'node-role.kubernetes.io/control-plane',
  'node-role.kubernetes.io/master',
] as const;
