import type { ClusterFacts, NodeFacts, VolumeFacts } from '../model/cluster-facts.ts';
import type { NodeQuery, Cluster, LookRequest } from '../model/cluster.ts';
import { asCloudfenceError } from '../model/errors.ts';
import { type DiskHolders, isImposter, type MachineFacts, type MachineId, offStates } from '../model/machine.ts';
import { clustersToAsk, type ClusterSearchResult } from './locate.ts';
import type { Command } from './command.ts';
import { clusterAt, type Ports } from './ports.ts';
import type { CommandResult } from './reduce.ts';
import { createSharedLooks } from './groups.ts';
import type { RunState, ClusterLocation, Observation } from './state.ts';

/** Runs the reads of a look command: the machine, its cluster, or all clusters that may contain its Node. */

const queryFor = (state: RunState, machine: MachineFacts): NodeQuery => ({
  machine: state.request.machine,
  nodeNames: machine.nodeNames,
  machineOf: state.identityRules.machineOf,
});

/**
 * Reads one cluster. If the Node is gone and its attachments name no machine, each look asks the cloud about their
 * disks again.
 */
const lookIn = async (
  cluster: Cluster,
  request: LookRequest,
  state: RunState,
  { cloud, clock, signal }: Ports,
): Promise<Observation<ClusterFacts>> => {
  const requestedAt = clock.now();
  const found = await cluster.look(request, signal);
  const silent = cloud.holders ? volumesOfUnknownOwner(found, state) : [];
  const value =
    cloud.holders && silent.length > 0
      ? keepOwnVolumes(found, silent, state, await cloud.holders(silent, signal))
      : found;
  return { value, requestedAt, receivedAt: clock.now().mono };
};

/**
 * Returns the Node names under which attachments may belong to the machine although they name no machine. Returns an
 * empty list if the cloud cannot say which machine holds a disk.
 */
const namesOf = (
  machine: MachineFacts | undefined,
  location: ClusterLocation | null,
  { cloud }: Ports,
): readonly string[] =>
  cloud.holders
    ? [...new Set([location?.node ?? '', ...(machine?.nodeNames ?? [])])].filter((name) => name !== '')
    : [];

/**
 * Reads the cluster in which the machine lives. If the Node is gone, its attachments can be found only by Node name,
 * and only the cloud knows the possible names. So this read waits until the machine has been read.
 */
const lookAtCluster = async (
  state: RunState,
  search: boolean,
  asked: Promise<Observation<MachineFacts>> | null,
  ports: Ports,
): Promise<Observation<ClusterFacts>> => {
  const waitsForNames = ports.cloud.holders !== undefined && state.location?.node === null;
  const machine = (waitsForNames ? await asked : null) ?? state.machine;
  const query: NodeQuery = { machine: state.request.machine, nodeNames: [], machineOf: state.identityRules.machineOf };
  const { attachments, detached, volumesLeft } = state.memory;
  const named = namesOf(machine?.value, state.location, ports);
  const request = {
    query,
    node: state.location?.node ?? null,
    remembered: state.record,
    successorsOf: [...detached],
    search,
    named,
    ...(attachments && { attachments }),
    ...(volumesLeft.length > 0 && { volumesLeft }),
  };
  return lookIn(clusterAt(state.location, ports), request, state, ports);
};

/** Reads the machine, the cluster, or both concurrently. */
export const runLook = async (
  wanted: Extract<Command, { do: 'look' }>,
  state: RunState,
  ports: Ports,
): Promise<CommandResult> => {
  const { look } = ports.looks ?? createSharedLooks(ports, () => 1);
  const asked = wanted.machine ? look(state.request.machine, wanted.disks, ports.signal) : null;
  const found = wanted.cluster ? lookAtCluster(state, wanted.search, asked, ports) : null;
  const [machine, cluster] = await Promise.all([asked, found]);
  const value = cluster && withoutFreed(cluster.value, (machine ?? state.machine)?.value, state);
  return { to: 'look', machine, cluster: cluster && value && { ...cluster, value } };
};

/** Searches all clusters in which the machine may have its Node. */
export const searchClusters = async (
  machine: MachineFacts,
  state: RunState,
  ports: Ports,
): Promise<readonly ClusterSearchResult[]> => {
  const found = await Promise.all(
    clustersToAsk(machine, ports.clusters).map(async (cluster) => findIn(cluster, machine, state, ports)),
  );
  const several = found.flatMap(({ nodes }) => nodes).length > 1;
  return several ? Promise.all(found.map((one) => withMarks(one, ports))) : found;
};

