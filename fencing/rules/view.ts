import type { CloudIdentityRules } from '../model/cloud.ts';
import type { AttachmentFacts, SurveyOfClusters, ClusterFacts } from '../model/cluster-facts.ts';
import type { Admission } from '../model/ledger.ts';
import type { DiskId, MachineFacts, MachineId, Witness } from '../model/machine.ts';
import type { Policy } from '../model/policy.ts';
import type { FenceRecord } from '../model/record.ts';
import type { Reason } from '../model/reason.ts';
import type { Step } from '../model/steps.ts';

/** Wall clock (epoch ms) for what other clocks wrote, and monotonic clock (ms) for how long something took. */
export interface Moment {
  readonly wall: number;
  readonly mono: number;
}

/** What is requested: look at this machine now, or release its fence. */
export interface Request {
  readonly machine: MachineId;
  readonly intent: 'fence' | 'release';
  /** The reason of a person who has checked the machine and vouches for its return. Null otherwise. */
  readonly accepted: string | null;
  /** The reason of a person who vouches that the machine is off although no cloud can prove it. Null otherwise. */
  readonly vouched: string | null;
}

/**
 * What this run remembers in addition to the newest facts. It does not outlive the run: what a later run must know is
 * in the record.
 */
export interface Memory {
  /** The first of the off-reads that agree on one generation. */
  readonly firstOff: (Moment & { readonly generation: string | null }) | null;
  /** Wall clock (epoch ms) at which this run first saw the machine `stopping`, in that boot. */
  readonly firstStopping: { readonly at: number; readonly generation: string | null } | null;
  readonly witness: Witness | null;
  /** Uids of the attachments whose disks have answered in `witness`, if a fence may have freed other disks. */
  readonly testified: readonly string[];
  /** The kubelet's Lease, first read after `firstOff`. Undefined until then. */
  readonly lease: string | null | undefined;
  /** When `lease` was first received (monotonic ms). The kubelet's silence counts from then. Null until then. */
  readonly leaseSince: number | null;
  /** The Lease as the run first saw it, to detect a renewal. */
  readonly firstLease: string | null | undefined;
  /** Steps taken since the newest look. Their targets are still in the facts. */
  readonly sinceLook: ReadonlySet<string>;
  /** Steps that were declined since the newest look, while others took effect. They are tried again after a look. */
  readonly failedSinceLook: ReadonlySet<string>;
  /** When each step was last taken (monotonic ms). */
  readonly takenAt: ReadonlyMap<string, number>;
  /** Pods that this run has deleted, by uid: what makes them, and when the deletion was requested (monotonic ms). */
  readonly deleted: ReadonlyMap<string, { readonly origin: string; readonly at: number }>;
  /** Since when no pod of the Node wants a volume any more (monotonic ms). */
  readonly unwanted: ReadonlyMap<string, number>;
  /** Keys of the volumes whose disks this run detached through the cloud. */
  readonly detached: ReadonlySet<string>;
  /** Attachments that name the machine in place of a Node, once they were found in the list of all attachments. */
  readonly attachments: readonly string[] | null;
  /**
   * Steps that were declined for good, with their target and the reason. The run continues without them, and its end
   * names them.
   */
  readonly declined: ReadonlyMap<string, string>;
  /** The list of all attachments was searched for those of this Node. */
  readonly searched: boolean;
  readonly marks: number;
  /** Our out-of-service taint on the Node, in the form of `ownMark`, as the cluster was last read. Null without one. */
  readonly mark: string | null;
  /** The newest read of the machine was requested before this run saw that mark. So the mark may be younger. */
  readonly markIsNew: boolean;
  /**
   * The fence that a person's word is about: the one that this run saw first. Null if that one had no name. Undefined
   * until then.
   */
  readonly firstFence: string | null | undefined;
  /**
   * The bootID of the Node as this run saw it first, if a person vouches that the machine is off: the statement is about
   * that boot. Null without a Node. Undefined until then.
   */
  readonly firstBoot: string | null | undefined;
  /** The same boot as the cloud named it first. Null until then, and in a run without such a statement. */
  readonly firstGeneration: string | null;
  /** The survey of the other Nodes, and when it was requested (monotonic ms). */
  readonly connectivity: { readonly value: SurveyOfClusters; readonly requestedAt: number } | null;
  /** Whether the cap allows this fence to begin. Null until the run has asked about this boot. */
  readonly admission: Admission | null;
  /** The number of looks, and of questions after one attachment, since something last changed. */
  readonly polls: number;
}

