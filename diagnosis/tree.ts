import type { DiskView, NodeLocation, PodView, ReadResult, Situation } from './model/facts.ts';
import { ifFound } from './model/facts.ts';
import {
  attachmentAt,
  formatTime,
  holdersOf,
  isInUse,
  describeKubelet,
  nameOf,
  nodeAt,
  podsAt,
  formatDuration,
} from './rules/rule.ts';

/**
 * The facts as a tree: pod, claim, volume, attachment, Node, machine, disk. Each line shows the state of an object, and
 * since when it has that state.
 */

export interface TreeLine {
  readonly depth: number;
  readonly what: string;
  readonly says: string;
}

const at = (depth: number, what: string, says: string): TreeLine => ({ depth, what, says });

const stateOf = (pod: PodView, now: number): string => {
  if (pod.deletionEnds !== null) return `Terminating, its grace period ends ${formatTime(pod.deletionEnds)}`;
  if (pod.finished) return `ended, created ${formatDuration(now - pod.created)} ago`;
  if (pod.ready || pod.runs)
    return `${pod.ready ? 'runs' : 'runs, not ready'}, created ${formatDuration(now - pod.created)} ago`;
  return `${pod.node === null ? 'not placed' : 'not started'} for ${formatDuration(now - pod.created)}`;
};

const podLine = ({ pod, now, claimName }: Situation): TreeLine =>
  at(
    0,
    `pod ${nameOf(pod)}`,
    `${stateOf(pod, now)}${pod.node === null ? '' : ` on ${pod.node}`}${claimName === null ? '' : `, needs claim ${claimName}`}`,
  );

const unless = <T extends object>(read: ReadResult<T>, absent: string, says: (found: T) => string): string => {
  if (read === 'unread') return 'could not be read';
  return read === null ? absent : says(read);
};

const claimLine = ({ claim, claimName }: Situation): TreeLine =>
  at(
    1,
    `claim ${claimName ?? ''}`,
    unless(claim, 'does not exist', ({ phase, accessModes, deleting }) =>
      [phase, accessModes.join('+'), ...(deleting ? ['is being deleted'] : [])].join(', '),
    ),
  );

const volumeLine = ({ volume, claim }: Situation): TreeLine =>
  at(
    2,
    `volume ${ifFound(claim)?.volumeName ?? ''}`,
    unless(volume, 'does not exist', ({ handle, kind, zones, hosts }) =>
      [handle ? `${handle.driver} ${handle.handle}` : kind, ...zones, ...hosts].join(', '),
    ),
  );

const attachmentLine = (location: NodeLocation, situation: Situation): TreeLine => {
  const { now } = situation;
  const attachment = attachmentAt(location);
  const pods = podsAt(location, situation).map(nameOf);
  const state = attachment && [
    attachment.attached ? 'attached' : 'not attached yet',
    `since ${formatTime(attachment.created)}`,
    ...(attachment.deletingSince === null
      ? []
      : [`detach requested ${formatDuration(now - attachment.deletingSince)} ago`]),
    ...(attachment.attachError ? [`attachError ${formatDuration(now - attachment.attachError.at)} ago`] : []),
    ...(attachment.detachError ? [`detachError ${formatDuration(now - attachment.detachError.at)} ago`] : []),
  ];
  const users =
    location.nodeName === situation.pod.node
      ? []
      : [pods.length === 0 ? 'no pod uses it' : `used by ${pods.join(', ')}`];
  const isOwn = location.nodeName === situation.pod.node;
  const mounted = isInUse(location, situation) && (attachment || !isOwn) ? ['the kubelet lists it as mounted'] : [];
  return at(
    3,
    attachment ? `attachment to ${location.nodeName}` : `no attachment to ${location.nodeName}`,
    [...(state ?? []), ...users, ...mounted].join(', '),
  );
};

const machineLine = ({ machine, power }: NodeLocation): TreeLine =>
  at(
    5,
    `machine ${machine ?? ''}`,
    unless(
      power,
      'is not known',
      ({ power: state, evidence }) => `${state} (${Object.values(evidence)[0] ?? state}), asked now`,
    ),
  );

const locationLines = (location: NodeLocation, situation: Situation): readonly TreeLine[] => [
  attachmentLine(location, situation),
  at(
    4,
    `Node ${location.nodeName}`,
    nodeAt(location)
      ? describeKubelet(location, situation.now).replace(/^Node \S+ is /, '')
      : location.node === 'unread'
        ? 'could not be read'
        : 'does not exist',
  ),
  ...(location.machine === null ? [] : [machineLine(location)]),
];

const diskSays = ({ exists, state, zone, holders }: DiskView): string => {
  if (!exists) return 'the cloud does not know it';
  const by = holders.map(
    ({ machine, state: how, since }) =>
      `${how} ${how === 'attached' ? 'to' : 'at'} ${machine}${since === null ? '' : ` since ${formatTime(since)}`}`,
  );
  return [state, ...(zone === null ? [] : [zone]), ...(by.length === 0 ? ['attached to no machine'] : by)].join(', ');
};

const diskLines = ({ disk, diskId }: Situation): readonly TreeLine[] =>
  diskId === null ? [] : [at(3, `disk ${diskId}`, unless(disk, 'is not known', diskSays))];

/** Returns the lines of the tree. The holders of the volume come before the pod's own Node. */
export const causeTree = (situation: Situation): readonly TreeLine[] => {
  const { claimName, claim, volume, target } = situation;
  if (claimName === null)
    return [
      podLine(situation),
      ...(target
        ? locationLines(target, situation)
            .slice(1)
            .map((one) => ({ ...one, depth: one.depth - 3 }))
        : []),
    ];
  const locations = [...holdersOf(situation), ...(target ? [target] : [])];
  return [
    podLine(situation),
    claimLine(situation),
    ...(ifFound(claim)?.volumeName ? [volumeLine(situation)] : []),
    ...(volume === null ? [] : locations.flatMap((location) => locationLines(location, situation))),
    ...diskLines(situation),
  ];
};
