import type { ComputeManagementClient, InstanceViewStatus, VirtualMachine } from '@azure/arm-compute';
import { z } from 'zod';
import { Unavailable } from '../../fencing/model/errors.ts';
import type { MachineTarget } from '../../fencing/model/machine.ts';
import type { AzureClients } from './client.ts';
import { type Declined, declinedWith, withCloudfenceErrors } from './errors.ts';
import { machinePath, type MachinePath } from './identity.ts';

/** What virtual machines and instances of scale sets have in common. */
export interface Vm extends Pick<
  VirtualMachine,
  | 'additionalCapabilities'
  | 'id'
  | 'location'
  | 'name'
  | 'osProfile'
  | 'provisioningState'
  | 'storageProfile'
  | 'tags'
  | 'timeCreated'
  | 'vmId'
  | 'zones'
> {
  readonly instanceView?: { readonly statuses?: InstanceViewStatus[] };
}

/** A long-running operation: its request is on its way by the time that the caller holds it. */
export type Operation =
  | ReturnType<ComputeManagementClient['virtualMachines']['powerOff']>
  | ReturnType<ComputeManagementClient['virtualMachines']['attachDetachDataDisks']>;

type Onlooker = (answer: { readonly headers: { readonly get: (name: string) => string | undefined } }) => void;

interface ReadingOfVm {
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
const readVm = async (
  client: ComputeManagementClient,
  path: MachinePath,
  { signal, withView, onAnswer = () => undefined }: ReadingOfVm,
): Promise<Vm> => {
  const options = { ...(withView && { expand: 'instanceView' as const }), abortSignal: signal, onResponse: onAnswer };
  const vm: Vm = await (path.kind === 'vm'
    ? client.virtualMachines.get(path.group, path.name, options)
    : client.virtualMachineScaleSetVMs.get(path.group, path.set, path.instance, options));
  const read = inForm.safeParse(vm);
  if (read.success && machinePath(read.data.id)?.id === path.id) return vm;
  throw new Unavailable(`virtualMachines/read was not answered with ${path.id}: this is no answer of ARM`, {
    cause: read.error,
  });
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
  storageProfile: z
    .object({
      osDisk: managed.nullish(),
      dataDisks: z.array(managed.extend({ toBeDetached: z.boolean().nullish() })).nullish(),
    })
    .nullish(),
  instanceView: z.object({ statuses: z.array(z.object({ code: text, time: z.date().nullish() })).nullish() }).nullish(),
});

export const orderDetach = (
  client: ComputeManagementClient,
  path: MachinePath,
  disk: { readonly diskId: string; readonly detachOption?: string },
  { signal, everyMs }: Ordering,
): Operation => {
  const options = { abortSignal: signal, updateIntervalInMs: everyMs };
  const body = { dataDisksToDetach: [disk] };
  return path.kind === 'vm'
    ? client.virtualMachines.attachDetachDataDisks(path.group, path.name, body, options)
    : client.virtualMachineScaleSetVMs.attachDetachDataDisks(path.group, path.set, path.instance, body, options);
};

export const orderPowerOff = (
  client: ComputeManagementClient,
  path: MachinePath,
  { signal, everyMs }: Ordering,
): Operation => {
  const options = { skipShutdown: true, abortSignal: signal, updateIntervalInMs: everyMs };
  return path.kind === 'vm'
    ? client.virtualMachines.powerOff(path.group, path.name, options)
    : client.virtualMachineScaleSetVMs.powerOff(path.group, path.set, path.instance, options);
};

/** What ARM makes of a machine's id: a machine; none (`gone`); or nothing that proves either (`doubt`). */
export type Found = { readonly is: 'seen'; readonly vm: Vm } | { readonly is: 'gone' | 'doubt'; readonly code: string };

type Instance = Extract<MachinePath, { kind: 'instance' }>;

/** They speak of where the machine was looked for, and not of the machine. */
const OF_THE_PLACE: ReadonlySet<string> = new Set(['ResourceGroupNotFound', 'SubscriptionNotFound']);
/** Of a machine of its own they do not say what was not found. */
const VAGUE: ReadonlySet<string> = new Set([...OF_THE_PLACE, 'NotFound', 'ParentResourceNotFound']);

