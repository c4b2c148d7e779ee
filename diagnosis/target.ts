import { InvalidInput, PermissionDenied, Unavailable } from '../fencing/model/errors.ts';
import type { IdentitySource, MachineId } from '../fencing/model/machine.ts';
import { ifFound, type ObjectName, type PodView, type VolumeView } from './model/facts.ts';
import type { DiagnosisReading, DiagnosedCluster, DiagnosisPorts } from './ports.ts';
import { isObjectName } from '../fencing/model/cluster-facts.ts';
import { shorten } from '../fencing/model/reason.ts';

/** The object that a person names, and the machines to which it leads in a cluster. */

/** An object that a person names. */
export type NamedTarget =
  | ({ readonly kind: 'pod' | 'claim' } & ObjectName)
  | { readonly kind: 'volume' | 'node'; readonly name: string }
  /** The id of a disk, or the handle of a volume, as its cloud or its driver writes it. */
  | { readonly kind: 'disk'; readonly id: string };

/** The target of a diagnosis. */
export type Target = { readonly kind: 'everything' } | NamedTarget;

/** The forms of a target, for people. */
export const TARGET_FORMS =
  'pod/<namespace>/<name>, pvc/<namespace>/<name>, pv/<name>, node/<name>, or the id of a volume';

const NAMED: Readonly<Record<string, 'pod' | 'claim'>> = { pod: 'pod', pods: 'pod', pvc: 'claim', claim: 'claim' };
const SINGLE: Readonly<Record<string, 'volume' | 'node'>> = { pv: 'volume', node: 'node', nodes: 'node' };

const LONGEST_SHOWN = 200;

/** Quotes a person's input, shortened for people. */
export const quoted = (text: string): string => JSON.stringify(shorten(text, LONGEST_SHOWN));

const misspelled = (text: string): InvalidInput => new InvalidInput(`${quoted(text)} is not ${TARGET_FORMS}`);

/** Parses a person's input. Without a namespace, a pod or a claim is in `default`. @throws InvalidInput */
export const parseNamedTarget = (text: string): NamedTarget => {
  const [kind = '', ...rest] = text.split('/');
  const [first, second] = rest;
  const namespaced = Object.hasOwn(NAMED, kind) ? NAMED[kind] : undefined;
  const single = Object.hasOwn(SINGLE, kind) ? SINGLE[kind] : undefined;
  if (!namespaced && !single) {
    if (text.trim() === '') throw misspelled(text);
    return { kind: 'disk', id: text };
  }
  if (first === undefined || rest.length > (namespaced ? 2 : 1) || !rest.every(isObjectName)) throw misspelled(text);
  if (single) return { kind: single, name: first };
  const name = second === undefined ? { namespace: 'default', name: first } : { namespace: first, name: second };
  return { kind: namespaced ?? 'pod', ...name };
};

/** Parses a person's input. Without input, the target is everything. @throws InvalidInput */
export const parseTarget = (text: string | undefined): Target =>
  text === undefined ? { kind: 'everything' } : parseNamedTarget(text);

/** Describes the target for people. */
export const targetInWords = (target: NamedTarget): string => {
  switch (target.kind) {
    case 'pod':
    case 'claim':
      return `${target.kind} ${target.namespace}/${target.name}`;
    case 'volume':
    case 'node':
      return `${target.kind} ${target.name}`;
    case 'disk':
      return `volume ${target.id}`;
  }
};

/** Returns the error with the name of the cluster that did not answer, and with what to do. */
export const unanswered = (cluster: string, cause: Unavailable, remedy: string | null = null): Unavailable =>
  new Unavailable(`cluster ${cluster} did not answer: ${cause.message}${remedy === null ? '' : `. ${remedy}`}`, {
    cause,
  });

export type SearchPorts = Pick<DiagnosisPorts, 'clusters' | 'cloud' | 'inTime' | 'signal'>;

