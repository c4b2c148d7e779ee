import { readAzureFunctionEnvironment, readAzurePlace, readEnvironment, readFunctionEnvironment } from '../../wiring/environment.ts';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import type { Send } from '../../providers/azure/service-bus.ts';
import { parseConfiguration } from '../../wiring/load.ts';
import { openClusters } from '../../wiring/open-clusters.ts';
import { newRunId } from '../../wiring/run-id.ts';
import { policyOf, type Configuration } from '../../wiring/schema.ts';
import { loadSettings } from '../../wiring/settings.ts';
import { systemClock } from '../../wiring/system-clock.ts';
import { metricFields } from '../metrics.ts';
import { once } from '../once.ts';
import { busQueues } from './queues.ts';
import { expandServed, foreign } from './territory.ts';
import type { Wired } from './wiring.ts';

const settingsFrom = (settings: string | null): Promise<Configuration> | Configuration =>
  settings === null ? loadSettings(readEnvironment()) : parseConfiguration(settings, 'CLOUDFENCE_SETTINGS');

const senderTo = async (host: string | null): Promise<Send> => {
  if (host === null) throw new InvalidConfiguration(['the function has no CLOUDFENCE_BUS__fullyQualifiedNamespace: it was not deployed by serverless.azure.yml']);
  const [{ busSender }, { lazyCredential }] = await Promise.all([import('../../providers/azure/service-bus.ts'), import('../../providers/azure/lazy-credential.ts')]);
  return busSender({ host, credential: lazyCredential() });
};

const wire: Wired = async () => {
  const environment = readAzureFunctionEnvironment();
  const { subscription, endpoint } = readAzurePlace();
  const settings = await settingsFrom(readFunctionEnvironment().settings);
  // With the SDK, which the start of an instance need not wait for.
  const { openAzure } = await import('../../wiring/open-azure.ts');
  const kit = await openAzure({ subscription, endpoint });
  const opened = openClusters(settings.clusters, kit.access, new AbortController().signal);
  const clock = systemClock();
  const served = { subscription, groups: environment.groups };
  return {
    ports: { cloud: kit.cloud, clusters: opened.map(({ cluster }) => cluster), clock },
    kit,
    opened,
    policy: policyOf(settings, false),
    foreign: (errand) => foreign(errand, served),
    queues: busQueues(once(() => senderTo(environment.busHost)), environment, () => clock.now().wall),
    expand: expandServed(kit.cloud.expand, served),
    measured: metricFields,
    newRunId,
    lasts: environment.lasts,
  };
};

export const wireOnce = (): Wired => once(wire);
