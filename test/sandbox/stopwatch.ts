import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import type { PlainWorld } from './plain-cloud.ts';

const step = 20;

/** Seconds of virtual time until the condition is true. Null if it is not true within the limit. */
export const secondsUntil = (world: PlainWorld, holds: () => boolean, limitSeconds: number): number | null => {
  const from = world.now();
  while (!holds()) {
    if (world.now() - from >= limitSeconds * 1000) return null;
    world.advance(step);
  }
  return (world.now() - from) / 1000;
};

/** Seconds until a VolumeAttachment to the named node shows attached. */
export const attachedTo = (world: PlainWorld, node: string, limitSeconds: number): number | null =>
  secondsUntil(
    world,
    () => listObjects(world, 'volumeattachments').some(({ spec, status }) => spec.nodeName === node && status.attached),
    limitSeconds,
  );

export const podGone = (world: PlainWorld, name: string, uid: string, limitSeconds: number): number | null =>
  secondsUntil(world, () => getObject(world, 'pods', name, 'default')?.metadata.uid !== uid, limitSeconds);

export const mean = (figures: readonly number[]): number =>
  figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
