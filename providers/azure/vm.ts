import type { ComputeManagementClient, InstanceViewStatus, VirtualMachine } from '@azure/arm-compute';
import { z } from 'zod';
import { Unavailable } from '../../fencing/errors.ts';
import { machinePath, type MachinePath } from './ids.ts';

/** What virtual machines and instances of scale sets have in common. */
export interface Vm
  extends Pick<
    VirtualMachine,
    'additionalCapabilities' | 'id' | 'location' | 'name' | 'osProfile' | 'provisioningState' | 'storageProfile' | 'tags' | 'timeCreated' | 'vmId' | 'zones'
  > {
  readonly instanceView?: { readonly statuses?: InstanceViewStatus[] };
}

/** A long-running operation: its request is on its way by the time that the caller holds it. */
export type Operation = ReturnType<ComputeManagementClient['virtualMachines']['powerOff']> | ReturnType<ComputeManagementClient['virtualMachines']['attachDetachDataDisks']>;

type Onlooker = (answer: { readonly headers: { readonly get: (name: string) => string | undefined } }) => void;

export interface ReadingOfVm {
  readonly signal: AbortSignal;
  /** With its power state, for which ARM has to ask around. */
  readonly withView: boolean;
  readonly onAnswer?: Onlooker;
}

export interface Ordering {
  readonly signal: AbortSignal;
  /** Between two questions about the operation (ms), unless ARM says otherwise. */
  readonly everyMs: number;
}

/**
 * The same calls for both kinds of machines. One answer holds the model and, where it is asked for, the instance view.
 *
 * @throws Unavailable when the answer is of another machine, or of none; and whatever the SDK throws
 */
export const readVm = async (client: ComputeManagementClient, path: MachinePath, { signal, withView, onAnswer = () => undefined }: ReadingOfVm): Promise<Vm> => {
  const options = { ...(withView && { expand: 'instanceView' as const }), abortSignal: signal, onResponse: onAnswer };
  const vm: Vm = await (path.kind === 'vm'
    ? client.virtualMachines.get(path.group, path.name, options)
    : client.virtualMachineScaleSetVMs.get(path.group, path.set, path.instance, options));
  const read = inForm.safeParse(vm);
  if (read.success && machinePath(read.data.id)?.id === path.id) return vm;
  throw new Unavailable(`virtualMachines/read was not answered with ${path.id}: this is no answer of ARM`, { cause: read.error });
};

const text = z.string().nullish();
const managed = z.object({ managedDisk: z.object({ id: text }).nullish(), vhd: z.object({ uri: text }).nullish() });

/** What is read of a machine, as ARM writes it: the SDK hands on whatever stands in an answer. */
const inForm = z.object({
  id: z.string(),
  name: text,
  vmId: text,
  location: text,
  provisioningState: text,
  timeCreated: z.date().nullish(),
  tags: z.record(z.string(), z.string()).nullish(),
  zones: z.array(z.string()).nullish(),
  osProfile: z.object({ computerName: text }).nullish(),
  additionalCapabilities: z.object({ hibernationEnabled: z.boolean().nullish() }).nullish(),
  storageProfile: z.object({ osDisk: managed.nullish(), dataDisks: z.array(managed.extend({ toBeDetached: z.boolean().nullish() })).nullish() }).nullish(),
  instanceView: z.object({ statuses: z.array(z.object({ code: text, time: z.date().nullish() })).nullish() }).nullish(),
});

export const orderDetach = (client: ComputeManagementClient, path: MachinePath, disk: { readonly diskId: string; readonly detachOption?: string }, { signal, everyMs }: Ordering): Operation => {
  const options = { abortSignal: signal, updateIntervalInMs: everyMs };
  const body = { dataDisksToDetach: [disk] };
  return path.kind === 'vm'
    ? client.virtualMachines.attachDetachDataDisks(path.group, path.name, body, options)
    : client.virtualMachineScaleSetVMs.attachDetachDataDisks(path.group, path.set, path.instance, body, options);
};

export const orderPowerOff = (client: ComputeManagementClient, path: MachinePath, { signal, everyMs }: Ordering): Operation => {
  const options = { skipShutdown: true, abortSignal: signal, updateIntervalInMs: everyMs };
  return path.kind === 'vm'
    ? client.virtualMachines.powerOff(path.group, path.name, options)
    : client.virtualMachineScaleSetVMs.powerOff(path.group, path.set, path.instance, options);
};