export interface View {
  readonly request: Request;
  readonly policy: Policy;
  /** The provider's pure readings. */
  readonly identityRules: CloudIdentityRules;
  /** A fresh identity for a fence that is about to begin. */
  readonly runId: string;
  readonly machine: MachineFacts;
  readonly cluster: ClusterFacts;
  /** The fence as this run last saw it. */
  readonly remembered: FenceRecord | null;
  /**
   * Why this Node may not be the machine's although it names the machine, or null. If set, Cloudfence only lifts its
   * own mark.
   */
  readonly ambiguity: Reason | null;
  readonly memory: Memory;
  readonly now: Moment;
}

/** A step, and why it is taken. */
export interface Act {
  readonly step: Step;
  readonly because: Reason;
}

/** Attachments that go away by themselves while their machine is off. Asking for one of them costs less than a look. */
export interface Awaited {
  /** The attachments as they were seen. The wait ends when they go, or when one reports another error. */
  readonly attachments: readonly AttachmentFacts[];
  /** The wait also ends if Kubernetes has not begun to delete one of them by then (monotonic ms). */
  readonly deletedBy: number;
  /**
   * Whether the first ones that are gone end the wait, because usually all go at once. If not, it ends when all are
   * gone.
   */
  readonly fewTellAll: boolean;
}

export type Decision =
  /** `alongside`: further steps of the same kind that need not wait for each other. */
  | { readonly do: 'step'; readonly step: Step; readonly because: Reason; readonly alongside: readonly Act[] }
  | { readonly do: 'witness'; readonly disks: readonly DiskId[]; readonly because: Reason }
  | { readonly do: 'survey-connectivity'; readonly because: Reason }
  /** Enters the fence in the ledger, where the cap counts, before the fence begins. */
  | { readonly do: 'reserve'; readonly boot: string | null; readonly because: Reason }
  /** Looks again, this time through the list of all attachments. */
  | { readonly do: 'search'; readonly because: Reason }
  /** Reads the machine again, because what the Node shows may be younger than the newest read of the machine. */
  | { readonly do: 'reread'; readonly because: Reason }
  /** `until`: what may end the wait earlier. Null if only time does. */
  | { readonly do: 'wait'; readonly ms: number; readonly because: Reason; readonly until: Awaited | null }
  | {
      readonly do: 'end';
      readonly outcome: 'fenced' | 'released' | 'refused' | 'ignored' | 'failed';
      readonly because: Reason;
      readonly lookAgainIn?: number;
    };

/** One line of the ladder in `decide`. Returns a decision, or null to leave it to the next rule. */
export type Rule = (view: View) => Decision | null;

export const takeStep = (step: Step, reason: Reason): Decision => ({
  do: 'step',
  step,
  because: reason,
  alongside: [],
});

/** The most calls that leave side by side: few enough for the APIs, and enough for a full Node. */
const MOST_SIDE_BY_SIDE = 24;

/** Takes the first steps side by side, as many as are of the kind of the first. Returns null if there is none. */
export const takeSteps = (acts: readonly Act[]): Decision | null => {
  const [first, ...others] = acts;
  if (!first) return null;
  const alongside = others.filter(({ step }) => step.do === first.step.do).slice(0, MOST_SIDE_BY_SIDE - 1);
  return { do: 'step', ...first, alongside };
};
export const wait = (ms: number, reason: Reason, until: Awaited | null = null): Decision => ({
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
