/** An injected failure of a call: an error response, a broken connection, or no response at all. */
export type InjectedFailure =
  | { readonly kind: 'error'; readonly code: string; readonly status: number }
  | { readonly kind: 'drop' }
  | { readonly kind: 'hang' };

export interface Fault {
  /** The call that fails, such as `machine.get` or `machine.attachDetachDataDisks`; null means any. */
  readonly call: string | null;
  /** A part that the path of the call must contain, in lower case. */
  readonly path: string;
  /** Whether the fault happens before or after the call takes effect. */
  readonly when: 'before' | 'after';
  readonly mishap: InjectedFailure;
  /** How many more calls the fault affects. */
  times: number;
}

export const throttled: InjectedFailure = { kind: 'error', code: 'TooManyRequests', status: 429 };

/** The faults that are waiting for their calls. */
interface FaultyCloud {
  readonly faults: Fault[];
}

export const addFault = (azure: FaultyCloud, fault: Partial<Fault> & Pick<Fault, 'mishap'>): void => {
  azure.faults.push({ call: null, path: '', when: 'before', times: 1, ...fault });
};

export interface FaultyCall {
  readonly call: string;
  readonly path: string;
}

/** If a fault matches the call, uses it once. */
export const consumeFault = (
  azure: FaultyCloud,
  when: Fault['when'],
  { call, path }: FaultyCall,
): InjectedFailure | null => {
  const fits = (fault: Fault): boolean =>
    fault.when === when && fault.times > 0 && (fault.call === null || fault.call === call) && path.includes(fault.path);
  const fault = azure.faults.find(fits);
  if (!fault) return null;
  fault.times -= 1;
  return fault.mishap;
};
