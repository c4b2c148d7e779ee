import { CloudfenceError } from '../fencing/errors.ts';
import type { Policy } from '../fencing/policy.ts';
import type { Ports } from '../fencing/run.ts';
import { openCloud, type CloudKit } from '../wiring/clouds.ts';
import { readEnvironment } from '../wiring/environment.ts';
import { openClusters, type OpenCluster } from '../wiring/open-clusters.ts';
import { policyOf, type Configuration } from '../wiring/schema.ts';
import { loadSettings, type Flags } from '../wiring/settings.ts';
import { systemClock } from '../wiring/system-clock.ts';
import type { Output } from './answer.ts';
import { stepList } from './step-list.ts';

/** Options that every command takes. */
export interface CommonOptions extends Flags {
  readonly dryRun?: boolean;
  readonly json?: boolean;
  /** In ms. */
  readonly timeout: number;
}

export interface Session {
  readonly settings: Configuration;
  readonly kit: CloudKit;
  readonly clusters: readonly OpenCluster[];
  readonly ports: Ports;
  readonly policy: Policy;
  /** Mono ms at which the command's time is up. */
  readonly deadline: number;
}

/** Opens what a command works with, and closes it whatever happens; Ctrl-C aborts what is in flight. */
export const withSession = async <T>(options: CommonOptions, output: Output, work: (session: Session) => Promise<T>): Promise<T> => {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new Error('interrupted'));
  process.once('SIGINT', interrupt);
  const opened: OpenCluster[] = [];
  try {
    return await work(await open(options, output, interrupted.signal, opened));
  } finally {
    process.removeListener('SIGINT', interrupt);
    interrupted.abort();
    await Promise.all(opened.map(({ close }) => close()));
  }
};

/** What is wrong with the configuration shows at once; a cluster out of reach may not even be needed. */
const openNow = async (opened: OpenCluster, output: Output): Promise<void> => {
  try {
    await opened.open();
  } catch (error) {
    if (!(error instanceof CloudfenceError) || !error.retry) throw error;
    output.complain(`${opened.cluster.name}: ${error.message}`);
  }
};

const open = async (options: CommonOptions, output: Output, signal: AbortSignal, opened: OpenCluster[]): Promise<Session> => {
  const settings = await loadSettings(readEnvironment(), options);
  const kit = await openCloud(settings.cloud, { region: settings.region ?? null });
  opened.push(...openClusters(settings.clusters, kit.access, signal));
  await Promise.all(opened.map((cluster) => openNow(cluster, output)));
  const clock = systemClock();
  const { observe } = stepList(options.json ? () => undefined : output.line);
  return {
    settings,
    kit,
    clusters: opened,
    ports: { cloud: kit.cloud, clusters: opened.map(({ cluster }) => cluster), clock, signal, observe },
    policy: policyOf(settings, options.dryRun ?? false),
    deadline: clock.now().mono + options.timeout,
  };
};
