import { Ec2Refusal } from './refusal.ts';
import type { Ec2World, Instance, Volume } from './state.ts';
import { instanceIn, volumeIn } from './state.ts';

/** Reads the flat parameters of the EC2 Query protocol: `InstanceId.1`, `Filter.1.Name`, `Filter.1.Value.2`. */

export interface Filter {
  readonly name: string;
  readonly values: readonly string[];
}

export const listParameter = (params: URLSearchParams, name: string): readonly string[] => {
  const values: string[] = [];
  for (let n = 1, value = params.get(`${name}.1`); value !== null; n += 1, value = params.get(`${name}.${n}`))
    values.push(value);
  return values;
};

const MOST_FILTER_VALUES = 200;

export const filtersOf = (params: URLSearchParams): readonly Filter[] => {
  const filters = filterNames(params).map((name, index) => ({
    name,
    values: listParameter(params, `Filter.${index + 1}.Value`),
  }));
  if (filters.flatMap(({ values }) => values).length <= MOST_FILTER_VALUES) return filters;
  throw new Ec2Refusal(
    'FilterLimitExceeded',
    `The maximum number of filter values specified on a single call is ${MOST_FILTER_VALUES}`,
  );
};

const filterNames = (params: URLSearchParams): readonly string[] => {
  const names: string[] = [];
  for (let name = params.get('Filter.1.Name'); name !== null; name = params.get(`Filter.${names.length + 1}.Name`))
    names.push(name);
  return names;
};

export const flag = (params: URLSearchParams, name: string): boolean => params.get(name) === 'true';

const INSTANCE_ID = /^i-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;
const VOLUME_ID = /^vol-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;

const missing = (name: string): Ec2Refusal =>
  new Ec2Refusal('MissingParameter', `The request must contain the parameter ${name}`);

/** Returns the requested ids, and checks that each is well-formed. */
export const instanceIds = (params: URLSearchParams): readonly string[] => {
  const ids = listParameter(params, 'InstanceId');
  for (const id of ids) requireInstanceId(id);
  return ids;
};

const requireInstanceId = (id: string): void => {
  if (!INSTANCE_ID.test(id)) throw new Ec2Refusal('InvalidInstanceID.Malformed', `Invalid id: "${id}"`);
};

export const volumeIds = (params: URLSearchParams): readonly string[] => {
  const ids = listParameter(params, 'VolumeId');
  for (const id of ids) requireVolumeId(id);
  return ids;
};

const requireVolumeId = (id: string): void => {
  if (!VOLUME_ID.test(id))
    throw new Ec2Refusal('InvalidParameterValue', `Value (${id}) for parameter volumeId is invalid.`);
};

/** Returns all or throws: a batch with one unknown id changes nothing. */
export const namedInstances = (world: Ec2World, params: URLSearchParams): readonly Instance[] => {
  const ids = instanceIds(params);
  if (ids.length === 0) throw missing('InstanceId');
  const found = ids.flatMap((id) => instanceIn(world, id) ?? []);
  if (found.length < ids.length) throw noSuchInstances(ids.filter((id) => !instanceIn(world, id)));
  return found;
};

export const noSuchInstances = (ids: readonly string[]): Ec2Refusal =>
  new Ec2Refusal(
    'InvalidInstanceID.NotFound',
    ids.length === 1
      ? `The instance ID '${ids[0]}' does not exist`
      : `The instance IDs '${ids.join(', ')}' do not exist`,
  );

export const noSuchVolumes = (ids: readonly string[]): Ec2Refusal =>
  new Ec2Refusal('InvalidVolume.NotFound', `The volume '${ids.join(', ')}' does not exist.`);

export const namedInstance = (world: Ec2World, params: URLSearchParams): Instance => {
  const id = params.get('InstanceId');
  if (id === null) throw missing('InstanceId');
  requireInstanceId(id);
  const instance = instanceIn(world, id);
  if (!instance) throw noSuchInstances([id]);
  return instance;
};

export const requireVolume = (world: Ec2World, params: URLSearchParams): Volume => {
  const id = params.get('VolumeId');
  if (id === null) throw missing('VolumeId');
  requireVolumeId(id);
  const volume = volumeIn(world, id);
  if (!volume) throw noSuchVolumes([id]);
  return volume;
};
