import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import type { World } from '../../sandbox/world.ts';
import type { Question } from './findings.ts';
import type { Milestone } from './milestones.ts';
import type { Story } from './story.ts';

/** Something that people do while the clocks run, in both worlds. */
export interface Act {
  /** Ms after the start of the story. */
  readonly at: number;
  readonly says: string;
  readonly does: <P extends ClusterParts>(world: World<P>, story: Story<P>) => void;
}

export interface Scenario {
  readonly name: string;
  /** What is going to be shown, in a sentence. */
  readonly shows: string;
  /** What all times are counted from, such as `after the stop`. */
  readonly since: string;
  /** Lets the trouble come, and time pass until it is there: at that moment the two stories begin to differ. */
  readonly strikes: <P extends ClusterParts>(world: World<P>, story: Story<P>) => void;
  readonly acts: readonly Act[];
  /** The cloud announces nothing: only the sweep finds it. */
  readonly unannounced: boolean;
  readonly milestones: readonly Milestone[];
  /** What has to be so in the end. */
  readonly asks: readonly Question[];
}
