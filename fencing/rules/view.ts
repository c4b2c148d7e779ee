import type { CloudReading } from '../model/cloud.ts';
import type { ConnectivitySurvey, ClusterFacts } from '../model/cluster-facts.ts';
import type { Admission } from '../model/ledger.ts';
import type { DiskId, MachineFacts, MachineId, Witness } from '../model/machine.ts';
import type { Policy } from '../model/policy.ts';
import type { FenceRecord } from '../model/record.ts';
import type { Reason } from '../model/reason.ts';
import type { Step } from '../model/steps.ts';

/** Wall clock (epoch ms) for what other clocks wrote, monotonic clock (ms) for how long something took. */
export interface Moment {
  readonly wall: number;
  readonly mono: number;
}

/** What is asked for: look at this machine now, or take its fence back. */
export interface Request {
  readonly machine: MachineId;
  readonly intent: 'react' | 'release';
  /** The reason of a person who has checked the machine and vouches for its return; null otherwise. */
  readonly accepted: string | null;
  /** The reason of a person who vouches that a machine is off which no cloud can prove off; null otherwise. */
  readonly vouched: string | null;
}

/**
 * What this run remembers beside the newest facts. It does not outlive the run: what a later one must know stands in
 * the record.
 */
export interface Memory {
  /** The first of the off-reads that agree on one generation. */
  readonly firstOff: (Moment & { readonly generation: string | null }) | null;
  /** Wall clock (epoch ms) at which this run first saw the machine `stopping`, in that boot. */
  readonly firstStopping: { readonly at: number; readonly generation: string | null } | null;
  readonly witness: Witness | null;
  /** The kubelet's Lease, first read after `firstOff`; undefined until then. */
  readonly lease: string | null | undefined;
  /** The Lease as the run first saw it, to see a renewal. */
  readonly firstLease: string | null | undefined;
  /** Steps taken since the newest look: their targets still stand in the facts. */
  readonly sinceLook: ReadonlySet<string>;
  /** When a step was last taken (mono ms). */
  readonly asked: ReadonlyMap<string, number>;
  /** Pods that this run has deleted, by uid: what makes them, and when it was asked (mono ms). */
  readonly deleted: ReadonlyMap<string, { readonly origin: string; readonly at: number }>;
  /** Since when a volume is no longer wanted by any pod of the Node (mono ms). */
  readonly unwanted: ReadonlyMap<string, number>;
  /** Keys of volumes whose disks this run detached through the cloud. */
  readonly detached: ReadonlySet<string>;
  /** Attachments that name the machine in the place of a Node, once they have been found in the list of all. */
  readonly attachments: readonly string[] | null;
  /** Steps that were declined for good, with their target and why: what is behind them goes on, and the end says so. */
  readonly declined: ReadonlyMap<string, string>;
  /** The list of all attachments was searched for those of this Node. */
  readonly searched: boolean;
  readonly marks: number;
  readonly census: ConnectivitySurvey | null;
  /** Whether the cap lets this fence begin; null until it was asked about this boot. */
  readonly admission: Admission | null;
  /** Looks since something last changed. */
  readonly polls: number;
}

export interface View {
  readonly request: Request;
  readonly policy: Policy;
  /** The provider's pure readings. */
  readonly reading: CloudReading;
  /** A fresh identity for a fence that is about to begin. */
  readonly runId: string;
  readonly machine: MachineFacts;
  readonly cluster: ClusterFacts;
  /** The fence as last seen by this run. */
  readonly remembered: FenceRecord | null;
  /**
   * Why this Node may not be the machine's although it names it, or null: then nothing but the lifting of our own mark
   * is done.
   */
  readonly ambiguity: Reason | null;
  readonly memory: Memory;
  readonly now: Moment;
}

export type Decision =
  | { readonly do: 'step'; readonly step: Step; readonly because: Reason }
  | { readonly do: 'witness'; readonly disks: readonly DiskId[]; readonly because: Reason }
  | { readonly do: 'census'; readonly because: Reason }
  /** Enter the fence where the cap counts, before it begins. */
  | { readonly do: 'claim'; readonly boot: string | null; readonly because: Reason }
  /** Look again, and this time through the list of all attachments. */
  | { readonly do: 'search'; readonly because: Reason }
  | { readonly do: 'wait'; readonly ms: number; readonly because: Reason }
  | {
      readonly do: 'end';
      readonly outcome: 'fenced' | 'released' | 'refused' | 'ignored' | 'failed';
      readonly because: Reason;
      readonly lookAgainIn?: number;
    };

/** One line of the ladder in `decide`: speaks, or leaves it to the next. */
export type Rule = (view: View) => Decision | null;

export const take = (step: Step, reason: Reason): Decision => ({ do: 'step', step, because: reason });
export const wait = (ms: number, reason: Reason): Decision => ({ do: 'wait', ms, because: reason });
export const refuse = (reason: Reason): Decision => ({ do: 'end', outcome: 'refused', because: reason });
export const ignore = (reason: Reason): Decision => ({ do: 'end', outcome: 'ignored', because: reason });
export const fail = (reason: Reason): Decision => ({ do: 'end', outcome: 'failed', because: reason });
export const fenced = (reason: Reason): Decision => ({ do: 'end', outcome: 'fenced', because: reason });
export const released = (reason: Reason): Decision => ({ do: 'end', outcome: 'released', because: reason });
