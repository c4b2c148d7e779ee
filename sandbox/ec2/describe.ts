import type { VersionedStore } from '../history.ts';
import { asOf } from '../history.ts';
import type { Filter } from './params.ts';
import { filtersOf, instanceIds, noSuchInstances, noSuchVolumes, volumeIds } from './params.ts';
import { Ec2Refusal } from './refusal.ts';
import type { Tree } from './render.ts';
import { instanceTree, xmlList, volumeTree } from './render.ts';
import type { Ec2World, Instance, Volume } from './state.ts';
import { attachmentTo } from './state.ts';

/**
 * The two describe calls. Both can return an earlier state:
 * https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
 */

export const describeInstances = (world: Ec2World, params: URLSearchParams): Tree => {
  const { instances, volumes } = world.parts.ec2;
  const ids = instanceIds(params);
  const seen = visibleObjects(world, instances, ids);
  const unknown = ids.filter((id) => !seen.some((instance) => instance.id === id));
  if (unknown.length > 0) throw noSuchInstances(unknown);
  const fitting = filtered(seen, filtersOf(params), instanceValues);
  const page = pageOf(world, params, fitting, ids.length > 0);
  const disks = visibleObjects(world, volumes, []);
  return { reservationSet: xmlList(reservations(page.items, disks)), ...page.next };
};

export const describeVolumes = (world: Ec2World, params: URLSearchParams): Tree => {
  const ids = volumeIds(params);
  const seen = visibleObjects(world, world.parts.ec2.volumes, ids);
  const unknown = ids.filter((id) => !seen.some((volume) => volume.id === id));
  if (unknown.length > 0) throw noSuchVolumes(unknown);
  const page = pageOf(world, params, filtered(seen, filtersOf(params), volumeValues), ids.length > 0);
  return { volumeSet: xmlList(page.items.map(volumeTree)), ...page.next };
};

/** Instance families with a local disk have a `d` after their generation (except m6id, i4i, and is4gen). */
const LOCAL_DISKS = /^(?:[a-z]+\d[a-z]*d[a-z]*|i\d[a-z]*|is\d[a-z]*|d\d[a-z]*)\./;

export const describeInstanceTypes = (_world: Ec2World, params: URLSearchParams): Tree => {
  const asked = [...params].filter(([name]) => name.startsWith('InstanceType.')).map(([, type]) => type);
  return {
    instanceTypeSet: xmlList(
      asked.map((type) => ({ instanceType: type, instanceStorageSupported: LOCAL_DISKS.test(type) })),
    ),
  };
};

/** Returns the objects of a response, each at its own age up to the allowed one. Without ids, it returns all. */
const visibleObjects = <T>(world: Ec2World, shelf: VersionedStore<T>, ids: readonly string[]): readonly T[] =>
  (ids.length > 0 ? ids : Object.keys(shelf)).flatMap((id) => asOf(shelf, id, world.now() - ageOf(world)) ?? []);

const ageOf = (world: Ec2World): number => {
  const { staleUpTo, staleness } = world.parts.ec2.knobs;
  return staleUpTo > 0 && staleness === 'seeded' ? Math.floor(world.random() * (staleUpTo + 1)) : staleUpTo;
};

const reservations = (instances: readonly Instance[], disks: readonly Volume[]): readonly Tree[] =>
  [...Map.groupBy(instances, (instance) => instance.reservation)].map(([reservationId, members]) => ({
    reservationId,
    instancesSet: xmlList(
      members.map((member) =>
        instanceTree(
          member,
          disks.filter((disk) => attachmentTo(disk, member.id)),
        ),
      ),
    ),
  }));

type ValuesOf<T> = (object: T, filter: string) => readonly string[] | null;

const instanceValues: ValuesOf<Instance> = (instance, filter) => {
  if (filter.startsWith('tag:')) return [instance.tags[filter.slice(4)] ?? []].flat();
  switch (filter) {
    case 'instance-id':
      return [instance.id];
    case 'instance-state-name':
      return [instance.state];
    case 'private-dns-name':
      return [instance.privateDnsName];
    case 'tag-key':
      return Object.keys(instance.tags);
    default:
      return null;
  }
};

const volumeValues: ValuesOf<Volume> = (volume, filter) => {
  switch (filter) {
    case 'attachment.instance-id':
      return volume.attachments.map((attachment) => attachment.instance);
    case 'attachment.status':
      return volume.attachments.map((attachment) => attachment.state);
    case 'status':
      return [volume.attachments.length > 0 ? 'in-use' : 'available'];
    case 'volume-id':
      return [volume.id];
    default:
      return null;
  }
};

const filtered = <T>(objects: readonly T[], filters: readonly Filter[], valuesOf: ValuesOf<T>): readonly T[] =>
  objects.filter((object) => filters.every((filter) => fits(valuesOf(object, filter.name), filter)));

const fits = (values: readonly string[] | null, filter: Filter): boolean => {
  if (values === null) throw new Ec2Refusal('InvalidParameterValue', `The filter '${filter.name}' is invalid`);
  return filter.values.some((value) => values.includes(value));
};

interface Page<T> {
  readonly items: readonly T[];
  readonly next: Tree;
}

const pageOf = <T>(world: Ec2World, params: URLSearchParams, all: readonly T[], byId: boolean): Page<T> => {
  const asked = params.get('MaxResults');
  if (asked !== null && byId)
    throw new Ec2Refusal('InvalidParameterCombination', 'MaxResults cannot be used together with ids');
  const size = Math.min(Number(asked ?? Infinity), world.parts.ec2.knobs.pageSize);
  const start = Number(params.get('NextToken') ?? 0);
  const end = start + size;
  return { items: all.slice(start, end), next: end < all.length ? { nextToken: String(end) } : {} };
};
