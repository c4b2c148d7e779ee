/** An injected failure of a call: an error response, a broken connection, or no response at all. */
export type InjectedFailure =
  | { readonly kind: 'error'; readonly code: string; readonly status: number }
  | { readonly kind: 'drop' }
  | { readonly kind: 'hang' };

export interface Fault {
  /** The API action that the fault affects; null means any. */
  readonly action: string | null;
  /** Parameters that the call must have, such as `{ 'InstanceId.1': 'i-…' }`. */
  readonly params: Readonly<Record<string, string>>;
  /** Whether the fault happens before or after the call takes effect. */
  readonly when: 'before' | 'after';
  readonly mishap: InjectedFailure;
  /** How many more calls the fault affects. */
  times: number;
}

export const throttled: InjectedFailure = { kind: 'error', code: 'RequestLimitExceeded', status: 503 };

/** The faults that are waiting for their calls. */
interface FaultyCloud {
  readonly faults: Fault[];
}

export const addFault = (ec2: FaultyCloud, fault: Partial<Fault> & Pick<Fault, 'mishap'>): void => {
  ec2.faults.push({ action: null, params: {}, when: 'before', times: 1, ...fault });
};

/** If a fault matches the call, uses it once. */
export const consumeFault = (
  ec2: FaultyCloud,
  when: Fault['when'],
  params: URLSearchParams,
): InjectedFailure | null => {
  const fault = ec2.faults.find(
    (candidate) => candidate.when === when && candidate.times > 0 && fits(candidate, params),
  );
  if (!fault) return null;
  fault.times -= 1;
  return fault.mishap;
};

const fits = (fault: Fault, params: URLSearchParams): boolean =>
  (fault.action === null || fault.action === params.get('Action')) &&
  Object.entries(fault.params).every(([name, value]) => params.get(name) === value);
