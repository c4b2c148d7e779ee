import { PAGE_SIZE } from '../../kubernetes/connection.ts';
import { NODE_PAGE_SIZE } from '../../kubernetes/node.ts';
import { SANDBOX_REGION, ADMIN_TOKEN, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { apiServerOf, type Faults } from '../../sandbox/cluster/api/server.ts';
import { reactionsOf } from '../../sandbox/cluster/reactions.ts';
import type { Resource } from '../../sandbox/cluster/objects.ts';
import { storeOf, type ClusterState } from '../../sandbox/cluster/store.ts';
import { openEc2Server } from '../../sandbox/ec2/ec2-server.ts';
import { amid } from './crowd.ts';
import { MOMENT_HEADER, type Job } from './job.ts';
import { nameOf } from './tally.ts';

/** The traffic through both servers. */
export interface ServerTraffic {
  /** Requests by verb and resource. */
  readonly calls: Readonly<Record<string, number>>;
  /** Bytes that the client received, including TLS. */
  readonly bytes: number;
  readonly tlsConnections: number;
  /** The number of calls, in pages, that it takes to read each list once, by resource. */
  readonly pages: Readonly<Record<string, number>>;
  /** Real time for which the client waited for the sandbox (ms). */
  readonly busy: number;
}

export interface MeasuredServers extends Pick<Job, 'kubernetes' | 'ec2'> {
  readonly through: () => ServerTraffic;
  readonly close: () => Promise<void>;
}

/** Opens one world, with the crowd and its living Nodes, to real clients that have their own virtual time. */
export const openServers = async (world: AwsWorld, crowd: ClusterState): Promise<MeasuredServers> => {
  const calls: Record<string, number> = {};
  let busy = 0;
  let began = 0;
  const arrive = (moment: unknown): void => world.advance(Math.max(0, Number(moment) - world.now()));
  const faults: Faults = {
    before: (request) => {
      began = performance.now();
      arrive(request.headers[MOMENT_HEADER]);
      return undefined;
    },
    after: (request) => {
      calls[nameOf(request)] = (calls[nameOf(request)] ?? 0) + 1;
      busy += performance.now() - began;
      return undefined;
    },
  };
  const store = amid(storeOf(world.parts.cluster), crowd);
  const api = await openKubernetesServer(apiServerOf({ store, now: world.now, onWrite: reactionsOf(world), faults }));
  const ec2 = await openEc2Server(world, 0, (headers) => arrive(headers[MOMENT_HEADER]));
  const resources: readonly Resource[] = ['nodes', 'leases', 'volumeattachments'];
  const pages = Object.fromEntries(
    resources.map((resource) => {
      const size = resource === 'nodes' ? NODE_PAGE_SIZE : PAGE_SIZE;
      return [resource, Math.ceil(store.list(resource).length / size)];
    }),
  );
  const ofEc2 = () => Object.entries(ec2.traffic().calls).map(([action, times]) => [`EC2 ${action}`, times] as const);
  return {
    kubernetes: { url: api.url, ca: api.caData, token: ADMIN_TOKEN },
    ec2: { url: ec2.url, region: SANDBOX_REGION },
    through: () => ({
      calls: { ...calls, ...Object.fromEntries(ofEc2()) },
      bytes: api.traffic().bytesWritten + ec2.traffic().bytes,
      tlsConnections: api.traffic().connections,
      pages,
      busy,
    }),
    close: async () => {
      await Promise.all([api.close(), ec2.close()]);
    },
  };
};
