import type { ClusterWorld } from '../cluster-world.ts';

/** Returns RFC 3339 with seconds, as in metadata and conditions. */
export const timestamp = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** Returns RFC 3339 with microseconds, as in Leases and Events. */
export const microTime = (at: number): string => new Date(at).toISOString().replace('Z', '000Z');

export const between = (world: ClusterWorld, least: number, most: number): number =>
  Math.round(least + world.random() * (most - least));

/** Schedules a periodic actor, with a seeded offset so that controllers do not run at the same time. */
export const schedulePeriodic = (world: ClusterWorld, actor: string, period: number): void =>
  world.schedule(actor, between(world, 0, period));
