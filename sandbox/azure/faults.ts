/** What goes wrong on the wire: an error answer, a connection that breaks, or one that never answers. */
export type Mishap =
  | { readonly kind: 'error'; readonly code: string; readonly status: number }
  | { readonly kind: 'drop' }
  | { readonly kind: 'hang' };

export interface Fault {
  /** The call that it strikes, such as `machine.get` or `machine.attachDetachDataDisks`; null strikes any. */
  readonly call: string | null;
  /** A part of the path that the call must have, in lower case. */
  readonly path: string;
  /** Before the call takes effect, or after it did. */
  readonly when: 'before' | 'after';
  readonly mishap: Mishap;
  /** How many more calls it strikes. */
  times: number;
}

export const throttled: Mishap = { kind: 'error', code: 'TooManyRequests', status: 429 };

/** Where faults wait for their calls. */
interface Struckable {
  readonly faults: Fault[];
}

export const addFault = (azure: Struckable, fault: Partial<Fault> & Pick<Fault, 'mishap'>): void => {
  azure.faults.push({ call: null, path: '', when: 'before', times: 1, ...fault });
};

export interface Struck {
  readonly call: string;
  readonly path: string;
}

/** Uses up one strike of the first fault that fits the call. */
export const strike = (azure: Struckable, when: Fault['when'], { call, path }: Struck): Mishap | null => {
  const fits = (fault: Fault): boolean =>
    fault.when === when && fault.times > 0 && (fault.call === null || fault.call === call) && path.includes(fault.path);
  const fault = azure.faults.find(fits);
  if (!fault) return null;
  fault.times -= 1;
  return fault.mishap;
};
