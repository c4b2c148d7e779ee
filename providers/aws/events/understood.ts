/** What an event that was understood says: machines to look at, or that it names none. */
export type Understood =
  | { readonly machines: readonly string[]; readonly because: string; readonly at?: Whereabouts }
  | { readonly machines: null; readonly aside: string };

/** Where the machines are, when the envelope does not say that; null where the envelope is right. */
export interface Whereabouts {
  readonly account: string | null;
  readonly region: string | null;
}

export const hint = (machine: string, because: string): Understood => ({ machines: [machine], because });

export const nothing = (aside: string): Understood => ({ machines: null, aside });
