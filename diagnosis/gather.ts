import { PermissionDenied } from '../fencing/model/errors.ts';
import type { MachineId, VolumeHandle } from '../fencing/model/machine.ts';
import { readSlots } from './attach-slots.ts';
import type { CloudMemory } from './cloud-memory.ts';
import { findTwin } from './twins.ts';
import {
  ifFound,
  type AttachmentView,
  type PodVolumeFacts,
  type PvcView,
  type NodeView,
  type NodeLocation,
  type PodView,
  type ReadResult,
  type VolumeView,
} from './model/facts.ts';
import type { DiagnosisReading, DiagnosedCloud, DiagnosedCluster } from './ports.ts';

/**
 * Collects the facts about pods and their claims. The number of reads is constant: about sixteen reads of the cluster
 * per claim, and three reads of the cloud for all claims together. All attachments are listed only if neither a pod nor
 * the disk names the holder of the volume.
 */

interface Sources {
  readonly cluster: DiagnosedCluster;
  readonly reading: DiagnosisReading;
  readonly rules: DiagnosedCloud['rules'];
  readonly clouds: CloudMemory;
  readonly signal: AbortSignal;
}

/** The facts that follow from the objects that the pod names. */
interface Start extends Omit<
  PodVolumeFacts,
  | 'target'
  | 'holders'
  | 'homes'
  | 'slots'
  | 'disk'
  | 'diskId'
  | 'strangers'
  | 'nodesSearched'
  | 'twin'
  | 'attacher'
  | 'attacherLocation'
> {
  readonly handle: VolumeHandle | null;
}

const ownerOf = async (pod: PodView | undefined, { reading }: Sources): Promise<PodVolumeFacts['workload']> =>
  pod?.owner ? reading.workload(pod.namespace, pod.owner) : null;

const rbd = (volume: VolumeView | null): boolean =>
  /(?:^|\.)(?:rbd|cephfs)\.csi\.ceph\.com$/.test(volume?.handle?.driver ?? '');

const startOf = async (pod: PodView, claimName: string | null, sources: Sources): Promise<Start> => {
  const { reading, cluster } = sources;
  const name = claimName === null ? null : { namespace: pod.namespace, name: claimName };
  const [events, claim, neighbors] = await Promise.all([
    reading.events(pod.namespace, pod.uid),
    name && reading.claim(name),
    name ? reading.podsIn(pod.namespace) : [],
  ]);
  const volumeName = ifFound(claim)?.volumeName ?? '';
  const volume: ReadResult<VolumeView> = volumeName === '' ? null : await reading.volume(volumeName);
  const users = neighbors.filter(({ uid, claims }) => uid !== pod.uid && claims.includes(claimName ?? ''));
  const others = users.filter((other) => !other.finished);
  const handle = ifFound(volume)?.handle ?? null;
  const [driver, workload, otherWorkload, networkFences] = await Promise.all([
    handle && reading.driver(handle.driver),
    others.length > 0 ? ownerOf(pod, sources) : null,
    ownerOf(others[0], sources),
    rbd(ifFound(volume)) ? reading.networkFences() : [],
  ]);
  return {
    cluster: cluster.cluster.name,
    pod,
    events,
    workload,
    claimName,
    claim,
    volume,
    driver,
    others,
    shutDown: users.filter(({ endedByShutdown }) => endedByShutdown),
    otherWorkload,
    networkFences,
    handle,
  };
};

const machineOfNode = (node: NodeView | null, { rules }: Pick<Sources, 'rules'>): MachineId | null =>
  node?.identitySources.map(rules.machineOf).find((machine) => machine !== null) ?? null;

const machineOfAttachment = (attachment: AttachmentView | null, { rules }: Pick<Sources, 'rules'>): MachineId | null =>
  attachment?.source ? rules.machineOf(attachment.source) : null;

/** Returns what is known about a location. The cloud has not been asked yet. */
export const locationAt = async (
  nodeName: string,
  handle: VolumeHandle | null,
  sources: Pick<Sources, 'reading' | 'rules'>,
): Promise<NodeLocation> => {
  const { reading } = sources;
  const [node, attachment] = await Promise.all([
    reading.node(nodeName),
    handle && reading.attachment(handle, nodeName),
  ]);
  const attachedMachine = machineOfAttachment(ifFound(attachment), sources);
  const machine = machineOfNode(ifFound(node), sources) ?? attachedMachine;
  return { nodeName, node, attachment, machine, attachedMachine, power: null };
};

