/** What an event that was understood says: machines to look at, or that it names none. */
export type Understood =
  | { readonly machines: readonly string[]; readonly because: string }
  | { readonly machines: null; readonly aside: string };

export const hint = (machine: string, because: string): Understood => ({ machines: [machine], because });

export const nothing = (aside: string): Understood => ({ machines: null, aside });
