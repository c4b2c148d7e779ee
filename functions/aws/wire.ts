import { readEnvironment, readFunctionEnvironment, type FunctionEnvironment } from '../../wiring/environment.ts';
import { parseConfiguration } from '../../wiring/load.ts';
import { openAws } from '../../wiring/open-aws.ts';
import { openClusters } from '../../wiring/open-clusters.ts';
import { permissionTags } from '../../wiring/permission-tags.ts';
import { newRunId } from '../../wiring/run-id.ts';
import { policyOf, type Configuration } from '../../wiring/schema.ts';
import { loadSettings } from '../../wiring/settings.ts';
import { systemClock } from '../../wiring/system-clock.ts';
import { once } from '../once.ts';
import type { DoctorWiring } from '../wiring.ts';
import { metricLine } from './embedded-metrics.ts';
import { lambdaFencers } from './fencers.ts';
import { sqsQueues } from './queues.ts';
import { foreign } from './territory.ts';

/** Deployed, the environment carries the configuration itself; on a laptop it names a file. */
const settingsFrom = ({ settings, region }: FunctionEnvironment): Promise<Configuration> | Configuration => {
  if (settings === null) return loadSettings(readEnvironment());
  const written = parseConfiguration(settings, 'CLOUDFENCE_SETTINGS');
  return { ...written, ...(region !== null && { region: written.region ?? region }) };
};

/** Less than the shortest time-out of a function, so that the doctor itself can still say who did not answer. */
const FENCER_ANSWERS_MS = 8_000;

const wire = async (): Promise<DoctorWiring> => {
  const environment = readFunctionEnvironment();
  const settings = await settingsFrom(environment);
  const { account } = environment;
  const kit = await openAws({ region: settings.region ?? null, account, territories: settings.territories, tags: permissionTags(environment.onlyTagged, settings.clusters) });
  const opened = openClusters(settings.clusters, kit.access, new AbortController().signal);
  const sqs = async () => new (await import('@aws-sdk/client-sqs')).SQSClient({ region: settings.region ?? '' });
  const lambda = async () => new (await import('@aws-sdk/client-lambda')).LambdaClient({ region: settings.region ?? '', requestHandler: { requestTimeout: FENCER_ANSWERS_MS } });
  const clock = systemClock();
  // Our own first.
  const territories = [{ account, region: settings.region ?? null }, ...settings.territories];
  return {
    ports: { cloud: kit.cloud, clusters: opened.map(({ cluster }) => cluster), clock },
    kit,
    opened,
    fencers: lambdaFencers(once(lambda), environment.fencers),
    policy: policyOf(settings, false),
    foreign: (errand) => foreign(errand, territories),
    queues: sqsQueues(once(sqs), environment),
    measured: (measures) => metricLine(environment.namespace, clock.now().wall, measures),
    newRunId,
    log: (line) => console.log(JSON.stringify(line)),
  };
};

export const wireOnce = (): (() => Promise<DoctorWiring>) => once(wire);
