import { randomUUID } from 'node:crypto';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import { readEnvironment, readFunctionEnvironment, readGcpEndpoint, readGcpFunctionEnvironment, type GcpFunctionEnvironment } from '../../wiring/environment.ts';
import { parseConfiguration } from '../../wiring/load.ts';
import { openClusters } from '../../wiring/open-clusters.ts';
import { openGcp } from '../../wiring/open-gcp.ts';
import { newRunId } from '../../wiring/run-id.ts';
import { policyOf, type Configuration } from '../../wiring/schema.ts';
import { loadSettings } from '../../wiring/settings.ts';
import { systemClock } from '../../wiring/system-clock.ts';
import { metricFields } from '../metrics.ts';
import { once } from '../once.ts';
import type { DoctorWiring } from '../wiring.ts';
import { logLine } from './log-line.ts';
import { topicQueues } from './queues.ts';
import { foreign } from './territory.ts';

/** Who may push, which the platform's own functions are asked for beside. */
export interface GcpWiring extends DoctorWiring {
  /** @throws Denied, Unavailable */
  readonly letIn: (authorization: string | null) => Promise<void>;
  /** Who may ask the questions of the doctor there; the same errors. */
  readonly letAsk: (authorization: string | null) => Promise<void>;
}

const settingsFrom = (settings: string | null): Promise<Configuration> | Configuration =>
  settings === null ? loadSettings(readEnvironment()) : parseConfiguration(settings, 'CLOUDFENCE_SETTINGS');

/** Checked for each request, under its own time limit. */
const KEYS_LAST_MS = 10_000;

const doorOf = ({ audience, certificatesUrl, behindCloudRun }: GcpFunctionEnvironment, serviceAccount: string | null): (() => Promise<GcpWiring['letIn']>) =>
  once(async () => {
    if (audience === null || serviceAccount === null) throw new InvalidConfiguration(['nobody is let in: the function has no CLOUDFENCE_AUDIENCE, or is not told whom (CLOUDFENCE_CALLER, CLOUDFENCE_DOCTOR)']);
    const { pushIdentity } = await import('../../providers/gcp/push-identity.ts');
    const rules = { audience, serviceAccount, ...(certificatesUrl !== null && { certificatesUrl }), ...(behindCloudRun && { behindCloudRun: { now: Date.now } }) };
    const check = pushIdentity(rules);
    return (authorization) => check(authorization, AbortSignal.timeout(KEYS_LAST_MS));
  });

const wire = async (): Promise<GcpWiring> => {
  const environment = readGcpFunctionEnvironment();
  const endpoint = readGcpEndpoint();
  const settings = await settingsFrom(readFunctionEnvironment().settings);
  const kit = await openGcp({ endpoint, newRequestId: randomUUID });
  const opened = openClusters(settings.clusters, kit.access, new AbortController().signal);
  const clock = systemClock();
  const publish = once(async () => (await import('../../providers/gcp/publish.ts')).publisher({ endpoint }));
  const [door, doctorsDoor] = [doorOf(environment, environment.caller), doorOf(environment, environment.doctor)];
  return {
    ports: { cloud: kit.cloud, clusters: opened.map(({ cluster }) => cluster), clock },
    kit,
    opened,
    policy: policyOf(settings, false),
    foreign: (errand) => foreign(errand, environment.projects),
    queues: topicQueues(publish, environment, () => clock.now().wall),
    measured: metricFields,
    newRunId,
    log: (line) => console.log(logLine(line)),
    letIn: async (authorization) => (await door())(authorization),
    letAsk: async (authorization) => (await doctorsDoor())(authorization),
  };
};

export const wireOnce = (): (() => Promise<GcpWiring>) => once(wire);
