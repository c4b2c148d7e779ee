import { shorten } from './reason.ts';

/** Limits what an error says (characters), because others decide on some of its words, and it appears in logs. */
const LONGEST_MESSAGE = 10_000;
const LONGEST_FAULT = 1_000;
const MOST_FAULTS = 50;

const fewFaults = (faults: readonly string[]): readonly string[] => {
  const few = faults.slice(0, MOST_FAULTS).map((fault) => shorten(fault, LONGEST_FAULT));
  return faults.length > MOST_FAULTS ? [...few, `${faults.length - MOST_FAULTS} more faults`] : few;
};

/**
 * The base of the one error hierarchy. `retry` says whether the same call may succeed later. `cause` always carries
 * what was caught, so no layer has to repeat another layer's message.
 */
export abstract class CloudfenceError extends Error {
  abstract readonly retry: boolean;

  constructor(message: string, options?: ErrorOptions) {
    super(shorten(message, LONGEST_MESSAGE), options);
    this.name = new.target.name;
  }
}

/** An event, a record, or an argument that can never be understood, however often it is read. */
export class InvalidInput extends CloudfenceError {
  readonly retry = false;
}

/** A configuration that cannot be used. `faults` names what is wrong with it, not only the first fault. */
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

/** The cloud declined the call because it gets too many of them, ours or other people's. */
export class Throttled extends Unavailable {}

/** A cluster is unavailable. Its Nodes are unknown, not fine, and people should be told. */
export class ClusterUnavailable extends Unavailable {}

/**
 * The other side does not let *us* make this call: credentials or permissions are missing (401 or 403). A retry may
 * succeed, because grants take effect late. It always deserves an alarm. Compare `Refused`.
 */
export class PermissionDenied extends CloudfenceError {
  readonly retry = true;
}

/**
 * The other side refuses *this call* from any caller, for a reason that another look will show, such as a precondition
 * or a wrong state. Compare `PermissionDenied`.
 */
export class Refused extends CloudfenceError {
  readonly retry = true;
}

/** Cloudfence held back a destructive call because its proof was too old. Nothing left this process. */
export class ProofExpired extends CloudfenceError {
  readonly retry = true;
}

/** An internal fault, or an unexpected answer. It ends the work in which it happened, and nothing else. */
export class Unexpected extends CloudfenceError {
  readonly retry = true;
}

const LONGEST = 200;

/** Returns one sentence. The stack stays with the cause. */
const inOneLine = (caught: unknown): string => {
  const text = caught instanceof Error ? `${caught.name}: ${caught.message}` : typeof caught;
  return shorten(text.split('\n', 1)[0] ?? '', LONGEST);
};

/** Returns whatever was caught as an error of the hierarchy. */
export const asCloudfenceError = (caught: unknown): CloudfenceError =>
  caught instanceof CloudfenceError
    ? caught
    : new Unexpected(`Cloudfence failed unexpectedly: ${inOneLine(caught)}`, { cause: caught });
