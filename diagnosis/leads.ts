import { InvalidInput, PermissionDenied } from '../fencing/model/errors.ts';
import type { IdentitySource, MachineId } from '../fencing/model/machine.ts';
import { ifFound, type ObjectName, type PodView, type VolumeView } from './model/facts.ts';
import type { ClusterReading, DiagnosedCluster, DiagnosisPorts } from './ports.ts';
import type { NamedTarget } from './target.ts';

/** Follows a name through one cluster, to the machines that have what it names. */

export type NamingPorts = Pick<DiagnosisPorts, 'clusters' | 'cloud' | 'signal'>;

/** A machine, and what led to it. */
export interface Lead {
  readonly machine: MachineId;
  /** Null if only the disk names the machine. */
  readonly cluster: string | null;
  readonly node: string | null;
  readonly because: string;
}

/** One cluster, while a name is followed through it. */
export interface Trail {
  readonly cluster: DiagnosedCluster;
  readonly reading: ClusterReading;
  readonly ports: NamingPorts;
}

const machinesIn = (sources: readonly IdentitySource[], { cloud }: NamingPorts): readonly MachineId[] => [
  ...new Set(sources.map(cloud.rules.machineOf).filter((machine) => machine !== null)),
];

/** @throws InvalidInput if a Node names no machine or more than one */
export const onlyMachineOf = (node: string, sources: readonly IdentitySource[], ports: NamingPorts): MachineId => {
  const machines = machinesIn(sources, ports);
  const [machine] = machines;
  if (machine === undefined)
    throw new InvalidInput(
      `nothing on Node ${node} names a machine of ${ports.cloud.rules.name}; run cloudfence doctor for the remedy`,
    );
  if (machines.length > 1) throw new InvalidInput(`Node ${node} names more than one machine: ${machines.join(', ')}`);
  return machine;
};

/** @throws PermissionDenied if a read was refused: without it, the machine would be a guess */
export const refuseUnread = ({ unread }: Pick<ClusterReading, 'unread'>): void => {
  if (unread().length > 0)
    throw new PermissionDenied(`the machine cannot be found without these reads: ${unread().join('; ')}`);
};

/** Returns the machine of a Node that exists; null if it is gone. */
const leadOfNode = async (node: string, because: string, { cluster, ports }: Trail): Promise<Lead | null> => {
  const sources = await cluster.cluster.identify(node, ports.signal);
  return sources && { cluster: cluster.cluster.name, node, machine: onlyMachineOf(node, sources, ports), because };
};

/** The pod has its volumes where it is: a container runs, or it is not gone yet. */
const occupies = ({ finished, runs, deletionEnds }: PodView): boolean => !finished && (runs || deletionEnds !== null);

const nodeOfPod = async (pod: PodView, trail: Trail): Promise<readonly Lead[]> => {
  if (pod.node === null) return [];
  const lead = await leadOfNode(pod.node, `pod ${pod.namespace}/${pod.name} is on Node ${pod.node}`, trail);
  return lead ? [lead] : [];
};

interface Attached {
  readonly node: string;
  readonly source: IdentitySource | null;
}

/**
 * Returns the machines of one attachment: the one that its attacher noted, and the one of its Node. They differ if the
 * name of the Node is in use again.
 */
const leadsOfAttachment = async ({ node, source }: Attached, what: string, trail: Trail): Promise<readonly Lead[]> => {
  const { cluster, ports } = trail;
  const because = `${what} is attached to Node ${node}`;
  const noted = machinesIn(source ? [source] : [], ports);
  const standing = await leadOfNode(node, because, trail);
  return [
    ...(standing ? [standing] : []),
    ...noted
      .filter((machine) => machine !== standing?.machine)
      .map((machine) => ({ machine, cluster: cluster.cluster.name, node, because })),
  ];
};

