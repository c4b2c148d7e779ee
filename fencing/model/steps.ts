import type { DiskId, MachineTarget } from './machine.ts';
import type { FirstStopping, NodeFacts, Tombstone } from './cluster-facts.ts';
import type { FenceRecord } from './record.ts';

/** All writes of Cloudfence. Each step is one call. It is idempotent, and contains its preconditions. */

/** The Node as it was seen. Each write tests the values that it needs. */
export interface NodeTarget {
  readonly name: string;
  readonly uid: string;
  readonly bootID: string;
  readonly resourceVersion: string;
  /** The annotation as it was read. The write fails if someone else has written the annotation since. */
  readonly recordText: string | null;
  /** Our label as it was read. */
  readonly label: string | null;
  /** Whether the Node was in quarantine when it was read. A mark must not restore what someone has removed since. */
  readonly quarantined: boolean;
  /** `NodeFacts.unmatchedSeal` as it was read. A change shows another record, whatever a kubelet restores. */
  readonly unmatchedSeal: string | null;
}

export interface PodTarget {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface AttachmentTarget {
  readonly name: string;
  readonly uid: string;
}

export type ClusterStep =
  /**
   * Writes the taints, the label, and the record in one conditional patch. The fence begins, or begins again with a new
   * record.
   */
  | { readonly do: 'mark'; readonly node: NodeTarget; readonly record: FenceRecord; readonly addOutOfService: boolean }
  /** Writes only the record. */
  | { readonly do: 'note'; readonly node: NodeTarget; readonly record: FenceRecord }
  | { readonly do: 'fail-pod'; readonly pod: PodTarget }
  | { readonly do: 'delete-pod'; readonly pod: PodTarget }
  | { readonly do: 'delete-attachment'; readonly attachment: AttachmentTarget }
  | { readonly do: 'nudge'; readonly attachment: AttachmentTarget; readonly on: boolean }
  | { readonly do: 'delete-node'; readonly node: NodeTarget }
  /** Removes our out-of-service taint, because its work is done. The quarantine stays. */
  | { readonly do: 'park'; readonly node: NodeTarget; readonly record: FenceRecord }
  /**
   * Removes our out-of-service taint, because the machine is no longer proven off or a person releases the fence. The
   * quarantine stays. `record` is null if the record is lost. Then only the taint is removed. If the Node has no room
   * for the new record, the present one is made invalid, and counts as lost.
   */
  | { readonly do: 'lift-out-of-service'; readonly node: NodeTarget; readonly record: FenceRecord | null }
  /**
   * Ends the release: removes the quarantine taint, the labels, and the record. `tombstone` names the boot in which the
   * Node must not be fenced again, or is null.
   */
  | {
      readonly do: 'release-node';
      readonly node: NodeTarget;
      readonly record: FenceRecord;
      readonly tombstone: Tombstone | null;
    }
  /**
   * Writes the tombstone label, which no kubelet can write: someone else removed the fence in this boot. Null removes
   * the tombstone of an earlier boot.
   */
  | { readonly do: 'set-tombstone'; readonly node: NodeTarget; readonly tombstone: Tombstone | null }
  /**
   * Writes a label, which no kubelet can write, with the time at which the machine was first seen `stopping`. Null
   * removes the note.
   */
  | { readonly do: 'note-stopping'; readonly node: NodeTarget; readonly stopping: FirstStopping | null };

export type CloudStep =
  | {
      readonly do: 'detach-disk';
      readonly from: MachineTarget;
      readonly disk: DiskId;
      readonly mode: 'plain' | 'forced';
    }
  | { readonly do: 'power-off'; readonly target: MachineTarget };

export type Step = ClusterStep | CloudStep;

/** The properties that all steps of a kind share. */
export interface StepProperties {
  /**
   * The step would destroy something if the machine were not off. All other steps only write Cloudfence's own data,
   * under preconditions.
   */
  readonly destructive: boolean;
  /** The step is about one pod, attachment, or disk. If one of them is rejected, the run still does the others. */
  readonly perObject: boolean;
  /**
   * What has to be read again after the step. Deletes of pods need no new look: one look is sufficient for all of them.
   */
  readonly makesStale: 'nothing' | 'its Node' | 'the cluster' | 'everything';
  /** What happens to the fence's record. */
  readonly record: 'stays' | 'is written' | 'is gone';
  /** How the run ends after the step. Null if there is more to look at after the step. */
  readonly ends: 'fenced' | 'released' | null;
  /**
   * The step only removes what Cloudfence set on the Node, so that a machine that may run can be used again. It needs
   * no proof that the machine is off.
   */
  readonly releases: boolean;
}

const nodeStepDefaults: StepProperties = {
  destructive: false,
  perObject: false,
  makesStale: 'the cluster',
  record: 'stays',
  ends: null,
  releases: false,
};
const podStep: StepProperties = {
  destructive: true,
  perObject: true,
  makesStale: 'nothing',
  record: 'stays',
  ends: null,
  releases: false,
};
const inCloud: StepProperties = {
  destructive: true,
  perObject: false,
  makesStale: 'everything',
  record: 'stays',
  ends: null,
  releases: false,
};

export const stepProperties: Readonly<Record<Step['do'], StepProperties>> = {
  mark: { ...nodeStepDefaults, destructive: true, makesStale: 'its Node', record: 'is written' },
  note: { ...nodeStepDefaults, record: 'is written' },
  'fail-pod': podStep,
  'delete-pod': podStep,
  'delete-attachment': { ...nodeStepDefaults, destructive: true, perObject: true },
  nudge: { ...nodeStepDefaults, perObject: true },
  'delete-node': { ...nodeStepDefaults, destructive: true, ends: 'fenced' },
  park: { ...nodeStepDefaults, makesStale: 'its Node', record: 'is written' },
  'lift-out-of-service': { ...nodeStepDefaults, record: 'is written', releases: true },
  'release-node': { ...nodeStepDefaults, record: 'is gone', ends: 'released', releases: true },
  'set-tombstone': nodeStepDefaults,
  'note-stopping': nodeStepDefaults,
  'detach-disk': { ...inCloud, perObject: true },
  'power-off': inCloud,
};

/**
 * Returns whether the step only removes what Cloudfence wrote on this Node. This includes the end of a fence while our
 * taint is on the Node, and the correction of the time at which Cloudfence removed it: a release waits for that time.
 */
export const isOnlyCleanup = (step: Step, node: Pick<NodeFacts, 'taints' | 'record'> | null): boolean => {
  switch (step.do) {
    case 'park':
      return node?.taints.ours === true;
    case 'note':
      return step.record.released !== (node?.record?.released ?? null);
    case 'set-tombstone':
      return step.tombstone === null;
    case 'note-stopping':
      return step.stopping === null;
    case 'nudge':
      return !step.on;
    default:
      return stepProperties[step.do].releases;
  }
};

/** Describes the step's target for step lists and logs. */
export const describeTarget = (step: Step): string => {
  if ('node' in step) return `node/${step.node.name}`;
  if ('pod' in step) return `pod/${step.pod.namespace}/${step.pod.name}`;
  if ('attachment' in step) return `volumeattachment/${step.attachment.name}`;
  return step.do === 'detach-disk' ? `disk/${step.disk}` : `machine/${step.target.machine}`;
};

/** Returns the key of the mark on this Node. */
export const markKey = ({ uid }: { readonly uid: string }): string => `mark ${uid}`;

/** Returns a key that identifies the effect of a step on its object. The same step always has the same key. */
export const stepKey = (step: Step): string => {
  if (step.do === 'mark') return markKey(step.node);
  if ('node' in step) return `${step.do} ${step.node.uid}`;
  if ('pod' in step) return `${step.do} ${step.pod.uid}`;
  switch (step.do) {
    case 'delete-attachment':
      return `${step.do} ${step.attachment.uid}`;
    case 'nudge':
      return `${step.do} ${step.attachment.uid} ${step.on ? 'on' : 'off'}`;
    case 'detach-disk':
      return `${step.do} ${step.from.machine} ${step.disk} ${step.mode}`;
    case 'power-off':
      return `${step.do} ${step.target.machine}`;
  }
};
