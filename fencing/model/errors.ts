/**
 * The one error hierarchy. `retry` tells a caller whether the same call may succeed later;
 * `cause` always carries what was caught, so no layer has to repeat another's words.
 */
export abstract class CloudfenceError extends Error {
  abstract readonly retry: boolean;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An event, record or argument that can never be understood, however often it is read. */
export class InvalidInput extends CloudfenceError {
  readonly retry = false;
}

/** A configuration that cannot be used; `faults` names all that is wrong with it, not only the first. */
export class InvalidConfiguration extends CloudfenceError {
  readonly retry = false;
  readonly faults: readonly string[];

  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(`the configuration cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`, options);
    this.faults = faults;
  }
}

/** Throttled, timed out, unreachable, or a fault of the other side: try again later. */
export class Unavailable extends CloudfenceError {
  readonly retry = true;
}

/** The same of a cluster: its nodes are unknown, not fine, and somebody should hear of it. */
export class ClusterUnavailable extends Unavailable {}

/** Credentials or permissions are missing. Worth a retry (grants arrive late) and always an alarm. */
export class Denied extends CloudfenceError {
  readonly retry = true;
}

/** The other side refuses this call for a reason that looking again will show (a precondition, a wrong state). */
export class Refused extends CloudfenceError {
  readonly retry = true;
}

/** A destructive call was held back because the proof behind it had grown too old. Nothing left this process. */
export class ProofExpired extends CloudfenceError {
  readonly retry = true;
}

/** A fault of our own, or an answer that nobody thought of: it ends what it happened in, and nothing beside it. */
export class Unexpected extends CloudfenceError {
  readonly retry = true;
}

const LONGEST = 200;

/** One sentence; the stack stays with the cause. */
const inOneLine = (caught: unknown): string => {
  const said = caught instanceof Error ? `${caught.name}: ${caught.message}` : typeof caught;
  return (said.split('\n', 1)[0] ?? '').slice(0, LONGEST);
};

/** Whatever was caught, as an error of the hierarchy. */
export const inHierarchy = (caught: unknown): CloudfenceError =>
  caught instanceof CloudfenceError
    ? caught
    : new Unexpected(`an unexpected fault ended this: ${inOneLine(caught)}`, { cause: caught });