/** A machine, and the object that led to it. */
export interface MachineCandidate {
  readonly machine: MachineId;
  /** Null if the machine was found only through its disk. */
  readonly cluster: string | null;
  readonly node: string | null;
  readonly because: string;
}

/** A search for a name in one cluster. */
export interface ClusterSearch {
  readonly cluster: DiagnosedCluster;
  readonly reading: DiagnosisReading;
  readonly ports: SearchPorts;
}

const machinesIn = (sources: readonly IdentitySource[], { cloud }: SearchPorts): readonly MachineId[] => [
  ...new Set(sources.map(cloud.rules.machineOf).filter((machine) => machine !== null)),
];

/** @throws InvalidInput if a Node names no machine or several */
export const requireOneMachine = (node: string, sources: readonly IdentitySource[], ports: SearchPorts): MachineId => {
  const machines = machinesIn(sources, ports);
  const [machine] = machines;
  if (machine === undefined)
    throw new InvalidInput(
      `nothing on Node ${node} names a machine of ${ports.cloud.rules.name}; run cloudfence doctor for the remedy`,
    );
  if (machines.length > 1) throw new InvalidInput(`Node ${node} names more than one machine: ${machines.join(', ')}`);
  return machine;
};

/** @throws PermissionDenied if a read was denied, because the machine would then be a guess */
export const refuseUnread = ({ unread }: Pick<DiagnosisReading, 'unread'>): void => {
  if (unread().length > 0)
    throw new PermissionDenied(`the machine cannot be found without these reads: ${unread().join('; ')}`);
};

/** Returns the machine of a Node that exists; null if it is gone. */
const candidateOnNode = async (
  node: string,
  because: string,
  { cluster, ports }: ClusterSearch,
): Promise<MachineCandidate | null> => {
  const sources = await cluster.cluster.identify(node, ports.signal);
  return sources && { cluster: cluster.cluster.name, node, machine: requireOneMachine(node, sources, ports), because };
};

/** Returns whether the pod has its volumes on its Node: a container runs, or the pod has not ended yet. */
const occupies = ({ finished, runs, deletionEnds }: PodView): boolean => !finished && (runs || deletionEnds !== null);

const nodeOfPod = async (pod: PodView, search: ClusterSearch): Promise<readonly MachineCandidate[]> => {
  if (pod.node === null) return [];
  const candidate = await candidateOnNode(pod.node, `pod ${pod.namespace}/${pod.name} is on Node ${pod.node}`, search);
  return candidate ? [candidate] : [];
};

interface Attached {
  readonly node: string;
  readonly source: IdentitySource | null;
}

/**
 * Returns the machines of one attachment: the one whose id its attacher wrote, and the one of its Node. They differ if
 * another machine now uses the Node's name.
 */
const candidatesOfAttachment = async (
  { node, source }: Attached,
  what: string,
  search: ClusterSearch,
): Promise<readonly MachineCandidate[]> => {
  const { cluster, ports } = search;
  const because = `${what} is attached to Node ${node}`;
  const noted = machinesIn(source ? [source] : [], ports);
  const current = await candidateOnNode(node, because, search);
  return [
    ...(current ? [current] : []),
    ...noted
      .filter((machine) => machine !== current?.machine)
      .map((machine) => ({ machine, cluster: cluster.cluster.name, node, because })),
  ];
};

/** Returns the machines of the attachments that match. An attachment that still waits for its attach does not count. */
const candidatesOfAttachments = async (
  isIts: (attachment: { readonly node: string; readonly volumeName: string | null }) => boolean,
  search: ClusterSearch,
): Promise<readonly MachineCandidate[]> => {
  const all = await search.reading.attachments();
  const held = (all === 'unread' ? [] : all).filter(
    (one) => isIts(one) && (one.attached || one.deletingSince !== null),
  );
  return (
    await Promise.all(held.map((one) => candidatesOfAttachment(one, `volume ${one.volumeName ?? one.name}`, search)))
  ).flat();
};

