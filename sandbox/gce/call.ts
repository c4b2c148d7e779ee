import { asOf, type VersionedStore } from '../history.ts';
import { invalid, notFound } from './refusal.ts';
import { zonesOf } from './scenario.ts';
import { instancesIn, type Disk, type GceWorld, type Instance } from './state.ts';

/** A received call. */
export interface WireCall {
  readonly method: string;
  /** Path and query, such as `/compute/v1/projects/p/zones/z/instances/i?`. */
  readonly url: string;
  readonly body: string;
}

/** The target of a call. The project is always its id, even if the call used its number. */
export interface ResourceParent {
  /** `projects/p/zones/z`, or with a region. */
  readonly parent: string;
  readonly name: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

/** @throws GceRefusal notFound for an unknown project, invalid for an unknown zone or region */
export const parseResource = (
  world: GceWorld,
  [project = '', kind = '', area = '', name = '']: readonly string[],
  query: URLSearchParams,
  body: string,
): ResourceParent => {
  const { gce } = world.parts;
  if (project !== gce.project && project !== gce.projectNumber) throw notFound(`projects/${project}`);
  const known = kind === 'zones' ? zonesOf(world).includes(area) : area === gce.region;
  if (!known) throw invalid(kind.slice(0, -1), area, `Unknown ${kind.slice(0, -1)}.`);
  return { parent: `projects/${gce.project}/${kind}/${area}`, name, query, body };
};

const ageOf = (world: GceWorld): number => {
  const { staleUpTo, staleness } = world.parts.gce.knobs;
  return staleUpTo > 0 && staleness === 'seeded' ? Math.floor(world.random() * (staleUpTo + 1)) : staleUpTo;
};

const seen = <T>(world: GceWorld, shelf: VersionedStore<T>, path: string): T | undefined =>
  asOf(shelf, path, world.now() - ageOf(world));

const NUMERIC = /^[1-9][0-9]{0,19}$/;

/** Returns the object as a get shows it, which can be an earlier state. @throws GceRefusal notFound */
export const readInstance = (world: GceWorld, { parent, name }: ResourceParent): Instance => {
  const { instances } = world.parts.gce;
  const paths = NUMERIC.test(name)
    ? Object.keys(instances).filter((path) => path.startsWith(`${parent}/`))
    : [`${parent}/instances/${name}`];
  const found = paths
    .map((path) => seen(world, instances, path))
    .find((instance) => instance && (!NUMERIC.test(name) || instance.id === name));
  if (!found) throw notFound(`${parent}/instances/${name}`);
  return found;
};

export const readDisk = (world: GceWorld, { parent, name }: ResourceParent): Disk => {
  const disk = seen(world, world.parts.gce.disks, `${parent}/disks/${name}`);
  if (!disk) throw notFound(`${parent}/disks/${name}`);
  return disk;
};

/**
 * The present state: a call that changes something never sees a stale one. A number is an id, for no name begins with a
 * digit. @throws GceRefusal notFound
 */
export const presentInstance = (world: GceWorld, { parent, name }: ResourceParent): Instance => {
  const found = instancesIn(world).find(
    ({ id, path }) => path === `${parent}/instances/${name}` || (id === name && path.startsWith(`${parent}/`)),
  );
  if (!found) throw notFound(`${parent}/instances/${name}`);
  return found;
};
