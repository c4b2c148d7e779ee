import { subjectOf } from './subject.ts';

/** What the inside of an event says: resources to look at and why, or that it is about none. */
export type Understood =
  | { readonly resources: readonly string[]; readonly because: string }
  | { readonly resources: null; readonly aside: string };

export const about = (resource: string, because: string): Understood => ({ resources: [resource], because });

/** An event may name its machines in several places, and something wider in others: the first place that names any is meant. */
export const aboutFirst = (places: readonly (readonly string[])[], because: string): Understood => ({
  resources: places.find((place) => place.some((resource) => subjectOf(resource) !== null)) ?? places.flat(),
  because,
});

export const nothing = (aside: string): Understood => ({ resources: null, aside });
