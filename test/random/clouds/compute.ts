import type { DisksClient } from '@google-cloud/compute/build/src/v1/disks_client.js';
import type { InstancesClient } from '@google-cloud/compute/build/src/v1/instances_client.js';
import type { RegionDisksClient } from '@google-cloud/compute/build/src/v1/region_disks_client.js';
import type { ZoneOperationsClient } from '@google-cloud/compute/build/src/v1/zone_operations_client.js';
import type { Cloud } from '../../../fencing/model/cloud.ts';
import type { ComputeClients } from '../../../providers/gcp/client.ts';
import type { Instance } from '../../../providers/gcp/disks.ts';
import { gcpCloud } from '../../../providers/gcp/index.ts';
import { type PermittedPath, underPermit } from '../../../transport/under-permit.ts';
import type { Call } from '../network.ts';
import { isGone, type Machine } from '../machines.ts';
import { numericIdOf, PROJECT, ZONES } from '../names.ts';
import { type CloudSide, dateAt, holderOf, seenById, type ObservedMachine, observedMachineOf } from './side.ts';

/** Compute Engine behind the clients of the SDK. All of providers/gcp runs on it. */

const STATES = {
  running: 'RUNNING',
  stopping: 'STOPPING',
  off: 'TERMINATED',
  suspended: 'SUSPENDED',
  starting: 'STAGING',
} as const;

const BODY = Symbol.for('google-gax.rawHttpResponsePayload');

const errorOf = (httpStatusCode: number, code: number, reason: string): Error =>
  Object.assign(new Error(reason), {
    code,
    httpStatusCode,
    [BODY]: JSON.stringify({ error: { code: httpStatusCode, errors: [{ reason }] } }),
  });

const notFound = (): Error => errorOf(404, 5, 'notFound');

const PLACE = `projects/${PROJECT}/zones/${ZONES.gcp}`;
const linkTo = (path: string): string => `https://www.googleapis.com/compute/v1/${path}`;

const dataDiskOf = (disk: string) => ({
  boot: false,
  type: 'PERSISTENT',
  mode: 'READ_WRITE',
  deviceName: disk,
  source: linkTo(disk),
});

/** A boot disk has the name of its machine. */
const bootDiskOf = ({ node }: Machine) => ({
  ...dataDiskOf(`${PLACE}/disks/${node}`),
  boot: true,
  deviceName: 'persistent-disk-0',
});

const instanceOf = ({ machine, shown }: ObservedMachine): Instance => {
  if (shown.power === 'gone' || shown.power === 'forgotten') throw notFound();
  return {
    id: numericIdOf(machine),
    name: machine.node,
    zone: linkTo(PLACE),
    status: STATES[shown.power],
    creationTimestamp: dateAt(machine.createdAt).toISOString(),
    lastStartTimestamp: dateAt(shown.launchedAt).toISOString(),
    lastStopTimestamp: dateAt(shown.stoppedAt).toISOString(),
    disks: [bootDiskOf(machine), ...shown.disks.map(dataDiskOf)],
  };
};

interface Named {
  readonly instance: string;
}

const sightFor = (side: CloudSide, { instance }: Named, age: number): ObservedMachine => {
  const numbered = side.fleet.machines.find(
    (machine) => machine.cloud === 'gcp' && numericIdOf(machine) === instance && machine.createdAt <= side.now() - age,
  );
  const sight = numbered
    ? observedMachineOf(numbered, age, side.now())
    : seenById(side, `${PLACE}/instances/${instance}`, age);
  if (!sight) throw notFound();
  return sight;
};

const diskAnswer = (side: CloudSide, name: string, age: number) => {
  const id = `${PLACE}/disks/${name}`;
  if (!side.fleet.disks.has(id)) throw notFound();
  const holder = holderOf(side, id, age);
  return { name, status: 'READY', users: holder ? [linkTo(holder.id)] : [] };
};

const standing = (side: CloudSide, path: Named): Machine => {
  const { machine } = sightFor(side, path, 0);
  if (isGone(machine)) throw notFound();
  return machine;
};

const DONE = [{ latestResponse: { name: 'operation', status: 'DONE' } }] as const;

export const simulatedCompute = (side: CloudSide): Cloud => {
  const passages = new Map<string, PermittedPath>();
  let calls = 0;
  const call = <T>(signal: AbortSignal | undefined, isWrite: boolean, arrives: Call<T>['arrives']): Promise<T> =>
    side.network.call(side.process, {
      service: 'cloud',
      signal,
      isWrite,
      throttled: () => errorOf(429, 8, 'rateLimitExceeded'),
      failed: () => errorOf(503, 14, 'backendError'),
      denied: () => errorOf(403, 7, 'forbidden'),
      arrives,
    });
  const read = <T>(signal: AbortSignal | undefined, answer: Call<T>['arrives']) =>
    call(signal, false, (...how) => [answer(...how)]);
  interface Options {
    readonly signal?: AbortSignal;
  }
  interface Ordered extends Named {
    readonly requestId: string;
  }
  const ordered = (path: Ordered, { signal }: Options, happens: (machine: Machine) => void) => {
    passages.get(path.requestId)?.check();
    return call(signal, true, () => {
      happens(standing(side, path));
      return DONE;
    });
  };
  const instances: InstancesClient = Object.assign(Object.create(null), {
    get: (path: Named, { signal }: Options) =>
      read(signal, (age, hides) => {
        if (hides) throw notFound();
        return instanceOf(sightFor(side, path, age));
      }),
    detachDisk: (path: Ordered & { readonly deviceName: string }, options: Options) =>
      ordered(path, options, (machine) => {
        side.watchDetach(machine, path.deviceName);
        const disk = side.fleet.disks.get(path.deviceName);
        if (!disk || disk.holder !== machine) throw errorOf(400, 3, 'invalid');
        side.watch({ verb: 'detach', machine, disk });
        side.detach(machine, disk, false);
      }),
    stop: (path: Ordered, options: Options) =>
      ordered(path, options, (machine) => {
        side.watch({ verb: 'power-off', machine, disk: null });
        side.powerOff(machine);
      }),
  });
  const disks: DisksClient = Object.assign(Object.create(null), {
    get: ({ disk }: { readonly disk: string }, { signal }: Options) =>
      read(signal, (age) => diskAnswer(side, disk, age)),
  });
  const regionDisks: RegionDisksClient = Object.create(null);
  const operations: ZoneOperationsClient = Object.create(null);
  const clients: ComputeClients = {
    anonymous: false,
    instances,
    disks,
    regionDisks,
    operations,
    ready: async () => undefined,
    permitted: (wanted, send) =>
      underPermit(wanted, async (passage) => {
        const requestId = String((calls += 1));
        passages.set(requestId, passage);
        try {
          return await send({ requestId, signal: passage.signal });
        } finally {
          passages.delete(requestId);
        }
      }),
  };
  return gcpCloud(clients);
};
