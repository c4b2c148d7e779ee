import { defaultPolicy, type Policy } from '../../../fencing/model/policy.ts';
import type { HttpRequest } from '../../../functions/gcp/http.ts';
import { whyNotServed, type GcpDependencies, pubSubQueues } from '../../../functions/gcp/dependencies.ts';
import { metricFields } from '../../../functions/metrics.ts';
import { createCluster, openConnection } from '../../../kubernetes/cluster.ts';
import { createCapControl } from '../../../kubernetes/ledger.ts';
import { createStatusReading } from '../../../kubernetes/readings/status.ts';
import { createDiagnosisReading } from '../../../kubernetes/readings/diagnosis.ts';
import { createDoctor } from '../../../kubernetes/doctor.ts';
import { createPushCheck } from '../../../providers/gcp/push-identity.ts';
import type { OutgoingMessage } from '../../../providers/gcp/publish.ts';
import { apiOf, SANDBOX_PROJECT, type WholeGceWorld } from '../../../sandbox/gce-sandbox.ts';
import { inProcessFetch, type InProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import type { KeyServer } from '../../providers/gcp/key-server.ts';
import { portsOver } from '../../sandbox/gce/gce-runs.ts';
import { clusterIn, never } from '../../sandbox/in-process.ts';

/**
 * A small deployed function. Its topics are lists, its clock is that of the sandbox, and tokens are really verified.
 */

export const AUDIENCE = 'https://europe-west1-sandbox-project.cloudfunctions.net/cloudfence-prod-on-event';
export const CALLER = 'cloudfence-prod-push@sandbox-project.iam.gserviceaccount.com';

export const DOCTOR = 'cloudfence-prod-read@sandbox-project.iam.gserviceaccount.com';

export interface Published extends OutgoingMessage {
  readonly topic: string;
}

export interface GcpInstall {
  readonly dependencies: GcpDependencies;
  readonly lines: Record<string, unknown>[];
  readonly published: Published[];
  /** While these are set, nothing can be published, and Compute Engine does not answer. */
  readonly outage: { topics: boolean; compute: boolean };
  readonly limit: () => { getRemainingTimeInMillis: () => number };
}

const LASTS_MS = 60_000;

/** Compute Engine answers after five seconds that it is unavailable. */
const silentFor = (world: WholeGceWorld, outage: GcpInstall['outage']): InProcessFetch => {
  const through = inProcessFetch(world);
  return async (...request) => {
    if (!outage.compute) return through(...request);
    world.advance(5_000);
    return new Response('{"error": {"code": 500, "message": "", "errors": []}}', {
      status: 500,
      headers: { 'content-type': 'application/json' },
    });
  };
};

export const installOver = (world: WholeGceWorld, keys: KeyServer, policy: Partial<Policy> = {}): GcpInstall => {
  const install = { lines: [], published: [], outage: { topics: false, compute: false } } as Pick<
    GcpInstall,
    'lines' | 'published' | 'outage'
  >;
  const publish = async (topic: string, message: OutgoingMessage): Promise<void> => {
    if (install.outage.topics) throw new Error('the topic cannot be reached');
    install.published.push({ topic, ...message });
  };
  const { signal: _signal, observe: _observe, ...ports } = portsOver(world, silentFor(world, install.outage));
  const cluster = clusterIn(world, apiOf(world));
  const check = createPushCheck({ audience: AUDIENCE, serviceAccount: CALLER, certificatesUrl: keys.url });
  const checkDoctor = createPushCheck({ audience: AUDIENCE, serviceAccount: DOCTOR, certificatesUrl: keys.url });
  const nothing = () => Promise.reject(new Error('not asked'));
  let runs = 0;
  const dependencies: GcpDependencies = {
    ports,
    policy: { ...defaultPolicy, ...policy },
    whyNotServed: (item) => whyNotServed(item, [SANDBOX_PROJECT.project]),
    queues: pubSubQueues(async () => publish, { againTopic: 'again', deadLetterTopic: 'dead-letters' }, world.now),
    formatMeasurements: metricFields,
    newRunId: () => `run-${(runs += 1)}`,
    chance: () => 0,
    deliveries: 20,
    log: (line) => install.lines.push({ ...line }),
    letIn: (authorization) => check(authorization, never()),
    letAsk: (authorization) => checkDoctor(authorization, never()),
    openedCloud: {
      cloud: ports.cloud,
      probes: [],
      readHints: () => ({ hints: [], faults: [], ignored: [] }),
      viewDisks: async () => [],
      driverFaultOf: () => null,
      access: { managedCluster: nothing, secret: nothing },
    },
    openClusters: [
      {
        cluster: createCluster(cluster),
        doctor: async () => createDoctor(openConnection(cluster), cluster.link),
        cap: async () => createCapControl(openConnection(cluster)),
        status: async () => createStatusReading('sandbox', openConnection(cluster)),
        connection: () => Promise.reject(new Error('this test never drills')),
        diagnosis: async () => (faultOf, signal) => createDiagnosisReading(openConnection(cluster), faultOf, signal),
        aftermath: nothing,
        open: async () => undefined,
        close: async () => undefined,
      },
    ],
  };
  const limit = () => {
    const endsAt = world.now() + LASTS_MS;
    return { getRemainingTimeInMillis: () => endsAt - world.now() };
  };
  return { ...install, dependencies, limit };
};

/** The library reads the real clock. */
const seconds = (): number => Math.floor(Date.now() / 1_000);
export const claims = () => ({
  iss: 'https://accounts.google.com',
  aud: AUDIENCE,
  email: CALLER,
  email_verified: true,
  sub: '1',
  iat: seconds() - 60,
  exp: seconds() + 3_000,
});
export const bearer = (keys: KeyServer, change: object = {}, keyId?: string): string =>
  `Bearer ${keys.token({ ...claims(), ...change }, keyId)}`;

/** A push of Pub/Sub. */
export const pushOf = (
  keys: KeyServer,
  text: unknown,
  attributes: Readonly<Record<string, string>> = {},
): HttpRequest => ({
  headers: { authorization: bearer(keys) },
  body: {
    message: {
      data: Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)).toString('base64'),
      messageId: 'm-1',
      attributes,
    },
    subscription: 'projects/sandbox-project/subscriptions/cloudfence-prod-events',
  },
});
