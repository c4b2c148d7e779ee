import type { Cloud } from '../../fencing/cloud.ts';
import type { Cluster } from '../../fencing/cluster.ts';
import { systemClock } from '../../kubernetes/clock.ts';
import { clusterOf } from '../../kubernetes/cluster.ts';
import type { Link } from '../../kubernetes/link.ts';
import { linkFromToken } from '../../kubernetes/token-access.ts';
import { awsCloud, ec2Clients, type Ec2Clients } from '../../providers/aws/index.ts';
import { SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import type { Doors } from './doors.ts';
import type { Turns } from './turns.ts';

/** Around how long a call takes, in ms of virtual time. */
const TAKES = { kubernetes: 8, ec2: 80 } as const;

/** Half as long again at most, half as long at least. */
const around = (ms: number, random: () => number): number => Math.round(ms * (0.5 + random()));

/** The SDK's own clients; each attempt of theirs waits for its turn before it leaves. */
const ec2InTurn = ({ ec2 }: Doors, turns: Turns, random: () => number): Ec2Clients => {
  const credentials = { accessKeyId: 'demo', secretAccessKey: 'demo' };
  const clients = ec2Clients({ region: SANDBOX_REGION, endpoint: ec2.url, credentials });
  for (const { middlewareStack } of [clients.reads, clients.writes]) {
    middlewareStack.add((next) => (request) => turns.call(around(TAKES.ec2, random), () => next(request)), { step: 'deserialize', priority: 'high' });
  }
  return clients;
};

export const cloudBehind = (doors: Doors, turns: Turns, random: () => number): Cloud =>
  awsCloud({ clients: ec2InTurn(doors, turns, random), region: SANDBOX_REGION });

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
  const send: Link['send'] = (request, lastCheck) => turns.call(around(TAKES.kubernetes, random), () => complete(link.send(request, lastCheck)));
  const clock = { now, sleep: turns.sleep, deadline: systemClock.deadline };
  return { cluster: clusterOf({ name: 'demo', link: { ...link, send }, clock }), close: link.close };
};
