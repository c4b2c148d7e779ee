import type { AttachedDisk, Disk, GceWorld, Instance, Operation } from './state.ts';

/** Resources in the form of the REST API. https://cloud.google.com/compute/docs/reference/rest/v1 */
export type Json = { readonly [key: string]: string | number | boolean | Json | readonly string[] | readonly Json[] };

const link = (path: string): string => `https://www.googleapis.com/compute/v1/${path}`;

const PACIFIC_MS = 8 * 3_600_000;

/** The API reports times in the time zone of California. */
const time = (moment: number): string => new Date(moment - PACIFIC_MS).toISOString().replace('Z', '-08:00');

const times = (moments: Readonly<Record<string, number | null>>): Json =>
  Object.fromEntries(
    Object.entries(moments).flatMap(([key, moment]) => (moment === null ? [] : [[key, time(moment)]])),
  );

const nameIn = (path: string): string => path.split('/').at(-1) ?? '';
const scopeOf = (path: string): string => path.split('/').slice(0, 4).join('/');

export const instanceJson = (instance: Instance): Json => ({
  kind: 'compute#instance',
  id: instance.id,
  name: nameIn(instance.path),
  zone: link(scopeOf(instance.path)),
  selfLink: link(instance.path),
  machineType: link(`${scopeOf(instance.path)}/machineTypes/e2-standard-4`),
  status: instance.status,
  creationTimestamp: time(instance.createdAt),
  ...times({
    lastStartTimestamp: instance.startedAt,
    lastStopTimestamp: instance.stoppedAt,
    lastSuspendedTimestamp: instance.suspendedAt,
  }),
  labels: instance.labels,
  ...(instance.createdBy === null
    ? {}
    : { metadata: { kind: 'compute#metadata', items: [{ key: 'created-by', value: instance.createdBy }] } }),
  ...(instance.hostname === null ? {} : { hostname: instance.hostname }),
  scheduling: {
    automaticRestart: !instance.spot,
    preemptible: instance.spot,
    provisioningModel: instance.spot ? 'SPOT' : 'STANDARD',
  },
  resourceStatus: shutdownOf(instance),
  disks: instance.disks.map(attachedDiskJson),
});

const shutdownOf = ({ status, stopAskedAt, toBeDeleted }: Instance): Json => {
  if ((status !== 'PENDING_STOP' && status !== 'STOPPING') || stopAskedAt === null) return {};
  return {
    shutdownDetails: {
      stopState: status,
      targetState: toBeDeleted ? 'DELETED' : 'STOPPED',
      requestTimestamp: time(stopAskedAt),
    },
  };
};

const attachedDiskJson = ({ source, deviceName, boot, mode, autoDelete }: AttachedDisk, index: number): Json => ({
  kind: 'compute#attachedDisk',
  type: source === null ? 'SCRATCH' : 'PERSISTENT',
  mode,
  deviceName,
  index,
  boot,
  autoDelete,
  interface: 'SCSI',
  ...(source === null ? {} : { source: link(source) }),
});

export const diskJson = (disk: Disk): Json => ({
  kind: 'compute#disk',
  id: disk.id,
  name: nameIn(disk.path),
  [disk.path.includes('/regions/') ? 'region' : 'zone']: link(scopeOf(disk.path)),
  selfLink: link(disk.path),
  status: disk.status,
  sizeGb: '10',
  creationTimestamp: time(disk.createdAt),
  ...times({ lastAttachTimestamp: disk.attachedAt, lastDetachTimestamp: disk.detachedAt }),
  ...(disk.accessMode === null ? {} : { accessMode: disk.accessMode }),
  ...(disk.users.length > 0 && { users: disk.users.map(link) }),
});

export const operationJson = (world: GceWorld, operation: Operation): Json => {
  const { name, id, type, target, targetId, insertedAt, endedAt, requestId, error } = operation;
  const startedAt = insertedAt + world.parts.gce.knobs.operationStarts;
  const started = endedAt !== null || world.now() >= startedAt;
  return {
    kind: 'compute#operation',
    id,
    name,
    zone: link(scopeOf(target)),
    selfLink: link(`${scopeOf(target)}/operations/${name}`),
    operationType: type,
    targetLink: link(target),
    targetId,
    status: endedAt !== null ? 'DONE' : started ? 'RUNNING' : 'PENDING',
    progress: endedAt !== null ? 100 : 0,
    insertTime: time(insertedAt),
    ...(started && { startTime: time(Math.min(startedAt, endedAt ?? startedAt)) }),
    ...times({ endTime: endedAt }),
    ...(requestId === null ? {} : { clientOperationId: requestId }),
    ...(error && {
      httpErrorStatusCode: error.status,
      httpErrorMessage: 'ERROR',
      error: { errors: [{ code: error.code, message: `the sandbox says ${error.code}` }] },
    }),
  };
};

/** https://cloud.google.com/compute/docs/api/troubleshooting */
export const errorJson = (status: number, reason: string, message: string): Json => ({
  error: {
    code: status,
    message,
    errors: [{ message, domain: 'global', reason }],
    ...(status === 403 && { status: 'PERMISSION_DENIED' }),
  },
});
