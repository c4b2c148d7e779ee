import { createInterface } from 'node:readline';
import { machineOfNode } from '../../diagnosis/by-name.ts';
import type { DrillFacts } from '../../drill/checks.ts';
import { type DrillReport, drillJson, drillLines, drillMarkdown, isTooSlow } from '../../drill/report.ts';
import { conductDrill } from '../../drill/run.ts';
import type { DrillOptions, DrillResult, DrillTools } from '../../drill/tools.ts';
import { InvalidInput, InvalidConfiguration } from '../../fencing/model/errors.ts';
import { listSome } from '../../fencing/model/reason.ts';
import { searchPorts } from '../../app/search-ports.ts';
import { refuseUnwritable, writeOutput } from '../output-file.ts';
import { type Terminal, INTERRUPTED, NEEDS_PERSON } from '../answer.ts';
import { openCloudsOf, withSession, type CommonOptions, type Session } from '../session.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import { runAll } from '../../fencing/loop/run.ts';
import { createDrillCluster } from '../../kubernetes/drill/cluster.ts';
import type { OpenedCloud } from '../../providers/plugin.ts';
import type { OpenCluster } from '../../app/open-clusters.ts';
import { newRunId } from '../../config/environment.ts';

export interface DrillCommandOptions extends CommonOptions {
  readonly node: string;
  readonly yes?: boolean;
  readonly namespace: string;
  readonly image: string;
  readonly storageClass?: string;
  /** The group that would replace the machine, after a person has suspended it. */
  readonly suspendedGroup?: string;
  readonly fenceHere?: boolean;
  /** In ms. */
  readonly threshold?: number;
  readonly output?: string;
}

const exitCodeOf = (report: DrillReport): number => {
  if (report.left.length > 0 || isTooSlow(report)) return 1;
  if (report.end === 'interrupted') return INTERRUPTED;
  if (report.end === 'refused' || report.end === 'declined') return NEEDS_PERSON;
  return report.end === 'recovered' || report.end === 'checked' ? 0 : 1;
};

const planLines = ({ nodeName, machine, drilledNode, cluster }: DrillFacts): readonly string[] => {
  const moving = drilledNode.pods.map(({ name }) => name);
  return [
    `This stops ${machine.machine}, the machine of Node ${nodeName}, as a failure would.`,
    moving.length === 0
      ? 'No other pod has to move.'
      : `Cloudfence deletes ${moving.length} other pods of the Node, without a grace period, and their ` +
        `controllers create them again: ${listSome(moving)}.`,
    `The canary can move to ${listSome(drilledNode.spares)}. Its volume has the StorageClass ` +
      `${drilledNode.storageClass?.name ?? ''}.`,
    ...(drilledNode.cap
      ? [
          `The fence counts for the cap for 15 minutes: it is fence ${drilledNode.cap.begun + 1} of at most ` +
            `${drilledNode.cap.limits.begun}.`,
        ]
      : []),
    ...(cluster.taintSupported ? [] : ['The cluster does not know the out-of-service taint.']),
  ];
};

/** Reads one line. The end of the input, or an interruption, is not an answer. */
const readAnswer = (terminal: Terminal, signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => {
    const lines = createInterface({ input: terminal.input(), signal });
    lines.once('line', (line) => {
      resolve(line.trim());
      lines.close();
    });
    lines.once('close', () => resolve(''));
  });

const asksPerson =
  ({ yes = false, node }: DrillCommandOptions, terminal: Terminal, { ports }: Session) =>
  async (plan: DrillFacts): Promise<boolean> => {
    for (const line of planLines(plan)) terminal.complain(line);
    if (yes) return true;
    terminal.complain(`To begin, type the name of the Node (${node}):`);
    return (await readAnswer(terminal, ports.signal)) === node;
  };

const optionsOf = (options: DrillCommandOptions, machine: string, { policy }: Session): DrillOptions => ({
  target: { node: options.node, machine },
  canary: { namespace: options.namespace, image: options.image, storageClass: options.storageClass ?? null },
  checks: { policy, suspendedGroup: options.suspendedGroup ?? null },
  timeout: options.timeout,
  dryRun: options.dryRun ?? false,
});

const locate = async ({ node }: DrillCommandOptions, session: Session) => {
  const found = await machineOfNode(node, searchPorts({ ...session, openClusters: session.clusters }));
  if (!found) throw new InvalidInput(`no cluster has a Node ${node}`);
  return found;
};

const contentOf = (report: DrillReport, file: string): string =>
  file.endsWith('.json') ? `${JSON.stringify(drillJson(report), null, 2)}\n` : drillMarkdown(report);

