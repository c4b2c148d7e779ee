import type { ClusterWorld } from '../cluster-world.ts';

/** RFC 3339 with seconds, as metadata and conditions carry it. */
export const stamp = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** RFC 3339 with microseconds, as Leases and Events carry it. */
export const microStamp = (at: number): string => new Date(at).toISOString().replace('Z', '000Z');

export const between = (world: ClusterWorld, least: number, most: number): number =>
  Math.round(least + world.random() * (most - least));

/** Sets the appointment of a thing that repeats, seeded so that controllers do not tick in step. */
export const begin = (world: ClusterWorld, actor: string, period: number): void =>
  world.schedule(actor, between(world, 0, period));
