import type { Evidence, MachineId } from './machine.ts';
import type { FenceRecord } from './record.ts';
import type { Reason } from './reason.ts';
import type { Step } from './steps.ts';

/** How one look at one machine ended; `would-…` is how a dry run ends that has taken its steps in thought only. */
export type OutcomeKind = 'fenced' | 'released' | 'would-fence' | 'would-release' | 'waiting' | 'refused' | 'ignored' | 'failed';

export interface StepReport {
  readonly step: Step['do'];
  readonly target: string;
  readonly because: Reason;
  /** Wall clock (epoch ms) when it was sent, and how long it took (ms). */
  readonly at: number;
  readonly ms: number;
  readonly result: 'done' | 'already' | 'dry-run' | 'refused' | 'failed';
  /** What the other side said when it was not done. */
  readonly said: string | null;
}

export interface LeftAlone {
  readonly what: string;
  readonly why: string;
}

export interface Outcome {
  readonly outcome: OutcomeKind;
  readonly reason: Reason;
  readonly machine: MachineId;
  readonly cluster: string | null;
  readonly node: string | null;
  readonly nodeUid: string | null;
  readonly mode: 'taint' | 'delete';
  readonly dryRun: boolean;
  readonly evidence: Evidence;
  /** The machine's boot, as the cloud last told it; null where it did not. */
  readonly generation: string | null;
  /** When this run first read that the machine is off (epoch ms); null when it never did. */
  readonly provenAt: number | null;
  readonly steps: readonly StepReport[];
  readonly left: readonly LeftAlone[];
  /** When waiting, refused until a time that is known, or failed while something else still goes: look again after this many ms. */
  readonly lookAgainIn: number | null;
  /** A failed run may succeed later. */
  readonly retry: boolean;
  /** The fence as last seen, for a Node that may be gone at the next look. */
  readonly record: FenceRecord | null;
}
