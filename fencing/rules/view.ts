import type { CloudIdentityRules } from '../model/cloud.ts';
import type { AttachmentFacts, SurveyOfClusters, ClusterFacts, VolumeLeft } from '../model/cluster-facts.ts';
import type { Admission } from '../model/ledger.ts';
import type { DiskId, MachineFacts, MachineId, Witness } from '../model/machine.ts';
import type { Policy } from '../model/policy.ts';
import type { FenceRecord } from '../model/record.ts';
import type { Reason } from '../model/reason.ts';
import type { Step } from '../model/steps.ts';

/** The wall clock (epoch ms) is compared with times of other clocks. The monotonic clock (ms) measures durations. */
export interface Moment {
  readonly wall: number;
  readonly mono: number;
}

/** The request of a run: look at this machine, or release its fence. */
export interface Request {
  readonly machine: MachineId;
  readonly intent: 'fence' | 'release';
  /** The reason of a person who has checked the machine and confirms its return. Null otherwise. */
  readonly accepted: string | null;
  /** The reason of a person who states that the machine is off although no cloud can prove it. Null otherwise. */
  readonly vouched: string | null;
}

/**
 * What this run remembers in addition to the latest facts. It is lost at the end of the run. What a later run needs is
 * in the record.
 */
export interface Memory {
  /** The first of the reads that say off for the same generation. */
  readonly firstOff: (Moment & { readonly generation: string | null }) | null;
  /** When this run first saw the machine `stopping` (wall clock, epoch ms), and in which boot. */
  readonly firstStopping: { readonly at: number; readonly generation: string | null } | null;
  readonly witness: Witness | null;
  /** Uids of the attachments whose disks have answered as `witness`, if a fence may have freed other disks. */
  readonly testified: readonly string[];
  /** The kubelet's Lease when it was first read after `firstOff`. Undefined before that. */
  readonly lease: string | null | undefined;
  /** When `lease` was first received (monotonic ms). The kubelet's silence counts from this time. Null before that. */
  readonly leaseSince: number | null;
  /** The Lease when the run first saw it, to detect a renewal. */
  readonly firstLease: string | null | undefined;
  /** Steps taken since the latest look. Their targets are still in the facts. */
  readonly sinceLook: ReadonlySet<string>;
  /**
   * Steps that were rejected since the latest look, while others took effect. They are tried again after the next look.
   */
  readonly failedSinceLook: ReadonlySet<string>;
  /** When each step was last taken (monotonic ms). */
  readonly takenAt: ReadonlyMap<string, number>;
  /** Pods that this run has deleted, by uid: their origin, and when the deletion was requested (monotonic ms). */
  readonly deleted: ReadonlyMap<string, { readonly origin: string; readonly at: number }>;
  /** Since when no pod of the Node uses a volume any more (monotonic ms). */
  readonly unwanted: ReadonlyMap<string, number>;
  /** Keys of the volumes whose disks this run detached through the cloud. */
  readonly detached: ReadonlySet<string>;
  /**
   * Attachments that name the machine, or a Node that had its name, while no Node names the machine. Null until they
   * were found in the list of all attachments.
   */
  readonly attachments: readonly string[] | null;
  /** Volumes that were attached to the machine while no Node named it. */
  readonly volumesLeft: readonly VolumeLeft[];
  /**
   * Steps that were permanently rejected, with their target and the reason. The run continues without them, and its end
   * reports them.
   */
  readonly declined: ReadonlyMap<string, string>;
  /** Whether the list of all attachments was searched for those of this Node. */
  readonly searched: boolean;
  readonly marks: number;
  /**
   * Our out-of-service taint on the Node, in the form of `ownMark`, from the latest read of the cluster. Null if there
   * is none.
   */
  readonly mark: string | null;
  /**
   * Whether the latest read of the machine was requested before this run saw that mark. If so, the mark may be newer
   * than that read.
   */
  readonly markIsNew: boolean;
  /**
   * The fence to which a person's statement applies: the first one that this run saw. Null if that fence had no id.
   * Undefined before that.
   */
  readonly firstFence: string | null | undefined;
  /**
   * The bootID of the Node when this run first saw it. A person's statement applies to that boot. Null if there is no
   * Node. Undefined before that.
   */
  readonly firstBoot: string | null | undefined;
  /** The same boot as the cloud first named it. Null if the cloud did not name it. Undefined before that. */
  readonly firstGeneration: string | null | undefined;
  /** When the command began that may contain a person's statement (monotonic ms). Null if that is not known. */
  readonly statedAt: number | null;
  /** Whether the statement was so old when one of these was first seen that another fence or boot may have begun. */
  readonly isStatementOld: boolean;
  /**
   * Since when this run has seen that our out-of-service taint is not on the Node (monotonic ms), and when it was
   * removed according to the record. Null while the taint is on the Node, and in a run that is not a release.
   */
  readonly untainted: { readonly since: number; readonly released: string | null } | null;
  /** The survey of the other Nodes, and when it was requested (monotonic ms). */
  readonly connectivity: { readonly value: SurveyOfClusters; readonly requestedAt: number } | null;
  /** Whether the cap allows this fence to begin. Null before the run has asked about this boot. */
  readonly admission: Admission | null;
  /** The boot for which the run has asked the cap. Null if the cloud did not name it. */
  readonly admittedBoot: string | null;
  /** The number of looks and reads of single attachments since something last changed. */
  readonly polls: number;
}

