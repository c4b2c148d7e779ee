import type { Cluster, Clues, LookRequest } from './cluster.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import { inHierarchy, Unavailable } from './errors.ts';
import type { Known, Place, Read } from './known.ts';
import type { Answer } from './learn.ts';
import type { MachineFacts } from './machine.ts';
import type { Command } from './next.ts';
import { clustersToAsk, type Found } from './place.ts';
import { clusterAt, type Ports } from './ports.ts';
import { ownLeftovers, silentVolumes } from './whose.ts';

const lookAtMachine = async ({ request }: Known, disks: boolean, { cloud, clock, signal }: Ports): Promise<Read<MachineFacts>> => {
  const askedAt = clock.now();
  const [says] = await cloud.look([request.machine], { disks }, signal);
  if (!says) throw new Unavailable(`the cloud gave no answer for ${request.machine}`);
  return { says, askedAt, gotAt: clock.now().mono };
};

const cluesFor = (known: Known, machine: MachineFacts): Clues => ({
  machine: known.request.machine,
  nodeNames: machine.nodeNames,
  machineOf: known.reading.machineOf,
});

/** A look at one cluster. Where the Node is gone and attachments name no machine, their disks are asked, each time anew. */
const lookIn = async (cluster: Cluster, request: LookRequest, known: Known, { cloud, clock, signal }: Ports): Promise<Read<ClusterFacts>> => {
  const askedAt = clock.now();
  const found = await cluster.look(request, signal);
  const silent = cloud.holders ? silentVolumes(found, known) : [];
  const says = cloud.holders && silent.length > 0 ? ownLeftovers(found, silent, known, await cloud.holders(silent, signal)) : found;
  return { says, askedAt, gotAt: clock.now().mono };
};

/** Names by which alone attachments may be the machine's: only where its cloud can ask their disks. */
const namesOf = (machine: MachineFacts | undefined, place: Place | null, { cloud }: Ports): readonly string[] =>
  cloud.holders ? [...new Set([place?.node ?? '', ...(machine?.nodeNames ?? [])])].filter((name) => name !== '') : [];

/** Without a Node its names are all there is to go by, and only the cloud knows them. */
const lookAtCluster = async (known: Known, search: boolean, asked: Promise<Read<MachineFacts>> | null, ports: Ports): Promise<Read<ClusterFacts>> => {
  const waitsForNames = ports.cloud.holders !== undefined && known.place?.node === null;
  const machine = (waitsForNames ? await asked : null) ?? known.machine;
  const clues: Clues = { machine: known.request.machine, nodeNames: [], machineOf: known.reading.machineOf };
  const { attachments, detached } = known.memory;
  const named = namesOf(machine?.says, known.place, ports);
  const request = { clues, node: known.place?.node ?? null, remembered: known.record, follow: [...detached], search, named, ...(attachments && { attachments }) };
  return lookIn(clusterAt(known.place, ports), request, known, ports);
};

/** The machine, the cluster, or both at once. */
export const look = async (wanted: Extract<Command, { do: 'look' }>, known: Known, ports: Ports): Promise<Answer> => {
  const asked = wanted.machine ? lookAtMachine(known, wanted.disks, ports) : null;
  const [machine, cluster] = await Promise.all([asked, wanted.cluster ? lookAtCluster(known, wanted.search, asked, ports) : null]);
  return { to: 'look', machine, cluster };
};

/** Asks all clusters in which the machine may live. */
export const locate = async (machine: MachineFacts, known: Known, ports: Ports): Promise<readonly Found[]> => {
  const found = await Promise.all(clustersToAsk(machine, ports.clusters).map(async (cluster) => findIn(cluster, machine, known, ports)));
  const several = found.flatMap(({ nodes }) => nodes).length > 1;
  return several ? Promise.all(found.map((one) => withMarks(one, ports))) : found;
};

const withMarks = async (found: Found, { clusters, signal }: Ports): Promise<Found> => {
  const cluster = clusters.find(({ name }) => name === found.cluster);
  const checks = await Promise.all(found.nodes.map(async (node) => ({ node, says: await cluster?.recheck(node, signal) })));
  return { ...found, marked: checks.flatMap(({ node, says }) => (says?.taints.ours ? [node] : [])) };
};

/** A cluster that does not answer is an answer too: the machine may live there. */
const findIn = async (cluster: Cluster, machine: MachineFacts, known: Known, ports: Ports): Promise<Found> => {
  const clues = cluesFor(known, machine);
  try {
    const nodes = await cluster.find(clues, ports.signal);
    const request = { clues, node: null, remembered: known.record, follow: [], named: namesOf(machine, null, ports) };
    const leftovers = nodes.length > 0 ? null : await lookIn(cluster, request, known, ports);
    return { cluster: cluster.name, nodes, marked: [], leftovers, error: null };
  } catch (error) {
    return { cluster: cluster.name, nodes: [], marked: [], leftovers: null, error: inHierarchy(error) };
  }
};