const withMarks = async (found: ClusterSearchResult, { clusters, signal }: Ports): Promise<ClusterSearchResult> => {
  const cluster = clusters.find(({ name }) => name === found.cluster);
  const checks = await Promise.all(
    found.nodes.map(async (node) => ({ node, recheck: await cluster?.recheck(node, signal) })),
  );
  return { ...found, marked: checks.flatMap(({ node, recheck }) => (recheck?.taints.ours ? [node] : [])) };
};

/**
 * Returns whether the Node itself names the machine. Returns false if the Node's providerID names another machine. A
 * Node that only its CSINode connects with the machine is found only by a search.
 */
const namesMachine = ({ identitySources }: NodeFacts, query: NodeQuery): boolean =>
  identitySources.some((source) => source.source !== 'csiNode' && query.machineOf(source) === query.machine) &&
  !isImposter(identitySources, query);

/**
 * Looks at the Node with the likeliest name. The guess is usually right, and then no search is needed. Returns null if
 * that Node does not belong to the machine.
 */
const lookAtGuess = async (
  cluster: Cluster,
  query: NodeQuery,
  { power }: MachineFacts,
  state: RunState,
  ports: Ports,
): Promise<Observation<ClusterFacts> | null> => {
  const node = query.nodeNames.find((name) => name !== '');
  if (node === undefined) return null;
  const request = {
    query,
    node,
    nodeOnly: true,
    beforeReservation: offStates.has(power),
    remembered: state.record,
    successorsOf: [...state.memory.detached],
  };
  const found = await lookIn(cluster, request, state, ports);
  return found.value.node && namesMachine(found.value.node, query) ? found : null;
};

/**
 * Searches one cluster for the machine. An error is also a result, because a cluster that does not answer may contain
 * the machine's Node.
 */
const findIn = async (
  cluster: Cluster,
  machine: MachineFacts,
  state: RunState,
  ports: Ports,
): Promise<ClusterSearchResult> => {
  const query = queryFor(state, machine);
  const { name } = cluster;
  try {
    const guessed = await lookAtGuess(cluster, query, machine, state, ports);
    if (guessed)
      return { cluster: name, nodes: [guessed.value.nodeName ?? ''], marked: [], facts: guessed, error: null };
    const nodes = await cluster.find(query, ports.signal);
    const request = {
      query,
      node: null,
      remembered: state.record,
      successorsOf: [],
      named: namesOf(machine, null, ports),
    };
    const leftovers = nodes.length > 0 ? null : await lookIn(cluster, request, state, ports);
    return { cluster: name, nodes, marked: [], facts: leftovers, error: null };
  } catch (error) {
    return { cluster: name, nodes: [], marked: [], facts: null, error: asCloudfenceError(error) };
  }
};

/**
 * The functions below find the machine of attachments that name no machine and whose Node is gone. The Node's name
 * alone proves nothing, because names are reused. Instead, the cloud is asked which machine holds the disks.
 */

type Ownership = Pick<RunState, 'identityRules' | 'record'> & {
  readonly request: Pick<RunState['request'], 'machine'>;
  readonly memory: Pick<RunState['memory'], 'volumesLeft'>;
};

type Freeing = Ownership & { readonly memory: Pick<RunState['memory'], 'detached'> };

const recordOf = ({ record, request }: Ownership) => (record?.machine === request.machine ? record : null);

/** Returns the machine ID that the attacher wrote on the attachment, or null if it is not an ID of this cloud. */
const machineNotedOn = ({ attachment }: VolumeFacts, { identityRules }: Ownership): MachineId | null =>
  attachment?.source ? identityRules.machineOf(attachment.source) : null;

const isRecorded = ({ attachmentName }: VolumeFacts, whose: Ownership): boolean =>
  recordOf(whose)?.volumes.some(({ attachment }) => attachment === attachmentName) ?? false;

/** Returns whether an earlier look has shown that the volume was attached to the machine, and it no longer is. */
const wasLeft = ({ attachment, attachmentName }: VolumeFacts, { memory }: Ownership): boolean =>
  attachment === null && memory.volumesLeft.some((volume) => volume.attachmentName === attachmentName);

