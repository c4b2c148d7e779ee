import type { Evidence, MachineId } from './machine.ts';
import type { Reason } from './reason.ts';
import type { FenceRecord } from './record.ts';
import type { Step } from './steps.ts';

/** How one look at one machine ended; `would-…` is how a dry run ends that has taken its steps in thought only. */
export type OutcomeKind =
  | 'fenced'
  | 'released'
  | 'would-fence'
  | 'would-release'
  | 'waiting'
  | 'refused'
  | 'ignored'
  | 'failed';

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
  /**
   * When waiting, refused until a time that is known, or failed while something else still goes: look again after this
   * many ms.
   */
  readonly lookAgainIn: number | null;
  /** A failed run may succeed later. */
  readonly retry: boolean;
  /** The fence as last seen, for a Node that may be gone at the next look. */
  readonly record: FenceRecord | null;
}

/** The one answer that CLI and functions give for one machine; documented in `docs/cli.md`. */
export interface OutcomeJson {
  readonly outcome: OutcomeKind;
  /** `code: sentence`; the codes are stable. */
  readonly reason: string;
  readonly cluster: string | null;
  readonly node: string | null;
  readonly instance: string;
  readonly mode: 'taint' | 'delete';
  readonly dryRun: boolean;
  readonly evidence: Readonly<Record<string, string>>;
  readonly steps: readonly {
    readonly step: string;
    readonly target: string;
    readonly at: string;
    readonly ms: number;
    readonly result: string;
  }[];
  readonly left: readonly { readonly what: string; readonly why: string }[];
}

export const outcomeJson = (outcome: Outcome): OutcomeJson => ({
  outcome: outcome.outcome,
  reason: `${outcome.reason.code}: ${outcome.reason.says}`,
  cluster: outcome.cluster,
  node: outcome.node,
  instance: outcome.machine,
  mode: outcome.mode,
  dryRun: outcome.dryRun,
  evidence: outcome.evidence,
  steps: outcome.steps.map(({ step, target, at, ms, result, said }) => ({
    step,
    target,
    at: new Date(at).toISOString(),
    ms,
    result: said === null ? result : `${result}: ${said}`,
  })),
  left: outcome.left,
});
