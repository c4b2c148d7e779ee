import { z } from 'zod';
import { attach, detach } from './attachments.ts';
import { presentInstance, readDisk, readInstance, type ResourceParent } from './call.ts';
import { remove, reset, resume, start, stop, suspend } from './instances.ts';
import { noteDiscarded } from './invariants.ts';
import { beginOperation, endOperation, knownRequest, operationNamed, waitFor } from './operations.ts';
import { invalid, notFound } from './refusal.ts';
import { diskJson, instanceJson, operationJson, type Json } from './render.ts';
import {
  diskIn,
  instanceIn,
  type AttachedDisk,
  type GceWorld,
  type Instance,
  type InstanceStatus,
  type Operation,
} from './state.ts';

/** One API method: its effect on the world, and the body of its response. */
export type Action = (world: GceWorld, resource: ResourceParent) => Json;

const UUID = /^(?!0{8}-0{4}-0{4}-0{4}-0{12}$)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const requestIdIn = (query: URLSearchParams): string | null => {
  const requestId = query.get('requestId');
  if (requestId !== null && !UUID.test(requestId))
    throw invalid('requestId', requestId, 'Must be a UUID, and not zero.');
  return requestId;
};

/** A repeated call returns the operation that the first call began. */
const once =
  (
    order: (world: GceWorld, instance: Instance, requestId: string | null, resource: ResourceParent) => Operation,
  ): Action =>
  (world, resource) => {
    const requestId = requestIdIn(resource.query);
    const operation =
      knownRequest(world, requestId) ?? order(world, presentInstance(world, resource), requestId, resource);
    return operationJson(world, operation);
  };

/** The state in which the instance completes the operation; null means deleted. */
const END: Readonly<Record<Exclude<Operation['type'], 'attachDisk' | 'detachDisk'>, InstanceStatus | null>> = {
  stop: 'TERMINATED',
  start: 'RUNNING',
  suspend: 'SUSPENDED',
  resume: 'RUNNING',
  reset: 'RUNNING',
  delete: null,
};

const switched = (
  type: keyof typeof END,
  apply: (world: GceWorld, instance: Instance, query: URLSearchParams) => void,
): Action =>
  once((world, instance, requestId, { query }) => {
    apply(world, instance, query);
    const operation = beginOperation(world, { type, target: instance.path, targetId: instance.id, requestId });
    if (instanceIn(world, instance.path)?.status === END[type]) endOperation(world, operation.name);
    return operationNamed(world, operation.name) ?? operation;
  });

const attachedDisk = z.object({
  source: z.string(),
  deviceName: z.string().optional(),
  mode: z.enum(['READ_WRITE', 'READ_ONLY']).optional(),
  boot: z.boolean().optional(),
  autoDelete: z.boolean().optional(),
});

const attachDisk = once((world, instance, requestId, { body }) => {
  const read = attachedDisk.safeParse(JSON.parse(body));
  if (!read.success) throw invalid('resource', body, read.error.message);
  const source = read.data.source.slice(Math.max(0, read.data.source.indexOf('projects/')));
  const disk = diskIn(world, source);
  if (!disk) throw notFound(source);
  const wanted: AttachedDisk = {
    source,
    deviceName: read.data.deviceName ?? `persistent-disk-${instance.disks.length}`,
    mode: read.data.mode ?? 'READ_WRITE',
    boot: read.data.boot ?? false,
    autoDelete: read.data.autoDelete ?? false,
  };
  return attach(world, instance, disk, wanted, requestId);
});

const detachDisk = once((world, instance, requestId, { query }) =>
  detach(world, instance, query.get('deviceName') ?? '', requestId),
);

const operationAt = (world: GceWorld, { parent, name }: ResourceParent): Operation => {
  const operation = operationNamed(world, name);
  if (!operation?.target.startsWith(`${parent}/`)) throw notFound(`${parent}/operations/${name}`);
  return operation;
};

const waitOperation: Action = (world, resource) => {
  waitFor(world, operationAt(world, resource).name);
  return operationJson(world, operationAt(world, resource));
};

/** A stop of an instance with local SSDs must say whether to keep their data. */
const stopAsTold = (world: GceWorld, instance: Instance, query: URLSearchParams): void => {
  const discard = query.get('discardLocalSsd');
  if (instance.disks.some(({ source }) => source === null)) {
    if (discard === null) throw invalid('discardLocalSsd', '', 'The instance has local SSDs: it must be set.');
    if (discard === 'false' && !world.parts.gce.knobs.keepsLocalSsds)
      throw invalid('discardLocalSsd', discard, 'The local SSDs of this instance cannot be kept.');
    if (discard === 'true') noteDiscarded(world, instance);
  }
  stop(world, instance, query.get('noGracefulShutdown') === 'true');
};

const asked = z.object({ permissions: z.array(z.string()).min(1) });

/**
 * The permissions among these that the caller has there. Anyone who knows the resource may ask.
 * https://cloud.google.com/compute/docs/reference/rest/v1/instances/testIamPermissions
 */
const testIamPermissions =
  (there: (world: GceWorld, resource: ResourceParent) => unknown): Action =>
  (world, resource) => {
    there(world, resource);
    const read = asked.safeParse(JSON.parse(resource.body));
    if (!read.success) throw invalid('permissions', resource.body, read.error.message);
    return {
      permissions: read.data.permissions.filter((one) => !world.parts.gce.knobs.missingPermissions.includes(one)),
    };
  };

/** The methods, by their names in the API. */
export const actions: Readonly<Record<string, Action>> = {
  'instances.get': (world, resource) => instanceJson(readInstance(world, resource)),
  'instances.attachDisk': attachDisk,
  'instances.detachDisk': detachDisk,
  'instances.stop': switched('stop', stopAsTold),
  'instances.start': switched('start', start),
  'instances.suspend': switched('suspend', suspend),
  'instances.resume': switched('resume', resume),
  'instances.reset': switched('reset', reset),
  'instances.delete': switched('delete', remove),
  'instances.testIamPermissions': testIamPermissions(readInstance),
  'disks.testIamPermissions': testIamPermissions(readDisk),
  'regionDisks.testIamPermissions': testIamPermissions(readDisk),
  'disks.get': (world, resource) => diskJson(readDisk(world, resource)),
  'regionDisks.get': (world, resource) => diskJson(readDisk(world, resource)),
  'zoneOperations.get': (world, resource) => operationJson(world, operationAt(world, resource)),
  'zoneOperations.wait': waitOperation,
};
