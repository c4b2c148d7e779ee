import { z } from 'zod';
import { attachmentName } from '../../../sandbox/cluster/controllers/volumes.ts';
import type { Writing } from './lines.ts';
import { DRIVER } from '../kubelet/kubelet-node.ts';

/** The people and objects of an incident, by the names that they have on one stage. */
export interface Cast {
  /** Names of the Nodes: of the machine that something happens to, and of the one to move to. */
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

export const attachmentTo = (cast: Cast, place: NodeRole): string =>
  attachmentName({ driver: DRIVER, handle: cast.disk }, cast[place]);

/** Returns a text in which each name of the stage is replaced by its part in the story. */
export const inStory = (cast: Cast, text: string): string => {
  const parts: readonly (readonly [string, string])[] = [
    [attachmentTo(cast, 'home'), 'ATTACHMENT-TO-HOME'],
    [attachmentTo(cast, 'refuge'), 'ATTACHMENT-TO-REFUGE'],
    [cast.home, 'HOME'],
    [cast.refuge, 'REFUGE'],
    [cast.instances.home, 'MACHINE-OF-HOME'],
    [cast.instances.refuge, 'MACHINE-OF-REFUGE'],
    [cast.volume, 'VOLUME'],
    [cast.disk, 'DISK'],
  ];
  return parts.reduce((told, [name, part]) => (name === '' ? told : told.replaceAll(name, part)), text);
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

/** What the story calls the object that was written. Null if it is not part of the story. */
export const ownerOf = (cast: Cast, { kind, object: written }: Pick<Writing, 'kind' | 'object'>): string | null => {
  const { metadata, spec } = object.parse(written);
  const place = [cast.home, cast.refuge].includes(metadata.name) ? inStory(cast, metadata.name).toLowerCase() : null;
  switch (kind) {
    case 'nodes':
      return place && `node ${place}`;
    case 'csinodes':
      return place && `csinode ${place}`;
    case 'pods':
      return metadata.namespace === cast.namespace && metadata.name === POD ? 'pod' : null;
    case 'volumeattachments':
      return spec.source.persistentVolumeName === cast.volume
        ? `attachment to ${inStory(cast, spec.nodeName).toLowerCase()}`
        : null;
  }
};
