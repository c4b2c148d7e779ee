import type { ComputeManagementClient, Disk as ArmDisk } from '@azure/arm-compute';
import type { Cloud } from '../../../fencing/model/cloud.ts';
import { azureCloud } from '../../../providers/azure/index.ts';
import type { Vm } from '../../../providers/azure/machines.ts';
import type { PermittedPath } from '../../../transport/under-permit.ts';
import type { Call } from '../network.ts';
import { isGone, type Machine } from '../machines.ts';
import { GROUP, machineIdOf, osDiskIdOf, SUBSCRIPTION, vmIdOf } from '../names.ts';
import { type CloudSide, dateAt, holderOf, seenById, type ObservedMachine, observedMachineOf } from './side.ts';

/** ARM behind the client of the SDK. All of providers/azure runs on it. */

const errorOf = (statusCode: number, code: string): Error =>
  Object.assign(new Error(code), { name: 'RestError', statusCode, code });

const notFound = (): Error => errorOf(404, 'ResourceNotFound');

/** A machine that starts is `stopped` for a moment, although it shows no operation. */
const SHOWS_STOPPED_MS = 4_500;

const isBarelyStarting = ({ shown: { power, launchedAt }, at }: ObservedMachine): boolean =>
  power === 'starting' && at - launchedAt < SHOWS_STOPPED_MS;

const powerOf = (sight: ObservedMachine): string => {
  const { power, byGuest } = sight.shown;
  if (isBarelyStarting(sight)) return 'stopped';
  switch (power) {
    case 'off':
      return byGuest ? 'stopped' : 'deallocated';
    case 'suspended':
      return 'deallocated';
    case 'stopping':
      return byGuest ? 'stopping' : 'deallocating';
    default:
      return power;
  }
};

const isBusy = (sight: ObservedMachine): boolean => isOperatedOn(sight) && !isBarelyStarting(sight);

const isOperatedOn = ({ shown: { power, byGuest } }: ObservedMachine): boolean =>
  power === 'starting' || (power === 'stopping' && !byGuest);

const vmOf = (sight: ObservedMachine): Vm => {
  const { machine, shown } = sight;
  if (shown.power === 'gone' || shown.power === 'forgotten') throw notFound();
  const provisioning = isBusy(sight) ? 'Updating' : 'Succeeded';
  const statuses = [
    { code: `ProvisioningState/${provisioning.toLowerCase()}`, time: dateAt(shown.operatedAt) },
    { code: `PowerState/${powerOf(sight)}` },
    ...(shown.power === 'suspended' ? [{ code: 'HibernationState/hibernated' }] : []),
  ];
  return {
    id: machine.id,
    name: machine.node,
    vmId: vmIdOf(machine),
    location: 'westeurope',
    provisioningState: provisioning,
    timeCreated: dateAt(machine.createdAt),
    additionalCapabilities: { hibernationEnabled: machine.mayHibernate },
    osProfile: { computerName: machine.node },
    instanceView: { statuses },
    storageProfile: {
      osDisk: { createOption: 'FromImage', managedDisk: { id: osDiskIdOf(machine.serial) } },
      dataDisks: shown.disks.map((id, lun) => ({ lun, createOption: 'Attach', managedDisk: { id } })),
    },
  };
};

const osDiskOf = ({ machine, shown }: ObservedMachine): ArmDisk => {
  const isOff = shown.power === 'off' && !shown.byGuest;
  return {
    id: osDiskIdOf(machine.serial),
    location: 'westeurope',
    creationData: { createOption: 'FromImage' },
    managedBy: machine.id,
    diskState: shown.power === 'suspended' ? 'Frozen' : isOff ? 'Reserved' : 'Attached',
    lastOwnershipUpdateTime: dateAt(isOff ? shown.stoppedAt : shown.launchedAt),
  };
};

