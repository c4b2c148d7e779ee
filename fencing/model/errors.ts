import { shorten } from './reason.ts';

/**
 * Limits the length of an error's message (characters), because foreign input determines some of its text, and logs
 * contain it.
 */
const LONGEST_MESSAGE = 10_000;
const LONGEST_FAULT = 1_000;
const MOST_FAULTS = 50;

const fewFaults = (faults: readonly string[]): readonly string[] => {
  const few = faults.slice(0, MOST_FAULTS).map((fault) => shorten(fault, LONGEST_FAULT));
  return faults.length > MOST_FAULTS ? [...few, `${faults.length - MOST_FAULTS} more faults`] : few;
};

/**
 * The base class of all errors. `retry`: whether the same call may succeed later. `cause` always contains the caught
 * error, so no layer has to repeat another layer's message.
 */
export abstract class CloudfenceError extends Error {
  abstract readonly retry: boolean;

  constructor(message: string, options?: ErrorOptions) {
    super(shorten(message, LONGEST_MESSAGE), options);
    this.name = new.target.name;
  }
}

/** An event, a record, or an argument that is invalid, so a retry cannot help. */
export class InvalidInput extends CloudfenceError {
  readonly retry = false;
}

/** A configuration that cannot be used. `faults` lists all faults, not only the first one. */
export class InvalidConfiguration extends CloudfenceError {
  readonly retry = false;
  readonly faults: readonly string[];

  constructor(faults: readonly string[], options?: ErrorOptions) {
    const few = fewFaults(faults);
    super(`the configuration is not valid:\n${few.map((fault) => `  - ${fault}`).join('\n')}`, options);
    this.faults = few;
  }
}

/** The other side throttled the call, timed out, was unreachable, or failed. Try again later. */
export class Unavailable extends CloudfenceError {
  readonly retry = true;
}

/** The cloud throttled the call, because it gets too many calls from Cloudfence or from others. */
export class Throttled extends Unavailable {}

/** A cluster is unavailable. The state of its Nodes is unknown, and people should be alerted. */
export class ClusterUnavailable extends Unavailable {}

/**
 * This caller may not make the call, because credentials or permissions are missing (401 or 403). A retry may succeed,
 * because new grants take effect late. It should always cause an alarm. A call that
 * breaks a precondition is `Refused` instead.
 */
export class PermissionDenied extends CloudfenceError {
  readonly retry = true;
}

/**
 * The call was refused for a reason that does not depend on the caller, such as a precondition or a wrong state.
 * Another look shows the reason. Compare `PermissionDenied`.
 */
export class Refused extends CloudfenceError {
  readonly retry = true;
}

/** Cloudfence did not send a destructive call because its proof was too old. */
export class ProofExpired extends CloudfenceError {
  readonly retry = true;
}

/** An internal fault, or an unexpected answer. It ends only the work in which it happened. */
export class Unexpected extends CloudfenceError {
  readonly retry = true;
}

const LONGEST = 200;

/** Returns the message as one sentence. The stack stays in the cause. */
const inOneLine = (caught: unknown): string => {
  const text = caught instanceof Error ? `${caught.name}: ${caught.message}` : typeof caught;
  return shorten(text.split('\n', 1)[0] ?? '', LONGEST);
};

/** Converts any caught value into an error of this hierarchy. */
export const asCloudfenceError = (caught: unknown): CloudfenceError =>
  caught instanceof CloudfenceError
    ? caught
    : new Unexpected(`Cloudfence failed unexpectedly: ${inOneLine(caught)}`, { cause: caught });
