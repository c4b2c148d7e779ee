import type { Watched } from './facets.ts';
import { facetsOf } from './facets.ts';
import type { Participants } from './participants.ts';
import { ownerOf } from './participants.ts';

/** An object after one write, or its last state if the write removed it. */
export interface Writing {
  /** Epoch ms. */
  readonly at: number;
  /** Counts in the whole cluster: writes come in the order of their revisions. */
  readonly revision: number;
  /** The writer, in the words of `authors.ts`. */
  readonly by: string;
  readonly kind: Watched;
  readonly uid: string;
  readonly object: unknown;
  readonly gone: boolean;
}

/** One facet of one object after a write has changed it. All names are those of the participants. */
export interface Line {
  readonly at: number;
  readonly revision: number;
  readonly by: string;
  readonly object: string;
  /** Objects come back under their names. This is the number of the object, from 1. */
  readonly nth: number;
  readonly facet: string;
  /** Empty for nothing. */
  readonly value: string;
}

interface Known {
  readonly object: string;
  readonly nth: number;
  facets: Readonly<Record<string, string>>;
}

const changed = (before: Known['facets'], after: Known['facets']): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (facet) => (before[facet] ?? '') !== (after[facet] ?? ''),
  );

/** Returns the writes that concern the participants, change by change. */
export const linesOf = (writings: readonly Writing[], participants: Participants): readonly Line[] => {
  const known = new Map<string, Known>();
  const births = new Map<string, number>();
  const meet = (uid: string, object: string): Known => {
    const met = known.get(uid) ?? { object, nth: (births.get(object) ?? 0) + 1, facets: {} };
    if (!known.has(uid)) births.set(object, met.nth);
    known.set(uid, met);
    return met;
  };
  return writings
    .toSorted((one, other) => one.revision - other.revision)
    .flatMap((writing) => {
      const name = ownerOf(participants, writing);
      if (name === null) return [];
      const { at, revision, by } = writing;
      const met = meet(writing.uid, name);
      const after: Known['facets'] = writing.gone
        ? { ...met.facets, exists: 'gone' }
        : { ...facetsOf(writing, participants), exists: 'yes' };
      const facets = changed(met.facets, after);
      met.facets = after;
      return facets.map((facet): Line => ({
        at,
        revision,
        by,
        object: met.object,
        nth: met.nth,
        facet,
        value: after[facet] ?? '',
      }));
    });
};

/** What a script waits for: the present object of each name. */
export interface CurrentObjects {
  readonly value: (object: string, facet: string) => string;
  /** How many objects have had that name. */
  readonly births: (object: string) => number;
}

export const standingAfter = (lines: readonly Line[]): CurrentObjects => {
  const births = (object: string): number =>
    Math.max(0, ...lines.filter((line) => line.object === object).map(({ nth }) => nth));
  return {
    births,
    value: (object, facet) => {
      const nth = births(object);
      return lines.findLast((line) => line.object === object && line.nth === nth && line.facet === facet)?.value ?? '';
    },
  };
};

/** The same, computed again only if there are more writes. */
export const standingIn = (writings: () => readonly Writing[], participants: Participants): (() => CurrentObjects) => {
  let known = -1;
  let standing = standingAfter([]);
  return () => {
    const now = writings();
    if (now.length !== known) standing = standingAfter(linesOf(now, participants));
    known = now.length;
    return standing;
  };
};
