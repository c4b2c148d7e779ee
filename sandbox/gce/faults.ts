export interface OperationError {
  readonly code: string;
  readonly status: number;
}

/**
 * An injected failure: an error answer, a page from a server in between, a detach that is accepted but fails, a broken
 * connection, or no answer at all.
 */
export type InjectedFailure =
  | { readonly kind: 'error'; readonly reason: string; readonly status: number }
  | { readonly kind: 'page'; readonly status: number }
  | { readonly kind: 'failing-operation'; readonly error: OperationError }
  | { readonly kind: 'drop' }
  | { readonly kind: 'hang' };

export interface Fault {
  /** The API method that the fault affects, such as `instances.detachDisk`; null means any. */
  readonly method: string | null;
  /** A text that the path of the call must contain. */
  readonly path: string;
  /** Whether the fault happens before or after the call takes effect. */
  readonly when: 'before' | 'after';
  readonly mishap: InjectedFailure;
  /** How many more calls the fault affects. */
  times: number;
}

export const rateLimitError: InjectedFailure = { kind: 'error', reason: 'rateLimitExceeded', status: 403 };
export const unavailable: InjectedFailure = { kind: 'error', reason: 'backendError', status: 503 };
export const forbidden: InjectedFailure = { kind: 'error', reason: 'forbidden', status: 403 };

/** The faults that are waiting for their calls. */
interface FaultyCloud {
  readonly faults: Fault[];
}

export const addFault = (gce: FaultyCloud, fault: Partial<Fault> & Pick<Fault, 'mishap'>): void => {
  gce.faults.push({ method: null, path: '', when: 'before', times: 1, ...fault });
};

/** If a fault matches the call, uses it once. */
export const consumeFault = (
  gce: FaultyCloud,
  when: Fault['when'],
  method: string,
  path: string,
): InjectedFailure | null => {
  const fault = gce.faults.find(
    (one) =>
      one.when === when && one.times > 0 && (one.method === null || one.method === method) && path.includes(one.path),
  );
  if (!fault) return null;
  fault.times -= 1;
  return fault.mishap;
};
