import type { Policy } from '../../fencing/policy.ts';
import type { Ports } from '../../fencing/run.ts';
import { readEnvironment, readFunctionEnvironment, type FunctionEnvironment } from '../../wiring/environment.ts';
import { parseConfiguration } from '../../wiring/load.ts';
import { openAws } from '../../wiring/open-aws.ts';
import { openClusters, type OpenCluster } from '../../wiring/open-clusters.ts';
import { newRunId } from '../../wiring/run-id.ts';
import { policyOf, type Configuration } from '../../wiring/schema.ts';
import { loadSettings } from '../../wiring/settings.ts';
import { systemClock } from '../../wiring/system-clock.ts';
import type { CloudKit } from '../../wiring/cloud-kit.ts';
import { sqsQueues, type Queues } from './queues.ts';
import type { Territory } from './territory.ts';

/** All that a function of ours is made of; tests hand in another. */
export interface Wiring {
  readonly ports: Omit<Ports, 'signal' | 'observe'>;
  readonly policy: Policy;
  /** Our own first. */
  readonly territories: readonly Territory[];
  readonly queues: Queues;
  /** Of the metrics. */
  readonly namespace: string;
  readonly newRunId: () => string;
  readonly log: (line: object) => void;
}

/** What the doctor asks beside. */
export interface DoctorWiring extends Wiring {
  readonly kit: CloudKit;
  readonly opened: readonly OpenCluster[];
}

/** Deployed, the environment carries the configuration itself; on a laptop it names a file. */
const settingsFrom = ({ settings, region }: FunctionEnvironment): Promise<Configuration> | Configuration => {
  if (settings === null) return loadSettings(readEnvironment());
  const written = parseConfiguration(settings, 'CLOUDFENCE_SETTINGS');
  return { ...written, ...(region !== null && { region: written.region ?? region }) };
};

const wire = async (): Promise<DoctorWiring> => {
  const environment = readFunctionEnvironment();
  const settings = await settingsFrom(environment);
  const { account } = environment;
  const kit = await openAws({ region: settings.region ?? null, account, territories: settings.territories });
  const opened = openClusters(settings.clusters, kit.access, new AbortController().signal);
  const sqs = async () => new (await import('@aws-sdk/client-sqs')).SQSClient({ region: settings.region ?? '' });
  return {
    ports: { cloud: kit.cloud, clusters: opened.map(({ cluster }) => cluster), clock: systemClock() },
    kit,
    opened,
    policy: policyOf(settings, false),
    territories: [{ account, region: settings.region ?? null }, ...settings.territories],
    queues: sqsQueues(once(sqs), environment),
    namespace: environment.namespace,
    newRunId,
    log: (line) => console.log(JSON.stringify(line)),
  };
};

/** Makes it on the first call and keeps what worked; what failed is tried anew at the next. */
export const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
};

export const wireOnce = (): (() => Promise<DoctorWiring>) => once(wire);
