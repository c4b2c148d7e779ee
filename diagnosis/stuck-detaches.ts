import { powerInWords } from '../fencing/model/machine.ts';
import type { TreeLine } from './answer.ts';
import type { CloudMemory } from './cloud-memory.ts';
import { locationAt } from './gather.ts';
import { type AttachmentView, ifFound, type NodeLocation, type PodView } from './model/facts.ts';
import type { DetachFacts } from './model/without-pod.ts';
import type { DiagnosisReading, DiagnosisPorts } from './ports.ts';
import { describeKubelet, formatDuration, formatTime } from './rules/rule.ts';

/** Attachments to a Node that do not go, and for which no pod waits. */

/** A detach takes some seconds. */
const PATIENCE_MS = 60_000;

interface DetachSources {
  readonly reading: DiagnosisReading;
  readonly ports: Pick<DiagnosisPorts, 'cloud'>;
  readonly clouds: CloudMemory;
  readonly now: number;
}

type Found = Omit<DetachFacts, 'now' | 'disk' | 'diskId'>;

/** Nothing shows who uses a volume without a claim. Its attachment is stuck only if its detach was requested. */
const isWanted = ({ attachment, volume, location }: Found, pods: readonly PodView[]): boolean => {
  const claim = ifFound(volume)?.claim ?? null;
  if (claim === null)
    return attachment.deletingSince === null && attachment.detachError === null && location.node !== null;
  return pods.some(({ namespace, claims }) => namespace === claim.namespace && claims.includes(claim.name));
};

/** Returns whether the attachment does not go by itself. Kubernetes asks for a detach as soon as no pod is left. */
const isStuck = (
  { created, deletingSince, detachError }: AttachmentView,
  location: NodeLocation,
  now: number,
): boolean => location.node === null || detachError !== null || now - (deletingSince ?? created) > PATIENCE_MS;

const foundAt = async (attachment: AttachmentView, { reading, ports }: DetachSources): Promise<Found> => {
  const { volumeName } = attachment;
  const volume = volumeName === null ? null : await reading.volume(volumeName);
  const handle = ifFound(volume)?.handle ?? null;
  const location = await locationAt(attachment.node, handle, { reading, rules: ports.cloud.rules });
  return { attachment, volume, location };
};

/** Returns the facts about each attachment to the Node that does not go. `pods` are the pods that wait. */
export const gatherStuckDetaches = async (
  node: string,
  pods: readonly PodView[],
  sources: DetachSources,
): Promise<readonly DetachFacts[]> => {
  const { reading, ports, clouds, now } = sources;
  const [all, there] = await Promise.all([reading.attachments(), reading.podsOn(node)]);
  const here = all === 'unread' ? [] : all.filter((one) => one.node === node);
  const found = await Promise.all(here.map((attachment) => foundAt(attachment, sources)));
  const users = [...pods, ...there.filter(({ finished }) => !finished)];
  const stuck = found.filter((one) => isStuck(one.attachment, one.location, now) && !isWanted(one, users));
  await clouds.askWitnesses(stuck.flatMap(({ volume }) => ifFound(volume)?.handle ?? []));
  await clouds.lookAt(stuck.flatMap(({ location }) => location.machine ?? []));
  return stuck.map(({ location, ...one }) => {
    const handle = ifFound(one.volume)?.handle ?? null;
    return {
      ...one,
      location: { ...location, power: clouds.machine(location.machine) },
      disk: clouds.disk(handle),
      diskId: handle && ports.cloud.rules.diskOf(handle),
      now,
    };
  });
};

/** Returns the facts as a tree: volume, attachment, Node, machine, disk. */
export const detachTree = ({ attachment, location, disk, diskId, now }: DetachFacts): readonly TreeLine[] => {
  const { node, deletingSince, created, attached } = attachment;
  const facts = ifFound(location.power);
  const states = [
    attached ? 'attached' : 'not attached',
    `since ${formatTime(created)}`,
    ...(deletingSince === null ? [] : [`detach requested ${formatDuration(now - deletingSince)} ago`]),
  ];
  const view = ifFound(disk);
  return [
    { depth: 0, what: `volume ${attachment.volumeName ?? ''}`, says: '' },
    { depth: 1, what: `attachment to ${node}`, says: states.join(', ') },
    { depth: 2, what: `Node ${node}`, says: describeKubelet(location, now).replace(/^Node \S+ (?:is )?/, '') },
    ...(facts ? [{ depth: 3, what: `machine ${facts.machine}`, says: `${powerInWords(facts.power)}, asked now` }] : []),
    ...(view && diskId
      ? [
          {
            depth: 1,
            what: `disk ${diskId}`,
            says: [view.state, ...view.holders.map(({ machine }) => machine)].join(', '),
          },
        ]
      : []),
  ];
};
