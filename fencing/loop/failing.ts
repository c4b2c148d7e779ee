import {
  type CloudfenceError,
  InvalidConfiguration,
  InvalidInput,
  PermissionDenied,
  Refused,
  Unexpected,
} from '../model/errors.ts';
import { because, type Reason, type ReasonCode } from '../model/reason.ts';
import type { Moment } from '../rules/view.ts';
import type { Ending, RunState } from './state.ts';

/** How a run reacts to a failed call. */

const FIRST_BACK_OFF_MS = 500;
const LONGEST_BACK_OFF_MS = 8_000;

const backOff = (times: number): number => Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** times);

/** Returns whether repeating the call cannot help. */
export const isPermanent = (error: CloudfenceError): boolean =>
  error instanceof PermissionDenied || error instanceof Unexpected || !error.retry;

const EXPIRIES_BEFORE_A_PAUSE = 2;

/** Makes the run renew the proof immediately. If proofs keep expiring, the run sleeps first. */
export const expired = (state: RunState, now: Moment): RunState => {
  const failures = state.failures + 1;
  const resumeAt = failures > EXPIRIES_BEFORE_A_PAUSE ? now.mono + backOff(failures) : null;
  const pending = {
    outcome: 'waiting' as const,
    reason: because(
      'unavailable',
      'each proof expires before Cloudfence can use it, because the cloud or the cluster responds too slowly',
    ),
    ms: backOff(failures),
  };
  return { ...state, machine: null, cleared: null, failures, resumeAt, pending };
};

const codeOf = (error: CloudfenceError): ReasonCode => {
  if (error instanceof PermissionDenied) return 'denied';
  if (error instanceof Refused) return 'step-refused';
  if (error instanceof Unexpected) return 'unexpected';
  return error instanceof InvalidInput || error instanceof InvalidConfiguration ? 'invalid' : 'unavailable';
};

/** Returns the reason for a caught error. */
export const reasonOf = (error: CloudfenceError): Reason => because(codeOf(error), error.message);

/** Returns the ending of a run that an error ended. */
export const failedEnding = (error: CloudfenceError): Ending => ({
  outcome: 'failed',
  reason: reasonOf(error),
  lookAgainIn: null,
  retry: error.retry,
});

/** Makes the run look again after a pause. The pause grows with the number of consecutive failures (`times`). */
export const tryLater = (state: RunState, error: CloudfenceError, now: Moment, times = state.failures): RunState => {
  const ms = backOff(times);
  return {
    ...state,
    machine: null,
    cluster: null,
    cleared: null,
    failures: state.failures + 1,
    resumeAt: now.mono + ms,
    pending: { outcome: 'failed', reason: reasonOf(error), ms },
    memory: { ...state.memory, sinceLook: new Set(), failedSinceLook: new Set() },
  };
};
