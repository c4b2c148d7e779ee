import { quoteBeginning } from '../fencing/model/foreign-text.ts';
import type { MachineFacts, MachineId } from '../fencing/model/machine.ts';
import { CloudfenceError, InvalidConfiguration, InvalidInput, Unavailable } from '../fencing/model/errors.ts';
import { pluralize, listSome } from '../fencing/model/reason.ts';
import { linkFromKubeConfigs } from '../kubernetes/access.ts';
import { contextsOf, type KubeConfigText, type KubeContext } from '../kubernetes/kubeconfig.ts';
import { openConnection } from '../kubernetes/cluster.ts';
import type { CallClock } from '../kubernetes/connection.ts';
import { type Inventory, type InventoryNode, readInventory } from '../kubernetes/readings/inventory.ts';
import type { CloudPlugin } from '../providers/plugin.ts';
import type { SeenCluster, SeenNode, StageWriter } from '../providers/stage.ts';
import { openClouds, registeredClouds } from '../app/clouds.ts';
import { readVariable } from '../config/environment.ts';

/** Reads the clusters of a kubeconfig, and asks their cloud about the machines. Writes nothing. */

export interface SurveyedCluster extends SeenCluster {
  readonly inventory: Inventory;
  /**
   * The name of the cluster in the cloud's tags. Null if the tags do not contain one, or if the cloud was not asked.
   */
  readonly tagged: string | null;
}

export interface Survey {
  readonly cloud: string;
  readonly writer: StageWriter;
  readonly clusters: readonly SurveyedCluster[];
  readonly unreachable: readonly { readonly context: string; readonly says: string }[];
  /** Contexts that were not read, with the reason. */
  readonly others: readonly { readonly context: string; readonly says: string }[];
  /** What the cloud says about the machines, or why it was not asked. */
  readonly confirmed: string;
  /** Whether the cloud answered. */
  readonly answered: boolean;
}

export interface SurveyOptions {
  readonly kubeconfigs: readonly KubeConfigText[];
  /** Names of contexts; none for the current one. */
  readonly contexts: readonly string[];
  readonly all: boolean;
  /** The cloud for which to write the file; null for the cloud of the Nodes. */
  readonly cloud: string | null;
}

interface ChosenContexts {
  readonly contexts: readonly KubeContext[];
  readonly others: Survey['others'];
}

/** Two contexts of the same API server are one cluster with two users. */
const chooseContexts = ({ kubeconfigs, contexts: named, all }: SurveyOptions): ChosenContexts => {
  const { contexts, current } = contextsOf(kubeconfigs);
  const wanted = named.length > 0 ? named : current === null ? [] : [current];
  const unknown = named.filter((name) => !contexts.some((context) => context.name === name));
  if (unknown.length > 0) throw new InvalidConfiguration([`the kubeconfig has no context named ${listSome(unknown)}`]);
  if (!all && wanted.length === 0)
    throw new InvalidConfiguration([
      'the kubeconfig has no current context: name one with --context, or give --all-contexts',
    ]);
  const inOrder = contexts.toSorted((one, other) => Number(other.name === current) - Number(one.name === current));
  const asked = inOrder.filter(({ name }) => all || wanted.includes(name));
  const first = (context: KubeContext) => asked.find(({ host }) => host === context.host && host !== '') ?? context;
  return {
    contexts: asked.filter((context) => first(context) === context),
    others: inOrder.flatMap((context) => {
      const same = first(context);
      if (same !== context) return [{ context: context.name, says: `the same cluster as ${same.name}` }];
      return asked.includes(context) ? [] : [{ context: context.name, says: 'not asked for: name it with --context' }];
    }),
  };
};

type ContextResult =
  | { readonly context: KubeContext; readonly inventory: Inventory }
  | { readonly context: KubeContext; readonly says: string };

const readContext = async (
  context: KubeContext,
  kubeconfigs: readonly KubeConfigText[],
  clock: CallClock,
  signal: AbortSignal,
): Promise<ContextResult> => {
  try {
    const link = linkFromKubeConfigs(kubeconfigs, context.name);
    const connection = openConnection({ name: context.name, link, clock });
    try {
      return { context, inventory: await readInventory(context.name, connection, signal) };
    } finally {
      await link.close();
    }
  } catch (error) {
    if (error instanceof CloudfenceError) return { context, says: error.message };
    throw error;
  }
};

type ReachedContext = Extract<ContextResult, { readonly inventory: Inventory }>;

const machineOn = ({ identitySources }: InventoryNode, { machineOf }: CloudPlugin): MachineId | null =>
  identitySources.map(machineOf).find((machine) => machine !== null) ?? null;

const cloudsOf = ({ inventory }: ReachedContext, plugins: readonly CloudPlugin[]): readonly CloudPlugin[] =>
  plugins.filter((plugin) => inventory.nodes.some((node) => machineOn(node, plugin) !== null));

/** @throws InvalidInput if the Nodes belong to several clouds and the person did not select one */
const cloudFor = (
  found: readonly ReachedContext[],
  plugins: readonly CloudPlugin[],
  wanted: string | null,
): CloudPlugin => {
  const named = plugins.find(({ name }) => name === wanted);
  if (named) return named;
  if (wanted !== null)
    throw new InvalidInput(
      `${quoteBeginning(wanted)} is not a supported cloud: use one of ${plugins.map(({ name }) => name).join(', ')}`,
    );
  const [only, second] = [...new Set(found.flatMap((one) => cloudsOf(one, plugins)))];
  if (only && !second) return only;
  throw new InvalidInput(
    only
      ? 'the Nodes are machines of several clouds: say with --cloud for which one to write, and run the command ' +
          'once for each'
      : 'no Node names a machine of a supported cloud: start the kubelets with --provider-id, or say with ' +
          '--cloud where they are',
  );
};