/** The set is gone, and all its instances with it. */
const SET_IS_GONE: ReadonlySet<string> = new Set(['ResourceNotFound', 'ParentResourceNotFound']);

const NOT_FOUND = 404;
const BAD_REQUEST = 400;

export const saysSetIsGone = (declined: Declined | null): boolean =>
  declined?.status === NOT_FOUND && SET_IS_GONE.has(declined.code);

/**
 * Pages of one set: it has at most 1,000 instances.
 * https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-faq
 */
const MOST_PAGES = 20;

/** Null where ARM has declined the call for a reason that has nothing to do with what exists. */
const wordOn = ({ kind }: MachinePath, { status, code }: Declined): 'gone' | 'doubt' | 'ask-its-set' | null => {
  if (status !== NOT_FOUND && (kind === 'vm' || status !== BAD_REQUEST)) return null;
  if (OF_THE_PLACE.has(code)) return 'doubt';
  if (kind === 'instance') return 'ask-its-set';
  return code === 'ResourceNotFound' ? 'gone' : VAGUE.has(code) ? 'doubt' : null;
};

/**
 * Asks for a machine. ARM itself keeps the list of machines of their own, and says `ResourceNotFound` of one that is
 * not there. The instances of a uniform scale set another service knows, which has several codes for that, and gives
 * some of them to other mistakes as well: there the set's own list decides.
 * https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-not-found
 *
 * @throws Unavailable, Denied, Refused
 */
export const findVm = (clients: AzureClients, path: MachinePath, reading: ReadingOfVm): Promise<Found> =>
  withCloudfenceErrors('virtualMachines/read', async () => {
    try {
      return { is: 'seen', vm: await readVm(clients.reads, path, reading) };
    } catch (caught) {
      const declined = declinedWith(caught);
      const word = declined && wordOn(path, declined);
      if (!word) throw caught;
      return word === 'ask-its-set' && path.kind === 'instance'
        ? confirmed(clients, path, declined.code, reading.signal)
        : { is: word === 'gone' ? 'gone' : 'doubt', code: declined.code };
    }
  });

const confirmed = async (clients: AzureClients, path: Instance, code: string, signal: AbortSignal): Promise<Found> => {
  const listed = await isListed(clients, path, signal);
  return {
    is: listed === 'no' ? 'gone' : 'doubt',
    code: listed === 'yes' ? `${code}, although its scale set lists it` : code,
  };
};

/** `unclear`: the list is of no set, of another one, or without end. */
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

/** Who bears the name of a machine now: the one that is meant, or somebody else, or nobody. */
export type Bearer =
  | { readonly said: 'meant'; readonly path: MachinePath; readonly vm: Vm }
  | { readonly said: 'other'; readonly why: string };

const other = (why: string): Bearer => ({ said: 'other', why });

interface Reading {
  readonly signal: AbortSignal;
  /** Whether its power state is needed, too: a quicker answer leaves the proof younger. */
  readonly withView: boolean;
}

/** @throws Unavailable, Denied, Refused */
export const readIncarnation = async (
  clients: AzureClients,
  { machine, incarnation }: MachineTarget,
  reading: Reading,
): Promise<Bearer> => {
  const path = machinePath(machine);
  if (!path || path.subscription !== clients.subscription.toLowerCase())
    return other(`${machine} is no machine of the subscription ${clients.subscription}`);
  if (incarnation === null) return other('nobody of that name was left when it was looked at');
  const found = await findVm(clients, path, reading);
  if (found.is !== 'seen')
    return other(
      found.is === 'gone' ? 'nobody of that name is left' : `whether that name is borne cannot be told (${found.code})`,
    );
  const { vm } = found;
  const now = vm.vmId?.toLowerCase() ?? 'a machine without an id';
  return now === incarnation
    ? { said: 'meant', path, vm }
    : other(`the name is borne by ${now} and not by ${incarnation} any more`);
};
