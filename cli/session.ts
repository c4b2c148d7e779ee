import { CloudfenceError, Unavailable } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { Clock, Ports } from '../fencing/loop/ports.ts';
import type { CallClock as ClusterClock } from '../kubernetes/connection.ts';
import { openClouds } from '../app/clouds.ts';
import type { OpenedCloud } from '../providers/plugin.ts';
import { readEnvironment, readVariable } from '../config/environment.ts';
import { connectClustersAhead, openClusters, type PreparedCluster } from '../app/open-clusters.ts';
import { policyOf, type Configuration } from '../config/schema.ts';
import { loadSettings, type CommandLineFlags } from '../config/settings.ts';
import { printOutcome, outcomeOfError, type Output, type Terminal, INTERRUPTED } from './answer.ts';
import { createRunLogs, type RunLogs } from '../functions/incidents.ts';
import { warnings } from './incident-place.ts';
import { createProgress, type ProgressOptions } from './progress.ts';

/** Options that every command takes. */
export interface CommonOptions extends CommandLineFlags, ProgressOptions {
  readonly dryRun?: boolean;
  /** In ms. */
  readonly timeout: number;
}

export interface Session {
  readonly settings: Configuration;
  readonly openedCloud: OpenedCloud;
  readonly clusters: readonly PreparedCluster[];
  readonly ports: Ports;
  readonly policy: Policy;
  /** The logs of the command's runs. */
  readonly logs: RunLogs;
  /** The deadline of the command, in ms of the monotonic clock. */
  readonly deadline: number;
}

/**
 * Opens the clouds of these machines now, so that a configuration error shows immediately. Replaces a scale set with
 * its machines.
 */
export const openCloudsOf = async (
  machines: readonly MachineId[],
  { openedCloud, ports }: Session,
): Promise<readonly MachineId[]> => (openedCloud.expand ? openedCloud.expand(machines, ports.signal) : machines);

const INTERRUPTION = 'interrupted: Cloudfence keeps the steps that it took. Run the same command again to continue';

const sayInterrupted = ({ dryRun = false, json = false }: CommonOptions, output: Output, answered: boolean): number => {
  output.complain(`cloudfence: ${INTERRUPTION}`);
  if (json && !answered) printOutcome(outcomeOfError(new Unavailable(INTERRUPTION), dryRun), true, output);
  return INTERRUPTED;
};

interface SessionEnd {
  /** The exit code of a command that handles Ctrl-C itself. Null for a command that can be continued. */
  readonly whenInterrupted?: number | null;
  /** Signals that interrupt the command like Ctrl-C, however often they arrive. */
  readonly alsoOn?: readonly NodeJS.Signals[];
  /**
   * The signal that ends the refresh of cluster credentials, if that is not the first Ctrl-C: a command that cleans up
   * afterwards still needs them.
   */
  readonly renewsUntil?: AbortSignal | null;
  /** What a second Ctrl-C does. If null, it ends the process. */
  readonly onSecondInterrupt?: (() => void) | null;
}

/** Opens the resources of a command, and always closes them. Ctrl-C aborts the calls in progress. */
export const withSession = async (
  options: CommonOptions,
  terminal: Terminal,
  work: (session: Session) => Promise<number>,
  { whenInterrupted = null, alsoOn = [], renewsUntil = null, onSecondInterrupt = null }: SessionEnd = {},
): Promise<number> => {
  const ending = new AbortController();
  const stopHandling = handleInterrupts({
    alsoOn,
    now: () => terminal.clock.now().mono,
    begin: () => ending.abort(new Unavailable('the user interrupted the command')),
    again: onSecondInterrupt,
  });
  const opened: PreparedCluster[] = [];
  const progress = createProgress(options, terminal);
  const logs = createRunLogs(warnings(terminal));
  try {
    const observe: Ports['observe'] = (...shown) => {
      progress.observe(...shown);
      logs.observe(...shown);
    };
    const session = await openSession(options, terminal, { signal: ending.signal, observe, renewsUntil }, opened);
    const code = await work({ ...session, logs }).finally(progress.stop);
    return ending.signal.aborted && whenInterrupted === null ? sayInterrupted(options, terminal, true) : code;
  } catch (error) {
    if (!ending.signal.aborted) throw error;
    return whenInterrupted ?? sayInterrupted(options, terminal, false);
  } finally {
    stopHandling();
    ending.abort();
    await Promise.all(opened.map(({ close }) => close()));
  }
};

