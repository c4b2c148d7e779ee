import type { MachineFacts } from '../model/machine.ts';
import type { Outcome } from '../model/outcome.ts';
import type { FenceRecord } from '../model/record.ts';
import type { SweepCandidate } from './candidates.ts';

/** Fences that stand for longer than anybody expects. A quarantined Node takes no pods, so a person should look. */

export interface FencedNode {
  readonly cluster: string;
  readonly node: string;
}

export interface OverdueFences {
  /** Nodes that have been fenced for more than a day. */
  readonly fenced: readonly FencedNode[];
  /** Nodes whose machine came back more than ten minutes ago, and whose fence still stands. */
  readonly returned: readonly FencedNode[];
}

export const overdueAfter = { fence: 24 * 3_600_000, release: 10 * 60_000 } as const;

/**
 * Returns when the machine of a fenced Node came back (epoch ms), or null if it is not back, or nobody says since when.
 * The record says when the fence was lifted. For a finished fence it says when that was finished, which is too early.
 */
const returnedAt = ({ phase, released }: FenceRecord, { power, since }: MachineFacts): number | null => {
  if (power !== 'running' && power !== 'starting') return null;
  return since ?? (phase === 'lifted' && released !== null ? Date.parse(released) : null);
};

const isReleased = ({ cluster, suspect }: SweepCandidate, outcomes: readonly Outcome[]): boolean =>
  outcomes.some((one) => one.outcome === 'released' && one.cluster === cluster && one.node === suspect.node);

/** Returns what stands for too long, by what a sweep has read. The outcomes say what it has released since. */
export const overdueFences = (
  candidates: readonly SweepCandidate[],
  facts: readonly MachineFacts[],
  outcomes: readonly Outcome[],
  now: number,
): OverdueFences => {
  const factsFor = new Map(facts.map((one) => [one.machine, one]));
  const standing = candidates.flatMap((candidate) => {
    const { cluster, suspect, machines } = candidate;
    const { record, node, because } = suspect;
    if (because !== 'fenced' || record === null || isReleased(candidate, outcomes)) return [];
    const begun = Date.parse(record.begun);
    const back = machines.flatMap((machine) => factsFor.get(machine) ?? []).map((one) => returnedAt(record, one));
    return [{ at: { cluster, node }, begun, back: back.find((time) => time !== null) ?? null }];
  });
  return {
    fenced: standing.filter(({ begun }) => now - begun > overdueAfter.fence).map(({ at }) => at),
    returned: standing
      .filter(({ begun, back }) => back !== null && now - Math.max(begun, back) > overdueAfter.release)
      .map(({ at }) => at),
  };
};
