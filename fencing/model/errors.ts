/**
 * The base of the one error hierarchy. `retry` says whether the same call may succeed later. `cause` always carries
 * what was caught, so no layer has to repeat another layer's message.
 */
export abstract class CloudfenceError extends Error {
  abstract readonly retry: boolean;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An event, a record, or an argument that can never be understood, however often it is read. */
export class InvalidInput extends CloudfenceError {
  readonly retry = false;
}

/** A configuration that cannot be used. `faults` names everything that is wrong with it, not only the first fault. */
export class InvalidConfiguration extends CloudfenceError {
  readonly retry = false;
  readonly faults: readonly string[];

  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(`the configuration is not valid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`, options);
    this.faults = faults;
  }
}

/** The other side throttled the call, timed out, was unreachable, or failed. Try again later. */
export class Unavailable extends CloudfenceError {
  readonly retry = true;
}

/** A cluster is unavailable. Its Nodes are unknown, not fine, and people should be told. */
export class ClusterUnavailable extends Unavailable {}

/**
 * Credentials or permissions are missing. A retry may succeed, because grants take effect late. It always deserves an
 * alarm.
 */
export class Denied extends CloudfenceError {
  readonly retry = true;
}

/**
 * The other side refuses this call for a reason that another look will show, such as a precondition or a wrong state.
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
  const said = caught instanceof Error ? `${caught.name}: ${caught.message}` : typeof caught;
  return (said.split('\n', 1)[0] ?? '').slice(0, LONGEST);
};

/** Returns whatever was caught as an error of the hierarchy. */
export const asCloudfenceError = (caught: unknown): CloudfenceError =>
  caught instanceof CloudfenceError
    ? caught
    : new Unexpected(`Cloudfence failed unexpectedly: ${inOneLine(caught)}`, { cause: caught });
