/** What the inside of an event says: resources to look at and why, or that it is about none. */
export type Understood =
  | { readonly resources: readonly string[]; readonly because: string }
  | { readonly resources: null; readonly aside: string };

export const about = (resource: string, because: string): Understood => ({ resources: [resource], because });

export const nothing = (aside: string): Understood => ({ resources: null, aside });