/** Returns the machines to which the disk is attached, according to the cloud. */
const candidatesOfDisk = async (
  { name, handle }: VolumeView,
  { ports }: ClusterSearch,
): Promise<readonly MachineCandidate[]> => {
  const disks = handle === null ? [] : await ports.cloud.disks([handle], ports.signal);
  return disks.flatMap(({ disk, holders }) =>
    holders.map(({ machine }) => ({
      machine,
      cluster: null,
      node: null,
      because: `the cloud says that disk ${disk} of volume ${name} is attached to it`,
    })),
  );
};

/**
 * Returns the machines that have the volume, according to its attachments and the pods that use it. If there are none,
 * asks the disk.
 */
const candidatesOfVolume = async (volume: VolumeView, search: ClusterSearch): Promise<readonly MachineCandidate[]> => {
  const candidates = [
    ...(await candidatesOfAttachments(({ volumeName }) => volumeName === volume.name, search)),
    ...(volume.claim ? await candidatesOfUsers(volume.claim, search) : []),
  ];
  return candidates.length > 0 ? candidates : candidatesOfDisk(volume, search);
};

const candidatesOfUsers = async (
  { namespace, name }: ObjectName,
  search: ClusterSearch,
): Promise<readonly MachineCandidate[]> => {
  const users = (await search.reading.podsIn(namespace)).filter((pod) => pod.claims.includes(name) && occupies(pod));
  return (await Promise.all(users.map((pod) => nodeOfPod(pod, search)))).flat();
};

/** Null if the claim does not exist. */
const candidatesOfPvc = async (
  name: ObjectName,
  search: ClusterSearch,
): Promise<readonly MachineCandidate[] | null> => {
  const claim = await search.reading.claim(name);
  if (claim === null) return null;
  const volumeName = ifFound(claim)?.volumeName ?? '';
  const volume = volumeName === '' ? null : ifFound(await search.reading.volume(volumeName));
  return volume ? candidatesOfVolume(volume, search) : candidatesOfUsers(name, search);
};

/**
 * A pod leads to the machine on which it runs. If the pod has not started yet, the machines that have its volumes come
 * first.
 */
const candidatesOfPod = async (pod: PodView, search: ClusterSearch): Promise<readonly MachineCandidate[]> => {
  const name = `pod ${pod.namespace}/${pod.name}`;
  if (pod.finished) throw new InvalidInput(`${name} has ended, so it is on no machine`);
  const own = occupies(pod) ? await nodeOfPod(pod, search) : [];
  if (own.length > 0) return own;
  const claims = await Promise.all(
    pod.claims.map((claim) => candidatesOfPvc({ namespace: pod.namespace, name: claim }, search)),
  );
  const candidates = claims.flatMap((found) => found ?? []);
  return candidates.length > 0 ? candidates : nodeOfPod(pod, search);
};

/** Null if this cluster does not have the object that the person named. */
export const findCandidates = async (
  target: NamedTarget,
  search: ClusterSearch,
): Promise<readonly MachineCandidate[] | null> => {
  const { reading, ports } = search;
  const { diskOf } = ports.cloud.rules;
  switch (target.kind) {
    case 'pod': {
      const pod = await reading.pod(target);
      return pod && (pod === 'unread' ? [] : candidatesOfPod(pod, search));
    }
    case 'claim':
      return candidatesOfPvc(target, search);
    case 'volume': {
      const volume = await reading.volume(target.name);
      return volume && (volume === 'unread' ? [] : candidatesOfVolume(volume, search));
    }
    case 'node': {
      const left = await candidatesOfAttachments(({ node }) => node === target.name, search);
      return left.length > 0 ? left : null;
    }
    case 'disk': {
      const volumes = await reading.volumesOn((one) => one.handle === target.id || diskOf(one) === target.id);
      if (volumes === 'unread') return [];
      const found = await Promise.all(volumes.map((volume) => candidatesOfVolume(volume, search)));
      return found.length > 0 ? found.flat() : null;
    }
  }
};