const print = async (report: DrillReport, { json, output }: DrillCommandOptions, { line }: Terminal): Promise<void> => {
  if (json) line(JSON.stringify(drillJson(report)));
  else for (const text of drillLines(report)) line(text);
  if (output !== undefined) await writeOutput(output, contentOf(report, output));
};

const refuseUnknownForm = ({ output }: DrillCommandOptions): void => {
  if (output !== undefined && !/\.(json|md)$/.test(output))
    throw new InvalidInput(`${output} ends with neither .md nor .json: write one of them with --output`);
};

/** Prints what the first Ctrl-C does. */
const sayUndoing = (terminal: Terminal, interrupted: AbortSignal): (() => void) => {
  const say = (): void =>
    terminal.complain('interrupted: the drill undoes what it did. Press Ctrl-C again to stop that');
  interrupted.addEventListener('abort', say, { once: true });
  return () => interrupted.removeEventListener('abort', say);
};

const runDrill = async (
  options: DrillCommandOptions,
  session: Session,
  terminal: Terminal,
  giveUp: AbortController,
): Promise<number> => {
  if (options.output !== undefined) await refuseUnwritable(options.output);
  const { machine, cluster, node } = await locate(options, session);
  await openCloudsOf([machine], session);
  const { clusters: openClusters, openedCloud, ports, policy } = session;
  const fenceHere = options.fenceHere ?? false;
  const opened = await openDrill({ machine, cluster }, { openClusters, openedCloud, ports, policy }, fenceHere);
  const stopSaying = sayUndoing(terminal, ports.signal);
  const confirm = asksPerson(options, terminal, session);
  try {
    const tools = { ...opened, giveUp: giveUp.signal, tell: terminal.complain, confirm };
    const result: DrillResult = await conductDrill(optionsOf(options, machine, session), tools);
    const threshold = options.threshold ?? null;
    const report: DrillReport = { ...result, node, cluster, machine, threshold, proofs: { fencedHere: fenceHere } };
    await print(report, options, terminal);
    return exitCodeOf(report);
  } finally {
    stopSaying();
  }
};

/**
 * Stops the machine of a labelled Node, and measures how the installed Cloudfence reacts. A cancelled pipeline or a
 * closed terminal must not leave the machine off. The first Ctrl-C ends the drill and lets it clean up. A second one
 * ends the cleanup.
 */
export const drill = (options: DrillCommandOptions, terminal: Terminal): Promise<number> => {
  refuseUnknownForm(options);
  const giveUp = new AbortController();
  const work = (session: Session): Promise<number> => runDrill(options, session, terminal, giveUp);
  return withSession({ ...options, json: true }, terminal, work, {
    whenInterrupted: INTERRUPTED,
    alsoOn: ['SIGTERM', 'SIGHUP'],
    renewsUntil: giveUp.signal,
    onSecondInterrupt: () => giveUp.abort(new Error('interrupted again')),
  });
};

/** The parts of which a drill is built. */
interface DrillParts {
  readonly openedCloud: Pick<OpenedCloud, 'drill'>;
  readonly openClusters: readonly Pick<OpenCluster, 'cluster' | 'connection'>[];
  readonly ports: Ports;
  readonly policy: Policy;
}

/** The time limit of one run (ms), and the pause before the next one. */
const RUN_LASTS_MS = 60_000;
const PAUSE_MS = 2_000;

/** Runs for the machine repeatedly, as the functions would, until the signal aborts. */
const fenceRepeatedly =
  (machine: MachineId, { ports, policy }: DrillParts) =>
  async (signal: AbortSignal): Promise<void> => {
    const own = { ...ports, signal };
    try {
      for (;;) {
        const deadline = ports.clock.now().mono + RUN_LASTS_MS;
        await runAll([machine], { policy, deadline, newRunId }, own);
        await ports.clock.sleep(PAUSE_MS, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };

/** Opens what a drill on this machine needs. @throws CloudfenceError */
export const openDrill = async (
  { machine, cluster }: { readonly machine: MachineId; readonly cluster: string },
  parts: DrillParts,
  fenceHere: boolean,
): Promise<Omit<DrillTools, 'giveUp' | 'tell' | 'confirm'>> => {
  const { openedCloud, openClusters, ports } = parts;
  const own = openClusters.find((one) => one.cluster.name === cluster);
  const drillCloud = await openedCloud.drill?.(machine);
  if (!own || !drillCloud)
    throw new InvalidConfiguration([`a drill on ${machine} in cluster ${cluster} is not possible`]);
  return {
    cloud: ports.cloud,
    clusters: ports.clusters,
    clock: ports.clock,
    signal: ports.signal,
    drillCloud,
    cluster: own.cluster,
    drillCluster: createDrillCluster(cluster, await own.connection()),
    drill: newRunId(),
    fenceHere: fenceHere ? fenceRepeatedly(machine, parts) : null,
  };
};
