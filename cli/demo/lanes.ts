import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import type { World } from '../../sandbox/world.ts';
import type { Scenario } from './scenario.ts';
import type { Story } from './story.ts';

export type LaneName = 'kubernetes alone' | 'with cloudfence';

/** One of the two worlds, and when each milestone was reached there (ms after the start). */
export interface Lane<P extends ClusterParts = ClusterParts> {
  readonly name: LaneName;
  readonly world: World<P>;
  readonly reached: ReadonlyMap<string, number>;
}

/** Something to show at once. */
export interface News {
  /** Ms after the start. */
  readonly at: number;
  readonly lane: LaneName | 'both';
  readonly says: string;
}

export type Tell = (news: News) => void;

export interface Lanes<P extends ClusterParts = ClusterParts> {
  readonly alone: Lane<P>;
  readonly fenced: Lane<P>;
  /** Ms since the stories began to differ. */
  readonly elapsed: () => number;
  /** Lets time pass in both worlds alike, and tells what happens there. */
  readonly passUntil: (at: number) => void;
}

/** How often the worlds are looked at (ms): the times of milestones are as exact as that. */
const LOOK_EVERY_MS = 50;

type OpenLane<P extends ClusterParts> = Lane<P> & { readonly reached: Map<string, number> };

/** From here on the given world is the one with Cloudfence, and a fork of it is left to Kubernetes alone. */
export const lanesFrom = <P extends ClusterParts>(world: World<P>, story: Story<P>, { milestones, acts }: Scenario, tell: Tell): Lanes<P> => {
  const start = world.now();
  const fenced: OpenLane<P> = { name: 'with cloudfence', world, reached: new Map() };
  const alone: OpenLane<P> = { name: 'kubernetes alone', world: world.fork(), reached: new Map() };
  const elapsed = (): number => world.now() - start;
  const lookAt = (lane: OpenLane<P>): void => {
    for (const { name, title, reached, says } of milestones) {
      if (lane.reached.has(name) || !reached(lane.world, story, new Set(lane.reached.keys()))) continue;
      lane.reached.set(name, elapsed());
      tell({ at: elapsed(), lane: lane.name, says: says?.(lane.world, story) ?? title(story.stage.title) });
    }
  };
  const toCome = [...acts];
  const actIfDue = (): void => {
    for (let [act] = toCome; act && act.at <= elapsed(); [act] = toCome) {
      for (const lane of [alone, fenced]) act.does(lane.world, story);
      tell({ at: elapsed(), lane: 'both', says: act.says });
      toCome.shift();
    }
  };
  const lookAtBoth = (): void => [alone, fenced].forEach(lookAt);
  const passUntil = (at: number): void => {
    while (world.now() < at) {
      const step = Math.min(LOOK_EVERY_MS, at - world.now());
      for (const lane of [alone, fenced]) lane.world.advance(step);
      actIfDue();
      lookAtBoth();
    }
  };
  lookAtBoth();
  return { alone, fenced, elapsed, passUntil };
};
