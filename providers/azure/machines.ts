import type { ComputeManagementClient, InstanceViewStatus, VirtualMachine } from '@azure/arm-compute';
import { z } from 'zod';
import { Unavailable } from '../../fencing/model/errors.ts';
import type { MachineTarget } from '../../fencing/model/machine.ts';
import type { AzureClients } from './client.ts';
import { type Declined, declinedWith, withCloudfenceErrors } from './errors.ts';
import { machinePath, type MachinePath } from './identity.ts';

/** Finds a virtual machine by the path of its id, alone or in a scale set, and sends the operations on it. */

/** The fields that virtual machines and scale set instances share. */
export interface Vm extends Pick<
  VirtualMachine,
  | 'additionalCapabilities'
  | 'id'
  | 'name'
  | 'osProfile'
  | 'priority'
  | 'provisioningState'
  | 'storageProfile'
  | 'tags'
  | 'timeCreated'
  | 'virtualMachineScaleSet'
  | 'vmId'
  | 'zones'
> {
  /** Azure always has it, but an answer may lack it. */
  readonly location?: string;
  readonly instanceView?: { readonly statuses?: InstanceViewStatus[] };
}

/** A long-running operation. Its request has already been sent when the caller gets it. */
export type Operation =
  | ReturnType<ComputeManagementClient['virtualMachines']['powerOff']>
  | ReturnType<ComputeManagementClient['virtualMachines']['attachDetachDataDisks']>;

type Onlooker = (answer: { readonly headers: { readonly get: (name: string) => string | undefined } }) => void;

interface VmReadOptions {
  readonly signal: AbortSignal;
  /** Whether to include the power state, which ARM has to collect from other services. */
  readonly withPowerState: boolean;
  readonly onAnswer?: Onlooker;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  /** The polling interval (ms), unless ARM requests another one. */
  readonly everyMs: number;
}

/**
 * Reads either kind of machine with the same options. One answer contains the model and, on request, the instance view.
 *
 * @throws Unavailable if the answer is about another machine or about none, and any error of the SDK
 */
const readVm = async (
  client: ComputeManagementClient,
  path: MachinePath,
  { signal, withPowerState: withView, onAnswer = () => undefined }: VmReadOptions,
): Promise<Vm> => {
  const options = { ...(withView && { expand: 'instanceView' as const }), abortSignal: signal, onResponse: onAnswer };
  const vm: Vm = await (path.kind === 'vm'
    ? client.virtualMachines.get(path.group, path.name, options)
    : client.virtualMachineScaleSetVMs.get(path.group, path.set, path.instance, options));
  const read = machineSchema.safeParse(vm);
  if (read.success && machinePath(read.data.id)?.id === path.id) return vm;
  throw new Unavailable(
    `the response to virtualMachines/read is not about ${path.id}, so Cloudfence does not use it: ` +
      'check the proxies between Cloudfence and ARM',
    {
      cause: read.error,
    },
  );
};

const text = z.string().nullish();
const managed = z.object({ managedDisk: z.object({ id: text }).nullish(), vhd: z.object({ uri: text }).nullish() });

/** The fields of a machine that Cloudfence reads, in ARM's format. The SDK does not validate an answer. */
const machineSchema = z.object({
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
  storageProfile: z
    .object({
      osDisk: managed.extend({ diffDiskSettings: z.object({ option: text }).nullish() }).nullish(),
      dataDisks: z.array(managed.extend({ toBeDetached: z.boolean().nullish() })).nullish(),
    })
    .nullish(),
  instanceView: z.object({ statuses: z.array(z.object({ code: text, time: z.date().nullish() })).nullish() }).nullish(),
});

export const sendDetach = (
  client: ComputeManagementClient,
  path: MachinePath,
  disks: readonly { readonly diskId: string; readonly detachOption?: string }[],
  { signal, everyMs }: CallOptions,
): Operation => {
  const options = { abortSignal: signal, updateIntervalInMs: everyMs };
  const body = { dataDisksToDetach: [...disks] };
  return path.kind === 'vm'
    ? client.virtualMachines.attachDetachDataDisks(path.group, path.name, body, options)
    : client.virtualMachineScaleSetVMs.attachDetachDataDisks(path.group, path.set, path.instance, body, options);
};

export const sendPowerOff = (
  client: ComputeManagementClient,
  path: MachinePath,
  { signal, everyMs }: CallOptions,
): Operation => {
  const options = { skipShutdown: true, abortSignal: signal, updateIntervalInMs: everyMs };
  return path.kind === 'vm'
    ? client.virtualMachines.powerOff(path.group, path.name, options)
    : client.virtualMachineScaleSetVMs.powerOff(path.group, path.set, path.instance, options);
};

export const sendStart = (
  client: ComputeManagementClient,
  path: MachinePath,
  { signal, everyMs }: CallOptions,
): Operation => {
  const options = { abortSignal: signal, updateIntervalInMs: everyMs };
  return path.kind === 'vm'
    ? client.virtualMachines.start(path.group, path.name, options)
    : client.virtualMachineScaleSetVMs.start(path.group, path.set, path.instance, options);
};

/** ARM's answer about a machine id: a machine, none (`gone`), or nothing that proves either (`doubt`). */
export type VmLookup =
  | { readonly is: 'seen'; readonly vm: Vm }
  | { readonly is: 'gone' | 'doubt'; readonly code: string };

type Instance = Extract<MachinePath, { kind: 'instance' }>;

