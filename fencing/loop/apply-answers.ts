import type { StepResult } from '../model/cluster.ts';
import { CloudfenceError, PermissionDenied, ProofExpired, Refused } from '../model/errors.ts';
import { stepKey, stepProperties } from '../model/steps.ts';
import type { Act, Moment } from '../rules/view.ts';
import { applyStepError, applyStepResult } from './apply-step.ts';
import { expired, failedEnding, isPermanent, tryLater } from './failing.ts';
import { actsOf, type Command } from './next-command.ts';
import type { RunState } from './state.ts';

/** The answer to one step: its result, or why there is none. */
export type StepAnswer = StepResult | CloudfenceError;

interface Failed {
  readonly act: Act;
  readonly error: CloudfenceError;
}

/**
 * Returns the run state after the steps of a command, each with its own answer. The steps are of one kind, so all of
 * them depend on the facts before the command, and leave the same facts valid.
 */
export const applyAnswers = (
  state: RunState,
  command: Extract<Command, { do: 'act' }>,
  { answers, sentAt }: { readonly answers: readonly StepAnswer[]; readonly sentAt: Moment },
  now: Moment,
): RunState => {
  const { machine, cluster } = state;
  const failed: Failed[] = [];
  let after = state;
  actsOf(command).forEach((act, nth) => {
    const answer = answers[nth];
    if (answer instanceof CloudfenceError) failed.push({ act, error: answer });
    else if (answer !== undefined) after = applyStepResult({ ...after, machine, cluster }, act, answer, sentAt, now);
  });
  if (failed.length === 0) return after;
  return failed.length < answers.length ? goOn(after, failed, sentAt, now) : allFailed(after, failed, sentAt, now);
};

const withErrors = (state: RunState, failed: readonly Failed[], sentAt: Moment, now: Moment): RunState =>
  failed.reduce((after, { act, error }) => applyStepError(after, act, error, sentAt, now), state);

/** Leaves out calls that were not sent: nothing is learned from them, and the next command sends them. */
const sentOf = (failed: readonly Failed[]): readonly Failed[] =>
  failed.filter(({ error }) => !(error instanceof ProofExpired));

const isAboutItsObject = ({ error }: Failed): boolean => error instanceof Refused || error instanceof PermissionDenied;

/**
 * Returns the run state if other steps took effect. Steps whose own objects declined them are tried again after the
 * next look, and do not hold up the rest.
 */
const goOn = (state: RunState, failed: readonly Failed[], sentAt: Moment, now: Moment): RunState => {
  const sent = sentOf(failed);
  const after = withErrors({ ...state, cleared: null }, sent, sentAt, now);
  const other = sent.find((one) => !isAboutItsObject(one));
  if (other) return tryLater(after, other.error, now);
  const failedSinceLook = new Set([...after.memory.failedSinceLook, ...sent.map(({ act }) => stepKey(act.step))]);
  return { ...after, memory: { ...after.memory, failedSinceLook } };
};

const allFailed = (state: RunState, failed: readonly Failed[], sentAt: Moment, now: Moment): RunState => {
  const sent = sentOf(failed);
  const [first] = sent;
  if (!first) return expired(state, now);
  const after = withErrors(state, sent, sentAt, now);
  if (after.ending) return after;
  const hopeless = sent.find(({ act, error }) => isPermanent(error) && !stepProperties[act.step.do].perObject);
  if (hopeless) return { ...after, ending: failedEnding(hopeless.error) };
  const refusals = sent.map(({ act }) => after.refusals.get(stepKey(act.step)) ?? 0);
  return tryLater(after, first.error, now, Math.max(...refusals) || after.failures);
};
