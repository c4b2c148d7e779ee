import { ifFound, type NodeLocation, type PvcView, type Situation } from '../model/facts.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import {
  cloudSays,
  describeKubelet,
  describeTimer,
  describeVolume,
  isInUse,
  keepDisk,
  nameOf,
  nodeAt,
  SILENT_MS,
} from './rule.ts';

/** Descriptions of a location that has the volume: its kubelet, its machine, and what a fence there deletes. */

/** Returns whether the kubelet itself reports that its Node is not Ready. If it does, it is not cut off. */
export const reports = (location: NodeLocation, now: number): boolean => {
  const { ready, leaseRenewed } = nodeAt(location) ?? { ready: 'Unknown', leaseRenewed: null };
  return ready === 'False' && leaseRenewed !== null && now - leaseRenewed <= SILENT_MS;
};

export const waiting = (location: NodeLocation, situation: Situation): string => {
  const { pod } = situation;
  const before = pod.node === location.nodeName ? [] : ['attach-detach controller'];
  const kubelet =
    `the kubelet of ${location.nodeName}` + (reports(location, situation.now) ? '' : ', which cannot answer');
  const chain = [nameOf(pod), ...before, kubelet];
  return `${chain.join(' ← ')}. ${describeTimer(location, situation)}`;
};

export const proofOf = (
  location: NodeLocation,
  situation: Situation,
  facts: MachineFacts | null,
): readonly string[] => [
  describeKubelet(location, situation.now),
  ...(facts ? [cloudSays(facts)] : []),
  ...(isInUse(location, situation) ? [`${location.nodeName} listed the volume as mounted when it last reported`] : []),
  ...(situation.shutDown.some(({ node }) => node === location.nodeName)
    ? ['its pods ended by a graceful shutdown, but the volume was not unmounted']
    : []),
];

/** Returns whether the disk itself still names the machine as its holder. */
export const isNamedByDisk = ({ disk }: Situation, machine: string): boolean =>
  ifFound(disk)?.holders.some((holder) => holder.machine === machine) ?? false;

/** Returns whether Kubernetes deletes the claim as soon as the pod is gone. */
const goesWithPod = ({ deleting, owners }: PvcView, { pod }: Situation): boolean =>
  deleting || owners.some(({ kind, uid }) => kind === 'Pod' && uid === pod.uid);

/** A fence of the pod's own Node deletes the pod, and then the claim may go, and its disk with it. */
export const keepData = (location: NodeLocation, situation: Situation): readonly string[] => {
  const claim = ifFound(situation.claim);
  if (location.nodeName !== situation.pod.node || !claim || !goesWithPod(claim, situation)) return [];
  return [
    ...(claim.volumeName === '' ? [] : [keepDisk(claim.volumeName)]),
    `${claim.deleting ? 'somebody has requested the deletion of the claim' : 'the claim belongs to the pod'}: it is ` +
      `deleted together with ${situation.pod.name}`,
  ];
};

/** Describes what a location keeps: a volume, or only its pods. */
export const whatIsThere = (situation: Situation): string =>
  situation.claimName === null ? 'the data of its pods' : describeVolume(situation);