/** These codes are about the scope in which ARM looked for the machine, not about the machine. */
const GROUP_OR_SUBSCRIPTION_MISSING: ReadonlySet<string> = new Set(['ResourceGroupNotFound', 'SubscriptionNotFound']);
/** For a standalone machine, these codes do not show what was not found. */
const AMBIGUOUS: ReadonlySet<string> = new Set([
  ...GROUP_OR_SUBSCRIPTION_MISSING,
  'NotFound',
  'ParentResourceNotFound',
]);

/** These codes mean that the set is gone, and all its instances with it. */
const SET_IS_GONE: ReadonlySet<string> = new Set(['ResourceNotFound', 'ParentResourceNotFound']);

const NOT_FOUND = 404;
const BAD_REQUEST = 400;

export const saysSetIsGone = (declined: Declined | null): boolean =>
  declined?.status === NOT_FOUND && SET_IS_GONE.has(declined.code);

/**
 * The maximum number of pages of one set, which has at most 1,000 instances.
 * https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-faq
 */
const MOST_PAGES = 20;

/**
 * Returns what a rejected call shows about the existence of the machine. Returns null if the reason has nothing to do
 * with its existence.
 */
const existenceSaidBy = (
  { kind }: MachinePath,
  { status, code }: Declined,
): 'gone' | 'doubt' | 'ask-its-set' | null => {
  if (status !== NOT_FOUND && (kind === 'vm' || status !== BAD_REQUEST)) return null;
  if (GROUP_OR_SUBSCRIPTION_MISSING.has(code)) return 'doubt';
  if (kind === 'instance') return 'ask-its-set';
  return code === 'ResourceNotFound' ? 'gone' : AMBIGUOUS.has(code) ? 'doubt' : null;
};

/**
 * Finds a machine. ARM itself lists standalone machines and answers `ResourceNotFound` for one that does not exist.
 * Another service knows the instances of a uniform scale set. It uses several codes for a missing instance, and uses
 * some of them for other errors, too. So for an instance, the list of the set is used.
 * https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-not-found
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const findVm = (clients: AzureClients, path: MachinePath, options: VmReadOptions): Promise<VmLookup> =>
  withCloudfenceErrors('virtualMachines/read', async () => {
    try {
      return { is: 'seen', vm: await readVm(clients.reads, path, options) };
    } catch (caught) {
      const declined = declinedWith(caught);
      const word = declined && existenceSaidBy(path, declined);
      if (!word) throw caught;
      return word === 'ask-its-set' && path.kind === 'instance'
        ? confirmedBySet(clients, path, declined.code, options.signal)
        : { is: word === 'gone' ? 'gone' : 'doubt', code: declined.code };
    }
  });

const confirmedBySet = async (
  clients: AzureClients,
  path: Instance,
  code: string,
  signal: AbortSignal,
): Promise<VmLookup> => {
  const listed = await isListed(clients, path, signal);
  return {
    is: listed === 'no' ? 'gone' : 'doubt',
    code: listed === 'yes' ? `${code}, although its scale set lists it` : code,
  };
};

/**
 * Returns whether the list of the set contains the instance. `unclear` means that the list belongs to no set or to
 * another one, or that it never ends.
 */
const isListed = async (
  clients: AzureClients,
  path: Instance,
  signal: AbortSignal,
): Promise<'yes' | 'no' | 'unclear'> => {
  let pages = 0;
  try {
    for await (const page of clients.reads.virtualMachineScaleSetVMs
      .list(path.group, path.set, { abortSignal: signal })
      .byPage()) {
      const members = page.map(({ id }) => machinePath(id ?? ''));
      if (members.some((member) => member?.id === path.id)) return 'yes';
      pages += 1;
      if (pages >= MOST_PAGES || !members.every((member) => isOfSameSet(member, path))) return 'unclear';
    }
    return 'no';
  } catch (caught) {
    const declined = declinedWith(caught);
    if (declined?.status !== NOT_FOUND) throw caught;
    return saysSetIsGone(declined) ? 'no' : 'unclear';
  }
};

const isOfSameSet = (member: MachinePath | null, { subscription, group, set }: Instance): boolean =>
  member?.kind === 'instance' && member.subscription === subscription && member.group === group && member.set === set;

/** The machine that has the name now: the intended one, another one, or none. */
export type NameOwner =
  | { readonly said: 'meant'; readonly path: MachinePath; readonly vm: Vm }
  | { readonly said: 'other'; readonly why: string };

const other = (why: string): NameOwner => ({ said: 'other', why });

interface ReadOptions {
  readonly signal: AbortSignal;
  /** Whether the power state is also needed. A faster answer makes the proof younger. */
  readonly withPowerState: boolean;
}

/**
 * Reads the machine that has the name now and compares it with the intended incarnation.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const readIncarnation = async (
  clients: AzureClients,
  { machine, incarnation }: MachineTarget,
  options: ReadOptions,
): Promise<NameOwner> => {
  const path = machinePath(machine);
  if (!path || path.subscription !== clients.subscription.toLowerCase())
    return other(`${machine} is not a machine in subscription ${clients.subscription}`);
  if (incarnation === null) return other('no VM had this name when Cloudfence looked');
  const found = await findVm(clients, path, options);
  if (found.is !== 'seen')
    return other(
      found.is === 'gone' ? 'no VM has this name now' : `it is unknown whether a VM has this name (${found.code})`,
    );
  const { vm } = found;
  const now = vm.vmId?.toLowerCase() ?? 'a machine without an id';
  return now === incarnation
    ? { said: 'meant', path, vm }
    : other(`the name now belongs to ${now} and no longer to ${incarnation}`);
};