interface Located extends Start {
  readonly target: NodeLocation | null;
  readonly holders: readonly NodeLocation[];
  readonly homes: readonly NodeLocation[];
  readonly nodesSearched: boolean;
  readonly twin: PodVolumeFacts['twin'];
  readonly attacher: PodVolumeFacts['attacher'];
  readonly attacherLocation: NodeLocation | null;
  readonly slots: PodVolumeFacts['slots'];
}

/** A local volume names one host. If a driver names more hosts, the first ones are sufficient. */
const MOST_HOMES = 3;

const homesOf = async ({ pod, volume }: Start, sources: Sources): Promise<readonly NodeLocation[]> => {
  const hosts = pod.node === null ? (ifFound(volume)?.hosts ?? []) : [];
  return Promise.all(hosts.slice(0, MOST_HOMES).map((host) => locationAt(host, null, sources)));
};

const located = async (start: Start, sources: Sources): Promise<Located> => {
  const own = start.pod.node;
  const names = new Set(start.others.map(({ node }) => node).filter((node) => node !== null && node !== own));
  const [target, ...holders] = await Promise.all([
    own === null ? null : locationAt(own, start.handle, sources),
    ...[...names].map((name) => locationAt(name ?? '', start.handle, sources)),
  ]);
  return {
    ...start,
    target: target ?? null,
    holders: holders.filter((location) => location !== null),
    homes: await homesOf(start, sources),
    nodesSearched: true,
    twin: null,
    attacher: null,
    attacherLocation: null,
    slots: [],
  };
};

const placesOf = ({ target, holders }: Located): readonly NodeLocation[] => (target ? [target, ...holders] : holders);

const machinesIn = (chains: readonly Located[]): readonly MachineId[] =>
  chains.flatMap((chain) => [...placesOf(chain), ...chain.homes]).flatMap(({ machine }) => machine ?? []);

/** Returns the machines that the disk names and that belong to none of the known locations. */
const unplaced = (chain: Located, { clouds }: Sources): readonly MachineId[] => {
  const placed = new Set(machinesIn([chain]));
  return (ifFound(clouds.disk(chain.handle))?.holders ?? [])
    .map(({ machine }) => machine)
    .filter((id) => !placed.has(id));
};

/** Returns `unread` if Nodes may not be listed, because the machine may be a Node of the cluster then. */
const nodesOf = async (find: () => Promise<readonly string[]>): Promise<readonly string[] | 'unread'> => {
  try {
    return await find();
  } catch (error) {
    if (error instanceof PermissionDenied) return 'unread';
    throw error;
  }
};

/** Finds the Nodes of the machines that the disk names. */
const withDiskHolders = async (chain: Located, sources: Sources): Promise<Located> => {
  const { cluster, rules, clouds, signal } = sources;
  const found = await Promise.all(
    unplaced(chain, sources).map(async (machine) => {
      const nodeNames = ifFound(clouds.machine(machine))?.nodeNames ?? [];
      return nodesOf(() => cluster.cluster.find({ machine, nodeNames, machineOf: rules.machineOf }, signal));
    }),
  );
  const names = new Set(found.flatMap((nodes) => (nodes === 'unread' ? [] : nodes)));
  const locations = await Promise.all([...names].map((name) => locationAt(name, chain.handle, sources)));
  return {
    ...chain,
    nodesSearched: !found.includes('unread'),
    holders: [...chain.holders, ...locations],
  };
};

/** Returns whether only the disk shows why the location has the volume: neither an attachment nor a pod does. */
const isUnexplained = ({ nodeName, attachment }: NodeLocation, { others }: Located): boolean =>
  attachment === null && !others.some(({ node }) => node === nodeName);

/** Returns whether the volume may have a holder whose location or attachment is not known yet. */
const needsSearch = (chain: Located, sources: Sources): boolean => {
  const { driver, claim, target, holders, handle } = chain;
  if (handle === null || ifFound(driver)?.attachRequired === false || ifFound<PvcView>(claim) === null) return false;
  if (unplaced(chain, sources).length > 0 || holders.some((one) => isUnexplained(one, chain))) return true;
  return holders.length === 0 && ifFound(target?.attachment ?? null)?.attached !== true;
};

/**
 * Adds an attachment of the volume that another attacher made. Its name differs, so that only a search finds it.
 */
const withForeign = (location: NodeLocation, own: readonly AttachmentView[], sources: Sources): NodeLocation => {
  const found = location.attachment === null ? own.find(({ node }) => node === location.nodeName) : undefined;
  if (!found) return location;
  const attachedMachine = machineOfAttachment(found, sources);
  return { ...location, attachment: found, attachedMachine, machine: location.machine ?? attachedMachine };
};