/**
 * Returns the attached volumes of a deleted Node that neither the attacher nor an earlier fence assigns to a machine.
 * If at least one attachment names the machine, all volumes belong to it, and the list is empty.
 */
export const volumesOfUnknownOwner = ({ node, volumes }: ClusterFacts, whose: Ownership): readonly VolumeFacts[] =>
  node || volumes.some((volume) => machineNotedOn(volume, whose) === whose.request.machine)
    ? []
    : volumes.filter((volume) => volume.attachment && !isRecorded(volume, whose));

/**
 * Returns whether the disks prove that the volumes belong to the machine. If the machine holds one of the disks, all
 * volumes belong to it. If the machine holds none of them, all disks must be free, and Kubernetes must have seen at
 * least one of them attached. A disk whose attach was only planned was never attached to the machine. If another
 * machine holds one of the disks, none of the volumes count, because that machine may use the name now. The volumes of
 * other drivers say nothing.
 */
const provesOwnership = (
  machine: MachineId,
  volumes: readonly VolumeFacts[],
  { identityRules }: Ownership,
  diskHolders: readonly DiskHolders[],
): boolean => {
  const ofThisCloud = volumes.filter((volume) => identityRules.diskOf(volume) !== null);
  const holders = ofThisCloud.map(
    (volume) => diskHolders.find(({ disk }) => disk === identityRules.diskOf(volume))?.by ?? null,
  );
  if (holders.some((by) => by !== null && by.length > 0 && !by.includes(machine))) return false;
  const wasAttached = ofThisCloud.some(({ attachment }) => attachment?.attached);
  return holders.some((by) => by?.includes(machine)) || (wasAttached && holders.every((by) => by?.length === 0));
};

/**
 * Returns the facts without everything that comes only from volumes whose machine is unknown. A claim that cannot be
 * resolved may be one of the attached volumes. If none is left, nothing shows that its pod was on this machine.
 */
const withoutSilent = (facts: ClusterFacts, silent: readonly VolumeFacts[], whose: Ownership): ClusterFacts => {
  const spoken = facts.volumes.filter((volume) => !silent.includes(volume));
  const attached = new Set(spoken.filter(({ attachment }) => attachment !== null).map(({ key }) => key));
  const noted = new Set(recordOf(whose)?.pods.map(({ uid }) => uid));
  const pods = facts.pods.filter(
    ({ uid, volumes, unresolved }) =>
      noted.has(uid) || (attached.size > 0 && unresolved.length > 0) || volumes.some((key) => attached.has(key)),
  );
  const wanted = new Set(pods.flatMap(({ volumes }) => volumes));
  return {
    ...facts,
    pods,
    volumes: spoken.filter(
      (volume) =>
        isRecorded(volume, whose) || wasLeft(volume, whose) || attached.has(volume.key) || wanted.has(volume.key),
    ),
  };
};

/**
 * Returns the facts without volumes that only an earlier look without a Node has shown, and whose disks are free. A
 * volume that this run detached stays, because the attacher may yet have to attach it elsewhere.
 */
export const withoutFreed = (facts: ClusterFacts, machine: MachineFacts | undefined, state: Freeing): ClusterFacts => {
  if (facts.node || !machine) return facts;
  const { detached } = state.memory;
  const held = new Set(machine.disks.map(({ disk }) => disk));
  const wanted = new Set(facts.pods.flatMap(({ volumes }) => volumes));
  const isFreed = (volume: VolumeFacts): boolean =>
    wasLeft(volume, state) &&
    !isRecorded(volume, state) &&
    !wanted.has(volume.key) &&
    !detached.has(volume.key) &&
    !held.has(state.identityRules.diskOf(volume) ?? '');
  return { ...facts, volumes: facts.volumes.filter((volume) => !isFreed(volume)) };
};

/**
 * Returns only the facts that belong to this machine, according to the disks. If the disks do not give a clear answer,
 * leaves out all volumes whose machine is unknown.
 */
export const keepOwnVolumes = (
  facts: ClusterFacts,
  silent: readonly VolumeFacts[],
  whose: Ownership,
  diskHolders: readonly DiskHolders[],
): ClusterFacts =>
  provesOwnership(whose.request.machine, silent, whose, diskHolders) ? facts : withoutSilent(facts, silent, whose);
