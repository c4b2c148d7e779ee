import type { Outcome, OutcomeKind } from './outcome.ts';

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
  readonly steps: readonly { readonly step: string; readonly target: string; readonly at: string; readonly ms: number; readonly result: string }[];
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
