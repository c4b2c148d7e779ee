import type { Cloud } from '../fencing/model/cloud.ts';
import type { Cluster } from '../fencing/model/cluster.ts';
import { linkFromToken } from '../kubernetes/access.ts';
import { createCluster, openConnection } from '../kubernetes/cluster.ts';
import { callClock } from '../kubernetes/connection.ts';
import { neededPermissions } from '../kubernetes/doctor.ts';
import type { Link } from '../kubernetes/exchange.ts';
import { createAftermathReading } from '../kubernetes/readings/aftermath.ts';
import { openKubernetesServer } from '../sandbox/cluster/api/https-server.ts';
import { apiServerOf, type ApiUser, type Faults, type PolicyRule } from '../sandbox/cluster/api/server.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { reactionsOf } from '../sandbox/cluster/reactions.ts';
import { storeOf } from '../sandbox/cluster/store.ts';
import type { World } from '../sandbox/world.ts';
import type { CallSchedule } from './platform.ts';
import type { DemoCloud } from './story.ts';

/** The addresses of the simulated servers, which listen on two real sockets of this computer. */
export interface SimulatedServers {
  readonly kubernetes: { readonly url: string; readonly ca: string; readonly token: string };
  readonly cloud: { readonly url: string };
  /** Counts the requests received so far. */
  readonly requests: () => { readonly kubernetes: number; readonly cloud: Readonly<Record<string, number>> };
  readonly close: () => Promise<void>;
}

/** The token of Cloudfence's own identity. */
export const TOKEN = 'demo-token';

/** Injects no fault. It only reports each request before the request has any effect. */
const reportRequests = (arrived: () => void): Faults => ({
  before: () => {
    arrived();
    return undefined;
  },
});

/**
 * Serves the API server and the cloud, each on a socket. The token of a request says which user sends it. Calls
 * `arrived` for each request, before the request has any effect.
 */
export const openServers = async <P extends ClusterParts>(
  world: World<P>,
  demoCloud: DemoCloud<P>,
  users: Readonly<Record<string, ApiUser>>,
  arrived: () => void,
): Promise<SimulatedServers> => {
  const server = { store: storeOf(world.parts.cluster), now: world.now, onWrite: reactionsOf(world) };
  const api = await openKubernetesServer(apiServerOf({ ...server, users, faults: reportRequests(arrived) }));
  const cloud = await demoCloud.openServer(world, arrived);
  return {
    kubernetes: { url: api.url, ca: api.caData, token: TOKEN },
    cloud: { url: cloud.url },
    requests: () => ({ kubernetes: api.traffic().requests, cloud: cloud.traffic().calls }),
    close: async () => {
      await Promise.all([api.close(), cloud.close()]);
    },
  };
};

/** Typical duration of a call, in ms of virtual time. */
const CALL_TAKES_MS = { kubernetes: 8, cloud: 80 } as const;

/** Returns a random duration between 0.5 and 1.5 times `ms`. */
const randomAround = (ms: number, random: () => number): number => Math.round(ms * (0.5 + random()));

/**
 * Returns the cloud's adapter on the SDK's own clients. Each of their requests waits for its turn before it is sent.
 */
export const connectCloud = <P extends ClusterParts>(
  { cloud }: SimulatedServers,
  demoCloud: DemoCloud<P>,
  turns: CallSchedule,
  random: () => number,
): Cloud =>
  demoCloud.connectCloud(cloud.url, (exchange) => turns.call(randomAround(CALL_TAKES_MS.cloud, random), exchange));

/** Reads the whole body, because an answer is complete only with its body. */
const withWholeBody = async (answer: ReturnType<Link['send']>): ReturnType<Link['send']> => {
  const response = await answer;
  const body = await response.body.text();
  response.body = { ...response.body, text: async () => body };
  return response;
};

interface OpenCluster {
  readonly cluster: Cluster;
  /** Reads what has happened since an incident. */
  readonly aftermath: ReturnType<typeof createAftermathReading>;
  readonly close: () => Promise<void>;
}

export const connectCluster = (
  name: string,
  { kubernetes: { url, ca, token } }: SimulatedServers,
  turns: CallSchedule,
  now: () => number,
  random: () => number,
): OpenCluster => {
  const link = linkFromToken({ server: url, ca, token: async () => token });
  const send: Link['send'] = (request, permit) =>
    turns.call(randomAround(CALL_TAKES_MS.kubernetes, random), () => withWholeBody(link.send(request, permit)));
  const clock = { now, sleep: turns.sleep, deadline: callClock.deadline };
  const options = { name, link: { ...link, send }, clock };
  const aftermath = createAftermathReading(name, openConnection(options));
  return { cluster: createCluster(options), aftermath, close: link.close };
};

/** Cloudfence's identity in the simulated cluster, with exactly the permissions that it needs in a real one. */

const marks = ({ verb, resource }: (typeof neededPermissions)[number]): boolean =>
  verb === 'patch' && resource === 'nodes';

const ruleFor = ({
  verb,
  group,
  resource,
  subresource,
  namespace,
  name,
}: (typeof neededPermissions)[number]): PolicyRule => ({
  apiGroups: [group],
  resources: [subresource === undefined ? resource : `${resource}/${subresource}`],
  verbs: [verb],
  ...(namespace !== undefined && { namespaces: [namespace] }),
  ...(name !== undefined && { resourceNames: [name] }),
});

export const cloudfenceUser = ({ mayMark }: { readonly mayMark: boolean }): ApiUser => ({
  name: 'cloudfence',
  rules: neededPermissions.filter((permission) => mayMark || !marks(permission)).map(ruleFor),
});
