import type { ComputeManagementClient, InstanceViewStatus, VirtualMachine } from '@azure/arm-compute';
import type { MachinePath } from './ids.ts';

/** What virtual machines and instances of scale sets have in common. */
export interface Vm
  extends Pick<
    VirtualMachine,
    'additionalCapabilities' | 'location' | 'name' | 'osProfile' | 'provisioningState' | 'storageProfile' | 'tags' | 'timeCreated' | 'vmId' | 'zones'
  > {
  readonly instanceView?: { readonly statuses?: InstanceViewStatus[] };
}

/** A long-running operation: its request has left by the time that the caller holds it. */
export type Operation = ReturnType<ComputeManagementClient['virtualMachines']['powerOff']> | ReturnType<ComputeManagementClient['virtualMachines']['attachDetachDataDisks']>;

type Onlooker = (answer: { readonly headers: { readonly get: (name: string) => string | undefined } }) => void;

interface Reading {
  readonly signal: AbortSignal;
  /** With its power state, for which ARM has to ask around. */
  readonly withView: boolean;
  readonly onAnswer?: Onlooker;
}

interface Ordering {
  readonly signal: AbortSignal;
  /** Between two questions about the operation (ms), unless ARM says otherwise. */
  readonly everyMs: number;
}

/** The scale set is gone, and all its instances with it; or the service behind ARM, which alone keeps a list of them, has no such instance. */
const GONE_INSTANCE: ReadonlySet<string> = new Set(['ResourceNotFound', 'ParentResourceNotFound', 'NotFound']);

/**
 * Whether a code of ARM's speaks of this very machine, and not of where it was looked for. ARM itself knows machines of their
 * own, and calls one that is not there `ResourceNotFound`. https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-not-found
 */
export const saysGone = ({ kind }: MachinePath, code: string | null): boolean => code !== null && (kind === 'vm' ? code === 'ResourceNotFound' : GONE_INSTANCE.has(code));

/** The same calls for both kinds of machines. One answer holds the model and, where it is asked for, the instance view. */
export const readVm = (client: ComputeManagementClient, path: MachinePath, { signal, withView, onAnswer = () => undefined }: Reading): Promise<Vm> => {
  const options = { ...(withView && { expand: 'instanceView' as const }), abortSignal: signal, onResponse: onAnswer };
  return path.kind === 'vm'
    ? client.virtualMachines.get(path.group, path.name, options)
    : client.virtualMachineScaleSetVMs.get(path.group, path.set, path.instance, options);
};

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
