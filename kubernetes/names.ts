/**
 * The keys under which Cloudfence reads and writes, and the well-known ones that it meets. One place, so that docs and
 * RBAC can quote it.
 */

/** Kubernetes looks at the key only. Our value names the fence and the boot; node-facts.ts reads it. */
export const OUT_OF_SERVICE = { key: 'node.kubernetes.io/out-of-service', effect: 'NoSchedule' } as const;
/** What everybody else writes as its value, and what earlier versions wrote. */
export const OUT_OF_SERVICE_VALUE = 'nodeshutdown';
export const QUARANTINE = { key: 'cloudfence.dev/quarantine', value: 'fenced', effect: 'NoSchedule' } as const;

/**
 * Under `node-restriction.kubernetes.io/`, where a kubelet may not write. The value names the fence; node-facts.ts
 * reads it.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
 */
export const FENCED_LABEL = 'cloudfence.node-restriction.kubernetes.io/fenced';
/** What earlier versions wrote as the label's value. */
export const FENCED_BEFORE = 'true';
/**
 * The out-of-service taint on this Node is ours. It has the taint's own value, and goes with the taint, in one write:
 * whoever takes the one off alone leaves a trace.
 */
export const TAINT_LABEL = 'cloudfence.node-restriction.kubernetes.io/out-of-service';

/** When the machine was first seen `stopping`, where its cloud gives no time: the value names the time and the boot. */
export const STOPPING_LABEL = 'cloudfence.node-restriction.kubernetes.io/stopping';

export const RECORD_ANNOTATION = 'cloudfence.dev/fence';
export const OPT_OUT_ANNOTATION = 'cloudfence.dev/opt-out';
/** On a Node, where no kubelet may write. */
export const OPT_OUT_LABEL = 'cloudfence.node-restriction.kubernetes.io/opt-out';
export const NUDGE_ANNOTATION = 'cloudfence.dev/nudge';

/** Labels whose value may be the machine's id; found by them, a Node still has to prove it. */
export const INSTANCE_LABELS = ['cloudfence.dev/instance', 'alpha.eksctl.io/instance-id'] as const;

/** Annotations whose value is the machine's immutable id: a person's word, and Google's. */
export const INSTANCE_ID_ANNOTATIONS = ['cloudfence.dev/instance-id', 'container.googleapis.com/instance_id'] as const;

/** Where the people who run the cluster switch Cloudfence: it may only read this. */
export const SETTINGS = { namespace: 'kube-system', name: 'cloudfence' } as const;
export const PAUSE_KEY = 'pause';
export const CAP_LIFT = { until: 'cap-lifted-until', reason: 'cap-lifted-because' } as const;

/** Where fences are counted: only Cloudfence, and administrators, may write this. */
export const LEDGER = { namespace: 'kube-system', name: 'cloudfence-ledger', key: 'fences' } as const;

export const LEASE_NAMESPACE = 'kube-node-lease';
/** Events about objects without a namespace are kept here. */
export const EVENT_NAMESPACE = 'default';
export const REPORTER = 'cloudfence.dev';

/** A JSON map from CSI driver to the id under which the driver knows the machine. */
export const CSI_NODE_IDS = 'csi.volume.kubernetes.io/nodeid';
/** The same id, as external-attacher notes it on a VolumeAttachment. */
export const ATTACHED_NODE_ID = 'csi.alpha.kubernetes.io/node-id';
export const MIRROR_POD = 'kubernetes.io/config.mirror';
export const ZONE_LABEL = 'topology.kubernetes.io/zone';
export const CONTROL_PLANE_LABELS = [
  'node-role.kubernetes.io/control-plane',
  'node-role.kubernetes.io/master',
] as const;
