import { z } from 'zod';
import { attachmentName } from '../../../sandbox/cluster/controllers/volumes.ts';
import type { Writing } from './lines.ts';
import { DRIVER } from '../kubelet/kubelet-node.ts';

/** The objects of an incident, by the names that they have in one cluster. */
export interface Participants {
  /** Names of the Nodes: of the machine to which something happens, and of the one to which the database moves. */
  readonly home: string;
  readonly refuge: string;
  readonly instances: { readonly home: string; readonly refuge: string };
  readonly namespace: string;
  readonly volume: string;
  /** The disk's id in the cloud. */
  readonly disk: string;
}

export const POD = 'db-0';

export type NodeRole = 'home' | 'refuge';

export const attachmentTo = (participants: Participants, place: NodeRole): string =>
  attachmentName({ driver: DRIVER, handle: participants.disk }, participants[place]);

/** Returns a text in which each name of the cluster is replaced by its role in the story. */
export const inStory = (participants: Participants, text: string): string => {
  const parts: readonly (readonly [string, string])[] = [
    [attachmentTo(participants, 'home'), 'ATTACHMENT-TO-HOME'],
    [attachmentTo(participants, 'refuge'), 'ATTACHMENT-TO-REFUGE'],
    [participants.home, 'HOME'],
    [participants.refuge, 'REFUGE'],
    [participants.instances.home, 'MACHINE-OF-HOME'],
    [participants.instances.refuge, 'MACHINE-OF-REFUGE'],
    [participants.volume, 'VOLUME'],
    [participants.disk, 'DISK'],
  ];
  return parts.reduce((text, [name, part]) => (name === '' ? text : text.replaceAll(name, part)), text);
};

const object = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string().default('') }),
  spec: z
    .looseObject({
      nodeName: z.string().default(''),
      source: z.looseObject({ persistentVolumeName: z.string().default('') }).default({ persistentVolumeName: '' }),
    })
    .default({ nodeName: '', source: { persistentVolumeName: '' } }),
});

/** The name of the written object in the story. Null if it is not part of the story. */
export const ownerOf = (
  participants: Participants,
  { kind, object: written }: Pick<Writing, 'kind' | 'object'>,
): string | null => {
  const { metadata, spec } = object.parse(written);
  const place = [participants.home, participants.refuge].includes(metadata.name)
    ? inStory(participants, metadata.name).toLowerCase()
    : null;
  switch (kind) {
    case 'nodes':
      return place && `node ${place}`;
    case 'csinodes':
      return place && `csinode ${place}`;
    case 'pods':
      return metadata.namespace === participants.namespace && metadata.name === POD ? 'pod' : null;
    case 'volumeattachments':
      return spec.source.persistentVolumeName === participants.volume
        ? `attachment to ${inStory(participants, spec.nodeName).toLowerCase()}`
        : null;
  }
};
