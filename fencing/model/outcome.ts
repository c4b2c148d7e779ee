import type { Evidence, MachineId } from './machine.ts';
import type { Reason } from './reason.ts';
import type { FenceRecord } from './record.ts';
import type { PodTarget, Step } from './steps.ts';

/** How one run about one machine ended. A dry run, which only simulates its steps, ends with `would-…`. */
export type OutcomeKind =
  | 'fenced'
  | 'released'
  | 'would-fence'
  | 'would-release'
  | 'waiting'
  | 'refused'
  | 'ignored'
  | 'failed';

/** A pod that a run deleted, and whether it used a volume. People look for pods with volumes first. */
export interface DeletedPod extends PodTarget {
  readonly hasVolume: boolean;
}

export interface StepReport {
  readonly step: Step['do'];
  readonly target: string;
  readonly because: Reason;
  /** When the step was sent (wall clock, epoch ms), and how long it took (ms). */
  readonly at: number;
  readonly ms: number;
  readonly result: 'done' | 'already' | 'dry-run' | 'refused' | 'failed';
  /** The answer of the API server or the cloud if the step was not done. */
  readonly message: string | null;
  /** The pod, if this step deleted one. */
  readonly pod?: DeletedPod;
}

export interface Untouched {
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
  /** Whether the request asked for a dry run, and whether the install is in shadow mode. */
  readonly dryRun: boolean;
  readonly shadow: boolean;
  readonly evidence: Evidence;
  /** The machine's boot, as the cloud last reported it. Null if the cloud did not report it. */
  readonly generation: string | null;
  /** When this run first read that the machine is off (epoch ms). Null if it never did. */
  readonly provenAt: number | null;
  readonly steps: readonly StepReport[];
  readonly left: readonly Untouched[];
  /**
   * The time (ms) after which another run should look. Set if the run waits, if it is refused until a known time, or if
   * it failed while something else is still in progress.
   */
  readonly lookAgainIn: number | null;
  /** Whether a later retry of a failed run may succeed. */
  readonly retry: boolean;
  /** The record as last read. The Node may be gone at the next look. */
  readonly record: FenceRecord | null;
}

/**
 * Returns whether the outcome only describes what Cloudfence would do. In shadow mode, the run may still have removed
 * something that Cloudfence left.
 */
export const isSimulated = ({
  outcome,
  dryRun,
  shadow,
  steps,
}: Pick<Outcome, 'outcome' | 'dryRun' | 'shadow' | 'steps'>): boolean =>
  dryRun ||
  outcome === 'would-fence' ||
  outcome === 'would-release' ||
  (shadow && steps.every(({ result }) => result === 'dry-run'));

/** The one answer that the CLI and the functions give for one machine. `docs/cli.md` documents it. */
export interface OutcomeJson {
  readonly outcome: OutcomeKind;
  /** `code: sentence`. The codes are stable. */
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
  dryRun: isSimulated(outcome),
  evidence: outcome.evidence,
  steps: outcome.steps.map(({ step, target, at, ms, result, message }) => ({
    step,
    target,
    at: new Date(at).toISOString(),
    ms,
    result: message === null ? result : `${result}: ${message}`,
  })),
  left: outcome.left,
});
