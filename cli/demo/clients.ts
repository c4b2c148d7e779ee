import type { Cloud } from '../../fencing/cloud.ts';
import type { Cluster } from '../../fencing/cluster.ts';
import { systemClock } from '../../kubernetes/connection.ts';
import { clusterOf } from '../../kubernetes/cluster.ts';
import type { Link } from '../../kubernetes/exchange.ts';
import { linkFromToken } from '../../kubernetes/access.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import type { Doors } from './doors.ts';
import type { CloudStage } from './stage.ts';
import type { Turns } from './turns.ts';

/** Around how long a call takes, in ms of virtual time. */
const TAKES = { kubernetes: 8, cloud: 80 } as const;

/** Half as long again at most, half as long at least. */
const around = (ms: number, random: () => number): number => Math.round(ms * (0.5 + random()));

/** The SDK's own clients; each attempt of theirs waits for its turn before it leaves. */
export const cloudBehind = <P extends ClusterParts>({ cloud }: Doors, stage: CloudStage<P>, turns: Turns, random: () => number): Cloud =>
  stage.cloudBehind(cloud.url, (exchange) => turns.call(around(TAKES.cloud, random), exchange));

/** An answer is complete when its body has come, too. */
const complete = async (answer: ReturnType<Link['send']>): ReturnType<Link['send']> => {
  const response = await answer;
  const body = await response.body.text();
  response.body = { ...response.body, text: async () => body };
  return response;
};

export interface OpenCluster {
  readonly cluster: Cluster;
  readonly close: () => Promise<void>;
}

export const clusterBehind = ({ kubernetes: { url, ca, token } }: Doors, turns: Turns, now: () => number, random: () => number): OpenCluster => {
  const link = linkFromToken({ server: url, ca, token: async () => token });
  const send: Link['send'] = (request, permit) => turns.call(around(TAKES.kubernetes, random), () => complete(link.send(request, permit)));
  const clock = { now, sleep: turns.sleep, deadline: systemClock.deadline };
  return { cluster: clusterOf({ name: 'demo', link: { ...link, send }, clock }), close: link.close };
};
