import { defaultPolicy, type Policy } from '../../../fencing/policy.ts';
import type { Ports } from '../../../fencing/ports.ts';
import type { HttpRequest } from '../../../functions/gcp/http.ts';
import { topicQueues } from '../../../functions/gcp/queues.ts';
import { foreign } from '../../../functions/gcp/territory.ts';
import type { GcpWiring } from '../../../functions/gcp/wire.ts';
import { metricFields } from '../../../functions/metrics.ts';
import { clusterOf, connectionOf } from '../../../kubernetes/cluster.ts';
import { doctorOf } from '../../../kubernetes/doctor.ts';
import { transportLink } from '../../../kubernetes/link.ts';
import { computeClients, gcpCloud } from '../../../providers/gcp/index.ts';
import { pushIdentity } from '../../../providers/gcp/push-identity.ts';
import type { Message } from '../../../providers/gcp/publish.ts';
import { handleApi } from '../../../sandbox/cluster/api/handle.ts';
import { ADMIN_TOKEN } from '../../../sandbox/cluster/api/server.ts';
import { apiOf, SANDBOX_PROJECT, type WholeGceWorld } from '../../../sandbox/gce-sandbox.ts';
import { inProcessFetch, type InProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import type { KeyServer } from '../../providers/gcp/key-server.ts';
import { requestIds } from '../../sandbox/gce/gce-world.ts';

/** A deployed function in small: topics are lists, the clock is the world's, and tokens are checked in earnest. */

export const AUDIENCE = 'https://europe-west1-sandbox-project.cloudfunctions.net/cloudfence-prod-on-event';
export const CALLER = 'cloudfence-prod-push@sandbox-project.iam.gserviceaccount.com';

export interface Published extends Message {
  readonly topic: string;
}

export interface GcpInstall {
  readonly wiring: GcpWiring;
  readonly lines: Record<string, unknown>[];
  readonly published: Published[];
  /** Nothing can be published, and Compute Engine does not answer, while these are set. */
  readonly outage: { topics: boolean; compute: boolean };
  readonly limit: () => { getRemainingTimeInMillis: () => number };
}

const LASTS_MS = 60_000;
const never = (): AbortSignal => new AbortController().signal;

const present: { fetch: InProcessFetch | null } = { fetch: null };
/** Making clients takes longer than most tests. */
const clients = computeClients({
  newRequestId: requestIds(),
  endpoint: 'http://sandbox.invalid',
  fetch: (input, init) => {
    if (!present.fetch) throw new Error('no world yet');
    return present.fetch(input, init);
  },
});

const speakTo = (world: WholeGceWorld, outage: GcpInstall['outage']): void => {
  const through = inProcessFetch(world);
  present.fetch = async (input, init) => {
    world.advance(outage.compute ? 5_000 : 80);
    if (outage.compute) return new Response('{"error": {"code": 500, "message": "", "errors": []}}', { status: 500, headers: { 'content-type': 'application/json' } });
    return through(input, init);
  };
};

const clusterIn = (world: WholeGceWorld) => {
  const server = apiOf(world);
  const link = transportLink(async (request) => {
    world.advance(8);
    const answer = handleApi(server, request);
    if (answer === 'drop') throw new Error('the connection was dropped');
    return answer;
  }, ADMIN_TOKEN);
  return { name: 'sandbox', link, clock: { now: world.now, sleep: async (ms: number) => world.advance(ms), deadline: never } };
};

const portsOver = (world: WholeGceWorld): Omit<Ports, 'signal' | 'observe'> => ({
  cloud: gcpCloud(clients),
  clusters: [clusterOf(clusterIn(world))],
  clock: { now: () => ({ wall: world.now(), mono: world.now() }), sleep: async (ms) => world.advance(ms), timeout: never },
});

export const installOver = (world: WholeGceWorld, keys: KeyServer, policy: Partial<Policy> = {}): GcpInstall => {
  const install = { lines: [], published: [], outage: { topics: false, compute: false } } as Pick<GcpInstall, 'lines' | 'published' | 'outage'>;
  const publish = async (topic: string, message: Message): Promise<void> => {
    if (install.outage.topics) throw new Error('the topic cannot be reached');
    install.published.push({ topic, ...message });
  };
  speakTo(world, install.outage);
  const ports = portsOver(world);
  const check = pushIdentity({ audience: AUDIENCE, serviceAccount: CALLER, certificatesUrl: keys.url });
  const nothing = () => Promise.reject(new Error('not asked'));
  let runs = 0;
  const wiring: GcpWiring = {
    ports,
    policy: { ...defaultPolicy, ...policy },
    foreign: (errand) => foreign(errand, [SANDBOX_PROJECT.project]),
    queues: topicQueues(async () => publish, { againTopic: 'again', deadLetterTopic: 'dead-letters' }, world.now),
    measured: metricFields,
    newRunId: () => `run-${(runs += 1)}`,
    log: (line) => install.lines.push({ ...line }),
    letIn: (authorization) => check(authorization, never()),
    kit: { cloud: ports.cloud, probes: [], readHints: () => ({ hints: [], faults: [], asides: [] }), access: { managedCluster: nothing, secret: nothing } },
    opened: [{ cluster: clusterOf(clusterIn(world)), doctor: async () => doctorOf(connectionOf(clusterIn(world))), open: async () => undefined, close: async () => undefined }],
  };
  const limit = () => {
    const endsAt = world.now() + LASTS_MS;
    return { getRemainingTimeInMillis: () => endsAt - world.now() };
  };
  return { ...install, wiring, limit };
};

/** The library reads the clock of the machine itself. */
const seconds = (): number => Math.floor(Date.now() / 1_000);
export const claims = () => ({ iss: 'https://accounts.google.com', aud: AUDIENCE, email: CALLER, email_verified: true, sub: '1', iat: seconds() - 60, exp: seconds() + 3_000 });
export const bearer = (keys: KeyServer, change: object = {}, keyId?: string): string => `Bearer ${keys.token({ ...claims(), ...change }, keyId)}`;

/** A push of Pub/Sub. */
export const pushOf = (keys: KeyServer, text: unknown, attributes: Readonly<Record<string, string>> = {}): HttpRequest => ({
  headers: { authorization: bearer(keys) },
  body: {
    message: { data: Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)).toString('base64'), messageId: 'm-1', attributes },
    subscription: 'projects/sandbox-project/subscriptions/cloudfence-prod-events',
  },
});