/**
 * Opens a cluster now, so that a configuration error shows immediately. If a cluster is not reachable, this only prints
 * a message, because the command may not need it.
 */
const openNow = async (opened: PreparedCluster, output: Output): Promise<void> => {
  try {
    await opened.open();
  } catch (error) {
    if (!(error instanceof CloudfenceError) || !error.retry) throw error;
    output.complain(`${opened.cluster.name}: ${error.message}`);
  }
};

/** Calls to a cluster follow the same clock as the runs. */
const clusterClock = ({ now, sleep, timeout }: Clock): ClusterClock => ({
  now: () => now().wall,
  sleep,
  deadline: timeout,
});

const openSession = async (
  options: CommonOptions,
  { clock, ...output }: Terminal,
  { signal, observe, renewsUntil }: Pick<Ports, 'signal' | 'observe'> & Pick<SessionEnd, 'renewsUntil'>,
  opened: PreparedCluster[],
): Promise<Omit<Session, 'logs'>> => {
  const settings = await loadSettings(readEnvironment(), options);
  const { cloud = null, region = null, clusters, territories } = settings;
  const onRequestsSent = () => connectClustersAhead(opened);
  const own = { variable: readVariable, region, account: null, onRequestsSent };
  const openedCloud = await openClouds({ ...own, cloud, clusters, territories });
  opened.push(...openClusters(clusters, openedCloud.access, renewsUntil ?? signal, clusterClock(clock)));
  await Promise.all(opened.map((cluster) => openNow(cluster, output)));
  return {
    settings,
    openedCloud,
    clusters: opened,
    ports: { cloud: openedCloud.cloud, clusters: opened.map(({ cluster }) => cluster), clock, signal, observe },
    policy: policyOf(settings, options.dryRun ?? false),
    deadline: clock.now().mono + options.timeout,
  };
};

/**
 * Two signals within this time (ms) count as one Ctrl-C: a terminal sends it to every process of the command, and the
 * launcher on an older Node also forwards it.
 */
const SAME_CTRL_C_MS = 500;

export interface Interruption {
  /** Signals that interrupt like the first Ctrl-C, however often they arrive. */
  readonly alsoOn: readonly NodeJS.Signals[];
  /** The monotonic clock (ms). */
  readonly now: () => number;
  /** Runs on the first signal. */
  readonly begin: () => void;
  /** Runs on each later Ctrl-C. If null, Ctrl-C ends the process. */
  readonly again: (() => void) | null;
}

/**
 * Handles Ctrl-C until the caller calls the returned function. A copy of the first Ctrl-C may still arrive while the
 * process ends, and must not change how it ends.
 */
export const handleInterrupts = ({ alsoOn, now, begin, again }: Interruption): (() => void) => {
  let begun: number | null = null;
  let isOver = false;
  const first = (): void => {
    begun ??= now();
    begin();
  };
  const stopHandling = (): void => void process.removeListener('SIGINT', onCtrlC);
  const endProcess = (): void => {
    stopHandling();
    process.kill(process.pid, 'SIGINT');
  };
  const onCtrlC = (): void => {
    if (isOver) return;
    if (begun === null) first();
    else if (now() - begun >= SAME_CTRL_C_MS) (again ?? endProcess)();
  };
  process.on('SIGINT', onCtrlC);
  for (const signal of alsoOn) process.on(signal, first);
  return () => {
    isOver = true;
    for (const signal of alsoOn) process.removeListener(signal, first);
    const copiesArriveFor = begun === null ? 0 : SAME_CTRL_C_MS - (now() - begun);
    if (copiesArriveFor > 0) setTimeout(stopHandling, copiesArriveFor).unref();
    else stopHandling();
  };
};
