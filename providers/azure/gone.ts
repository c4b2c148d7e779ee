import type { AzureClients } from './client.ts';
import { declinedWith, translated, type Declined } from './errors.ts';
import { machinePath, type MachinePath } from './ids.ts';
import { readVm, type ReadingOfVm, type Vm } from './vm.ts';

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

export const saysSetIsGone = (declined: Declined | null): boolean => declined?.status === NOT_FOUND && SET_IS_GONE.has(declined.code);

/** Pages of one set: it has at most 1,000 instances. https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-faq */
const MOST_PAGES = 20;

/** Null where ARM has declined the call for a reason that has nothing to do with what exists. */
const wordOn = ({ kind }: MachinePath, { status, code }: Declined): 'gone' | 'doubt' | 'ask-its-set' | null => {
  if (status !== NOT_FOUND && (kind === 'vm' || status !== BAD_REQUEST)) return null;
  if (OF_THE_PLACE.has(code)) return 'doubt';
  if (kind === 'instance') return 'ask-its-set';
  return code === 'ResourceNotFound' ? 'gone' : VAGUE.has(code) ? 'doubt' : null;
};

/**
 * Asks for a machine. ARM itself keeps the list of machines of their own, and says `ResourceNotFound` of one that is not
 * there. The instances of a uniform scale set another service knows, which has several codes for that, and gives some of
 * them to other mistakes as well: there the set's own list decides.
 * https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-not-found
 *
 * @throws Unavailable, Denied, Refused
 */
export const findVm = (clients: AzureClients, path: MachinePath, reading: ReadingOfVm): Promise<Found> =>
  translated('virtualMachines/read', async () => {
    try {
      return { is: 'seen', vm: await readVm(clients.reads, path, reading) };
    } catch (caught) {
      const declined = declinedWith(caught);
      const word = declined && wordOn(path, declined);
      if (!word) throw caught;
      return word === 'ask-its-set' && path.kind === 'instance' ? confirmed(clients, path, declined.code, reading.signal) : { is: word === 'gone' ? 'gone' : 'doubt', code: declined.code };
    }
  });

const confirmed = async (clients: AzureClients, path: Instance, code: string, signal: AbortSignal): Promise<Found> => {
  const listed = await isListed(clients, path, signal);
  return { is: listed === 'no' ? 'gone' : 'doubt', code: listed === 'yes' ? `${code}, although its scale set lists it` : code };
};

/** `unclear`: the list is of no set, of another one, or without end. */
const isListed = async (clients: AzureClients, path: Instance, signal: AbortSignal): Promise<'yes' | 'no' | 'unclear'> => {
  let pages = 0;
  try {
    for await (const page of clients.reads.virtualMachineScaleSetVMs.list(path.group, path.set, { abortSignal: signal }).byPage()) {
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