const diskAnswer = (side: CloudSide, id: string, age: number): ArmDisk => {
  const owner = side.fleet.machines.find((machine) => osDiskIdOf(machine.serial) === id);
  if (owner && !isGone(owner)) return osDiskOf(observedMachineOf(owner, age, side.now()));
  if (!side.fleet.disks.has(id)) throw notFound();
  const holder = holderOf(side, id, age);
  return {
    id,
    location: 'westeurope',
    creationData: { createOption: 'Empty' },
    diskState: holder ? 'Attached' : 'Unattached',
    ...(holder && { managedBy: holder.id }),
  };
};

const sightFor = (side: CloudSide, name: string, age: number): ObservedMachine => {
  const sight = seenById(side, machineIdOf('azure', name, 0), age);
  if (!sight) throw notFound();
  return sight;
};

const standing = (side: CloudSide, name: string): Machine => {
  const sight = sightFor(side, name, 0);
  if (isGone(sight.machine)) throw notFound();
  if (isBusy(sight)) throw errorOf(409, 'OperationNotAllowed');
  return sight.machine;
};

interface Options {
  readonly abortSignal?: AbortSignal;
}

/** A long-running operation that ends as soon as it is accepted. */
const operationOf = (accepted: Promise<void>) => ({
  submitted: () => accepted,
  pollUntilDone: () => accepted,
  onProgress: () => () => undefined,
  operationState: { status: 'succeeded' },
});

interface DetachBody {
  readonly dataDisksToDetach: readonly { readonly diskId: string; readonly detachOption?: string }[];
}

const detachAll = (side: CloudSide, name: string, { dataDisksToDetach }: DetachBody): void => {
  const named = seenById(side, machineIdOf('azure', name, 0), 0)?.machine ?? null;
  for (const { diskId } of dataDisksToDetach) side.watchDetach(named, diskId);
  const machine = standing(side, name);
  for (const { diskId, detachOption } of dataDisksToDetach) {
    const disk = side.fleet.disks.get(diskId);
    if (!disk || disk.holder !== machine) throw errorOf(409, 'AttachDiskWhileBeingDetached');
    side.watch({ verb: 'detach', machine, disk });
    side.detach(machine, disk, detachOption === 'ForceDetach');
  }
};

const clientOf = (side: CloudSide, passage: PermittedPath | null): ComputeManagementClient => {
  const call = <T>(signal: AbortSignal | undefined, isWrite: boolean, arrives: Call<T>['arrives']): Promise<T> =>
    side.network.call(side.process, {
      service: 'cloud',
      signal,
      isWrite,
      throttled: () => errorOf(429, 'TooManyRequests'),
      failed: () => errorOf(500, 'InternalServerError'),
      denied: () => errorOf(403, 'AuthorizationFailed'),
      arrives,
    });
  const order = async (signal: AbortSignal | undefined, happens: () => void): Promise<void> => {
    passage?.check();
    await call(signal, true, happens);
  };
  const virtualMachines = {
    get: (_group: string, name: string, { abortSignal }: Options) =>
      call(abortSignal, false, (age, hides) => {
        if (hides) throw notFound();
        return vmOf(sightFor(side, name, age));
      }),
    attachDetachDataDisks: (_group: string, name: string, body: DetachBody, { abortSignal }: Options) =>
      operationOf(order(abortSignal, () => detachAll(side, name, body))),
    powerOff: (_group: string, name: string, { abortSignal }: Options) =>
      operationOf(
        order(abortSignal, () => {
          const machine = standing(side, name);
          side.watch({ verb: 'power-off', machine, disk: null });
          side.powerOff(machine);
        }),
      ),
  };
  const disks = {
    get: (_group: string, name: string, { abortSignal }: Options) =>
      call(abortSignal, false, (age) => diskAnswer(side, diskPathOf(name), age)),
  };
  return Object.assign(Object.create(null), { virtualMachines, disks });
};

const diskPathOf = (name: string): string =>
  `/subscriptions/${SUBSCRIPTION}/resourcegroups/${GROUP}/providers/microsoft.compute/disks/${name}`;

export const simulatedArm = (side: CloudSide): Cloud =>
  azureCloud({
    subscription: SUBSCRIPTION,
    polling: { everyMs: 1, times: 1 },
    osDisks: new Map(),
    reads: clientOf(side, null),
    writes: (passage) => clientOf(side, passage),
  });
