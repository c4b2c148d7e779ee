import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import { atTheEnd } from './at-the-end.ts';
import type { Lane } from './lanes.ts';
import { WATCHED_MS, type Played } from './play.ts';

/** The whole demo as one JSON object: times in ms after the start, null for what never came. */
export const playedJson = <P extends ClusterParts>({ demo, story, lanes: { alone, fenced }, deliveries, requests, verdict }: Played<P>): object => {
  const timeline = ({ reached }: Pick<Lane, 'reached'>): object =>
    Object.fromEntries(demo.scenario.milestones.map(({ name }) => [name, reached.get(name) ?? null]));
  return {
    scenario: demo.scenario.name,
    seed: demo.seed,
    watchedMs: WATCHED_MS,
    instance: story.holder,
    node: story.node,
    timelines: { kubernetesAlone: timeline(alone), withCloudfence: timeline(fenced) },
    outcomes: { kubernetesAlone: atTheEnd(alone.world, story), withCloudfence: atTheEnd(fenced.world, story) },
    deliveries,
    requests: { kubernetes: requests.kubernetes, [story.stage.api]: requests.cloud },
    verdict,
  };
};