export interface View {
  readonly request: Request;
  readonly policy: Policy;
  /** The provider's pure functions that read identities. */
  readonly identityRules: CloudIdentityRules;
  /** A unique id for the fence that may begin. */
  readonly runId: string;
  readonly machine: MachineFacts;
  /** When the latest read of the machine was requested (monotonic ms). */
  readonly machineRequestedAt: number;
  readonly cluster: ClusterFacts;
  /** The record of the fence when this run last saw it. */
  readonly remembered: FenceRecord | null;
  /**
   * Why it is uncertain whether this Node belongs to the machine although it names the machine, or null. If set,
   * Cloudfence only removes its own mark.
   */
  readonly ambiguity: Reason | null;
  readonly memory: Memory;
  readonly now: Moment;
}

/** A step and its reason. */
export interface PlannedStep {
  readonly step: Step;
  readonly because: Reason;
}

/** Attachments that disappear by themselves while their machine is off. Reading one of them is cheaper than a look. */
export interface AwaitedAttachments {
  /** The attachments as last seen. The wait ends when they are gone, or when one reports a new error. */
  readonly attachments: readonly AttachmentFacts[];
  /** The wait also ends if Kubernetes has not begun to delete one of them by this time (monotonic ms). */
  readonly deletedBy: number;
  /**
   * Whether the wait already ends when the first ones are gone, because usually all are gone at the same time. If
   * false, the wait ends when all are gone.
   */
  readonly fewTellAll: boolean;
}

export type Decision =
  /** `alongside`: further steps of the same kind that can be taken concurrently. */
  | { readonly do: 'step'; readonly step: Step; readonly because: Reason; readonly alongside: readonly PlannedStep[] }
  | { readonly do: 'witness'; readonly disks: readonly DiskId[]; readonly because: Reason }
  | { readonly do: 'survey-connectivity'; readonly because: Reason }
  /** Writes the fence to the ledger of the cap, before the fence begins. */
  | { readonly do: 'reserve'; readonly boot: string | null; readonly because: Reason }
  /** Looks again, and searches the list of all attachments. */
  | { readonly do: 'search'; readonly because: Reason }
  /** Reads the machine again, because the state of the Node may be newer than the latest read of the machine. */
  | { readonly do: 'reread'; readonly because: Reason }
  /** `until`: events that may end the wait earlier. Null if only time ends it. */
  | { readonly do: 'wait'; readonly ms: number; readonly because: Reason; readonly until: AwaitedAttachments | null }
  | {
      readonly do: 'end';
      readonly outcome: 'fenced' | 'released' | 'refused' | 'ignored' | 'failed';
      readonly because: Reason;
      readonly lookAgainIn?: number;
    };

/** A rule of the ladder in `decide`. Returns a decision, or null if the rule does not apply. */
export type Rule = (view: View) => Decision | null;

export const takeStep = (step: Step, reason: Reason): Decision => ({
  do: 'step',
  step,
  because: reason,
  alongside: [],
});

/** The maximum number of concurrent calls: few enough for the APIs, and enough for a full Node. */
const MOST_SIDE_BY_SIDE = 24;

/** Takes the first step, concurrently with the following steps of the same kind. Returns null if there is no step. */
export const takeSteps = (planned: readonly PlannedStep[]): Decision | null => {
  const [first, ...others] = planned;
  if (!first) return null;
  const alongside = others.filter(({ step }) => step.do === first.step.do).slice(0, MOST_SIDE_BY_SIDE - 1);
  return { do: 'step', ...first, alongside };
};
export const wait = (ms: number, reason: Reason, until: AwaitedAttachments | null = null): Decision => ({
  do: 'wait',
  ms,
  because: reason,
  until,
});
export const refuse = (reason: Reason): Decision => ({ do: 'end', outcome: 'refused', because: reason });
export const ignore = (reason: Reason): Decision => ({ do: 'end', outcome: 'ignored', because: reason });
export const fail = (reason: Reason): Decision => ({ do: 'end', outcome: 'failed', because: reason });
export const fenced = (reason: Reason): Decision => ({ do: 'end', outcome: 'fenced', because: reason });
export const released = (reason: Reason): Decision => ({ do: 'end', outcome: 'released', because: reason });