/** Returns the machines that have attachments that pass the test. An attachment that only waits has nothing yet. */
const leadsOfAttachments = async (
  isIts: (attachment: { readonly node: string; readonly volumeName: string | null }) => boolean,
  trail: Trail,
): Promise<readonly Lead[]> => {
  const all = await trail.reading.attachments();
  const held = (all === 'unread' ? [] : all).filter(
    (one) => isIts(one) && (one.attached || one.deletingSince !== null),
  );
  return (
    await Promise.all(held.map((one) => leadsOfAttachment(one, `volume ${one.volumeName ?? one.name}`, trail)))
  ).flat();
};

/** Returns the machines to which the cloud says that the disk is attached. */
const leadsOfDisk = async ({ name, handle }: VolumeView, { ports }: Trail): Promise<readonly Lead[]> => {
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

/** Returns the machines that have the volume: by its attachments and the pods that use it, else by the disk itself. */
const leadsOfVolume = async (volume: VolumeView, trail: Trail): Promise<readonly Lead[]> => {
  const leads = [
    ...(await leadsOfAttachments(({ volumeName }) => volumeName === volume.name, trail)),
    ...(volume.claim ? await leadsOfUsers(volume.claim, trail) : []),
  ];
  return leads.length > 0 ? leads : leadsOfDisk(volume, trail);
};

const leadsOfUsers = async ({ namespace, name }: ObjectName, trail: Trail): Promise<readonly Lead[]> => {
  const users = (await trail.reading.podsIn(namespace)).filter((pod) => pod.claims.includes(name) && occupies(pod));
  return (await Promise.all(users.map((pod) => nodeOfPod(pod, trail)))).flat();
};

/** Null if there is no such claim. */
const leadsOfClaim = async (name: ObjectName, trail: Trail): Promise<readonly Lead[] | null> => {
  const claim = await trail.reading.claim(name);
  if (claim === null) return null;
  const volumeName = ifFound(claim)?.volumeName ?? '';
  const volume = volumeName === '' ? null : ifFound(await trail.reading.volume(volumeName));
  return volume ? leadsOfVolume(volume, trail) : leadsOfUsers(name, trail);
};

/** A pod leads to the machine that it is on. If it has not begun yet, what has its volumes comes first. */
const leadsOfPod = async (pod: PodView, trail: Trail): Promise<readonly Lead[]> => {
  const name = `pod ${pod.namespace}/${pod.name}`;
  if (pod.finished) throw new InvalidInput(`${name} has ended, so it is on no machine`);
  const own = occupies(pod) ? await nodeOfPod(pod, trail) : [];
  if (own.length > 0) return own;
  const claims = await Promise.all(
    pod.claims.map((claim) => leadsOfClaim({ namespace: pod.namespace, name: claim }, trail)),
  );
  const leads = claims.flatMap((found) => found ?? []);
  return leads.length > 0 ? leads : nodeOfPod(pod, trail);
};

/** Null if this cluster does not have what the person named. */
export const leadsOf = async (target: NamedTarget, trail: Trail): Promise<readonly Lead[] | null> => {
  const { reading, ports } = trail;
  const { diskOf } = ports.cloud.rules;
  switch (target.kind) {
    case 'pod': {
      const pod = await reading.pod(target);
      return pod && (pod === 'unread' ? [] : leadsOfPod(pod, trail));
    }
    case 'claim':
      return leadsOfClaim(target, trail);
    case 'volume': {
      const volume = await reading.volume(target.name);
      return volume && (volume === 'unread' ? [] : leadsOfVolume(volume, trail));
    }
    case 'node': {
      const left = await leadsOfAttachments(({ node }) => node === target.name, trail);
      return left.length > 0 ? left : null;
    }
    case 'disk': {
      const volume = await reading.volumeOn((one) => one.handle === target.id || diskOf(one) === target.id);
      return volume && (volume === 'unread' ? [] : leadsOfVolume(volume, trail));
    }
  }
};