const providerIDOf = ({ identitySources }: InventoryNode): string | null =>
  identitySources.find(({ source }) => source === 'providerID')?.value ?? null;

const clusterSeen = (
  { context, inventory }: ReachedContext,
  plugin: CloudPlugin,
  writer: StageWriter,
): SeenCluster => ({
  name: writer.shortName(context.cluster),
  context: context.name,
  kubeconfigCluster: context.cluster,
  kubeconfigUser: context.user,
  host: context.host,
  programArgs: context.programArgs,
  version: inventory.version,
  nodes: inventory.nodes.map((node): SeenNode => ({
    name: node.name,
    providerID: providerIDOf(node),
    machine: machineOn(node, plugin),
    labels: node.labels,
  })),
});

/** The number of machines that are sufficient to show whether the cloud knows them. */
const MOST_ASKED = 20;

interface Answer {
  readonly facts: readonly MachineFacts[];
  readonly says: string;
}

const isKnown = ({ power }: MachineFacts): boolean => power !== 'missing' && power !== 'unknown';

/**
 * Asks the cloud about some machines, with the credentials that its SDK finds. If there is no answer, returns the
 * reason.
 */
const askCloud = async (
  { name }: CloudPlugin,
  writer: StageWriter,
  clusters: readonly SeenCluster[],
  signal: AbortSignal,
): Promise<Answer> => {
  const machines = clusters
    .flatMap(({ nodes }) => nodes.flatMap(({ machine }) => machine ?? []).slice(0, MOST_ASKED))
    .slice(0, MOST_ASKED);
  if (machines.length === 0) return { facts: [], says: `${writer.machines} was not asked: no Node names a machine` };
  try {
    const scope = writer.scopeOf(clusters);
    const { cloud } = await openClouds({
      variable: readVariable,
      cloud: name,
      clusters: [],
      territories: [],
      ...scope,
    });
    const facts = await cloud.look(machines, { disks: false }, signal);
    const known = facts.filter(isKnown).length;
    const doubt = known === facts.length ? '' : '. Check the credentials, and where the machines are';
    return { facts, says: `${writer.machines} knows ${known} of ${pluralize(facts.length, 'machine')} there${doubt}` };
  } catch (error) {
    if (!(error instanceof CloudfenceError)) throw error;
    return { facts: [], says: `${writer.machines} did not answer, so nothing is confirmed: ${error.message}` };
  }
};

/** Returns the only cluster name in the tags of a cluster's machines. */
const clusterTagOf = ({ nodes }: SeenCluster, facts: readonly MachineFacts[]): string | null => {
  const own = facts.filter(({ machine }) => nodes.some((node) => node.machine === machine));
  const [only, second] = [...new Set(own.flatMap(({ clusters }) => clusters))];
  return only !== undefined && second === undefined ? only : null;
};

/** Makes the names of the entries unique. The tag has priority, because the functions find the cluster by it. */
const withUniqueNames = (
  clusters: readonly Omit<SurveyedCluster, 'name'>[],
  writer: StageWriter,
): readonly SurveyedCluster[] => {
  const shortName = (one: Omit<SurveyedCluster, 'name'>): string =>
    one.tagged ?? writer.shortName(one.kubeconfigCluster);
  return clusters.map((one) => {
    const shared = clusters.some((other) => other !== one && shortName(other) === shortName(one));
    return { ...one, name: shared ? one.context : shortName(one) };
  });
};

/**
 * Surveys the clusters that the options name.
 * @throws InvalidConfiguration, InvalidInput, Unavailable (if no cluster answers)
 */
export const survey = async (options: SurveyOptions, clock: CallClock, signal: AbortSignal): Promise<Survey> => {
  const { contexts, others } = chooseContexts(options);
  const looked = await Promise.all(contexts.map((context) => readContext(context, options.kubeconfigs, clock, signal)));
  const found = looked.flatMap((one) => ('inventory' in one ? [one] : []));
  const unreachable = looked.flatMap((one) => ('says' in one ? [{ context: one.context.name, says: one.says }] : []));
  if (found.length === 0)
    throw new Unavailable(
      `no cluster answers: ${unreachable.map(({ context, says }) => `${context}: ${says}`).join('; ')}`,
    );
  const plugins = await registeredClouds();
  const plugin = cloudFor(found, plugins, options.cloud);
  const writer = await plugin.stageWriter();
  const ofCloud = found.filter((one) => cloudsOf(one, plugins).every(({ name }) => name === plugin.name));
  if (ofCloud.length === 0)
    throw new InvalidInput(`no cluster has Nodes on ${plugin.name}: omit --cloud, or name another context`);
  const seen = ofCloud.map((one) => ({ ...clusterSeen(one, plugin, writer), inventory: one.inventory }));
  const { facts, says } = await askCloud(plugin, writer, seen, signal);
  const elsewhere = found.filter((one) => !ofCloud.includes(one));
  return {
    cloud: plugin.name,
    writer,
    clusters: withUniqueNames(
      seen.map((one) => ({ ...one, tagged: clusterTagOf(one, facts) })),
      writer,
    ),
    unreachable,
    others: [
      ...others,
      ...elsewhere.map(({ context }) => ({ context: context.name, says: 'its Nodes are machines of another cloud' })),
    ],
    confirmed: says,
    answered: facts.some(isKnown),
  };
};