/** Searches the list of all attachments for other locations of the volume. */
const withSearched = async (chain: Located, sources: Sources): Promise<Located> => {
  if (!needsSearch(chain, sources)) return chain;
  const all = await sources.reading.attachments();
  const taken = new Set(placesOf(chain).map(({ nodeName }) => nodeName));
  const volumeName = ifFound(chain.volume)?.name;
  const own = all === 'unread' ? [] : all.filter((one) => one.volumeName === volumeName);
  const nodes = new Set(own.map(({ node }) => node).filter((node) => !taken.has(node)));
  const locations = await Promise.all([...nodes].map((node) => locationAt(node, chain.handle, sources)));
  const holders = [...chain.holders, ...locations].map((location) => withForeign(location, own, sources));
  return { ...chain, holders };
};

/**
 * If attachments name no machine and their Node is gone, only the disk shows the machine. It is used if the disk names
 * exactly one machine, and exactly one location has no known machine.
 */
const withMachineOfDisk = (chain: Located, sources: Sources): Located => {
  const [machine, ...more] = unplaced(chain, sources);
  const nameless = chain.holders.filter(({ node, machine: own, attachment }) => !node && !own && attachment);
  if (machine === undefined || more.length > 0 || nameless.length !== 1) return chain;
  const holders = chain.holders.map((location) => (location === nameless[0] ? { ...location, machine } : location));
  return { ...chain, holders };
};

/** If the pod's Node waits for the attacher, reads the attacher's Lease and finds the Node of its leader. */
const withAttacher = async (chain: Located, sources: Sources): Promise<Located> => {
  const { handle, target } = chain;
  if (handle === null || target === null || ifFound(target.attachment)?.attached === true) return chain;
  const attacher = await sources.reading.attacher(handle.driver);
  const node = ifFound(attacher)?.node ?? null;
  return { ...chain, attacher, attacherLocation: node === null ? null : await locationAt(node, null, sources) };
};

const withSlots = async (chain: Located, { reading }: Sources): Promise<Located> => ({
  ...chain,
  slots: await readSlots({ ...chain, driver: chain.handle?.driver ?? null }, reading),
});

const finished = (chain: Located, sources: Sources): PodVolumeFacts => {
  const { clouds, rules } = sources;
  const { handle, ...rest } = chain;
  const asked = (location: NodeLocation): NodeLocation => ({ ...location, power: clouds.machine(location.machine) });
  return {
    ...rest,
    target: chain.target && asked(chain.target),
    holders: chain.holders.map(asked),
    homes: chain.homes.map(asked),
    disk: clouds.disk(handle),
    diskId: handle && rules.diskOf(handle),
    strangers: unplaced(chain, sources).flatMap((machine) => ifFound(clouds.machine(machine)) ?? []),
    attacherLocation: chain.attacherLocation && asked(chain.attacherLocation),
  };
};

const eachOf = <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> =>
  Promise.all(items.map(work));

/** Returns one set of facts for each pod and claim, and one for a pod without claims. */
export const gatherFacts = async (pods: readonly PodView[], sources: Sources): Promise<readonly PodVolumeFacts[]> => {
  const { clouds } = sources;
  const pairs = pods.flatMap((pod) =>
    (pod.claims.length > 0 ? pod.claims : [null]).map((claim) => [pod, claim] as const),
  );
  const starts = await eachOf(pairs, ([pod, claim]) => startOf(pod, claim, sources));
  const near = await eachOf(starts, (start) => located(start, sources));
  await clouds.askWitnesses(near.flatMap(({ handle }) => handle ?? []));
  await clouds.lookAt([...machinesIn(near), ...near.flatMap((chain) => unplaced(chain, sources))]);
  const held = await eachOf(near, (chain) => withDiskHolders(chain, sources));
  const searched = (await eachOf(held, (chain) => withSearched(chain, sources))).map((chain) =>
    withMachineOfDisk(chain, sources),
  );
  const twins = await eachOf(searched, async (chain) => ({
    ...chain,
    twin: await findTwin(chain, searched, sources.reading),
  }));
  const led = await eachOf(await eachOf(twins, (chain) => withAttacher(chain, sources)), (chain) =>
    withSlots(chain, sources),
  );
  await clouds.lookAt([...machinesIn(led), ...led.flatMap(({ attacherLocation }) => attacherLocation?.machine ?? [])]);
  return led.map((chain) => finished(chain, sources));
};
