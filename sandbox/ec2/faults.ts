/** What goes wrong on the wire: an error answer, a connection that breaks, or one that never answers. */
export type Mishap =
  | { readonly kind: 'error'; readonly code: string; readonly status: number }
  | { readonly kind: 'drop' }
  | { readonly kind: 'hang' };

export interface Fault {
  /** The API action that it strikes; null strikes any. */
  readonly action: string | null;
  /** Wire parameters that the call must carry, such as `{ 'InstanceId.1': 'i-…' }`. */
  readonly params: Readonly<Record<string, string>>;
  /** Before the call takes effect, or after it did. */
  readonly when: 'before' | 'after';
  readonly mishap: Mishap;
  /** How many more calls it strikes. */
  times: number;
}

export const throttled: Mishap = { kind: 'error', code: 'RequestLimitExceeded', status: 503 };

/** Where faults wait for their calls. */
interface Struckable {
  readonly faults: Fault[];
}

export const addFault = (ec2: Struckable, fault: Partial<Fault> & Pick<Fault, 'mishap'>): void => {
  ec2.faults.push({ action: null, params: {}, when: 'before', times: 1, ...fault });
};

/** Uses up one strike of the first fault that fits the call. */
export const strike = (ec2: Struckable, when: Fault['when'], params: URLSearchParams): Mishap | null => {
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
