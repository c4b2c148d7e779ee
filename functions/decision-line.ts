import type { Answer } from '../fencing/learn.ts';
import type { Known } from '../fencing/known.ts';
import type { Command } from '../fencing/next.ts';
import type { Outcome } from '../fencing/outcome.ts';

/** One JSON line for each step and each end, under the same names everywhere. Never a secret, never the environment. */
export interface DecisionLine {
  readonly instance: string;
  readonly cluster: string | null;
  readonly node: string | null;
  readonly decision: string;
  readonly because: string;
  readonly says: string;
  readonly dryRun: boolean;
  readonly step?: string;
  readonly target?: string;
  readonly result?: string;
  readonly ms?: number;
}

export const stepLine = (command: Command, _answer: Answer, known: Known): DecisionLine | null => {
  const step = known.steps.at(-1);
  if ((command.do !== 'act' && command.do !== 'imagine') || !step) return null;
  return {
    instance: known.request.machine,
    cluster: known.place?.cluster ?? null,
    node: known.place?.node ?? null,
    decision: 'step',
    because: step.because.code,
    says: step.said ?? step.because.says,
    dryRun: known.policy.dryRun,
    step: step.step,
    target: step.target,
    result: step.result,
    ms: step.ms,
  };
};

export const outcomeLine = (outcome: Outcome): DecisionLine => ({
  instance: outcome.machine,
  cluster: outcome.cluster,
  node: outcome.node,
  decision: outcome.outcome,
  because: outcome.reason.code,
  says: outcome.reason.says,
  dryRun: outcome.dryRun,
});
