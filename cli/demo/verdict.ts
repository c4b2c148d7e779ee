import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import type { World } from '../../sandbox/world.ts';
import type { Scenario } from './scenario.ts';
import type { Story } from './story.ts';

export interface Finding {
  readonly finding: string;
  /** What is amiss, or null when all is as it should be. */
  readonly wrong: string | null;
}

export interface Verdict {
  readonly right: boolean;
  readonly findings: readonly Finding[];
}

/** Judges the end by the world's objects alone. Pure. */
export const verdict = <P extends ClusterParts>(world: World<P>, story: Story<P>, { asks }: Pick<Scenario, 'asks'>): Verdict => {
  const findings = asks.map(({ name, wrong }) => ({ finding: name, wrong: wrong(world, story) }));
  return { right: findings.every(({ wrong }) => wrong === null), findings };
};
