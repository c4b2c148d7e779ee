import { z } from 'zod';
import { Denied } from '../../../fencing/model/errors.ts';
import type { MachineId } from '../../../fencing/model/machine.ts';
import type { Check } from '../../check.ts';
import type { Trial } from '../../plugin.ts';
import { armScope, armUrl, type AzureClients } from '../client.ts';
import { codeOf } from '../errors.ts';
import { look } from '../look.ts';
import { restCall, type RestOptions } from '../rest.ts';

/** What ARM says of the permissions for a fence, as lines of the doctor. */

/** Roles are given on groups and subscriptions: a few machines stand for all. */
const MOST_ASKED = 5;

const kindOf = (machine: MachineId): string =>
  machine.includes('/virtualmachinescalesets/') ? 'virtualMachineScaleSets/virtualMachines' : 'virtualMachines';

const wantedOn = (machine: MachineId, { detach, unreachable }: Trial['policy']): readonly string[] =>
  [...(detach === 'never' ? [] : ['attachDetachDataDisks']), ...(unreachable === 'power-off' ? ['powerOff'] : [])].map(
    (verb) => `Microsoft.Compute/${kindOf(machine)}/${verb}/action`,
  );

const MEND = 'give the role of docs/azure.md, "Permissions"';

const missingOn = async (
  options: PermissionOptions,
  machine: MachineId,
  policy: Trial['policy'],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const missing = await missingActions(options, machine, wantedOn(machine, policy), signal);
  return missing.length === 0 ? [] : [`${missing.join(' and ')} on ${machine}`];
};

/** @throws Denied, Unavailable */
const asked = async (
  what: string,
  options: PermissionOptions,
  machines: readonly MachineId[],
  policy: Trial['policy'],
  signal: AbortSignal,
): Promise<Check> => {
  const missing = (await Promise.all(machines.map((machine) => missingOn(options, machine, policy, signal)))).flat();
  if (missing.length > 0) return { what, verdict: 'fail', says: `${missing.join('; ')} IS MISSING: ${MEND}` };
  return { what, verdict: 'ok', says: `allowed by the roles that are given, asked for ${machines.join(', ')}` };
};

/**
 * A role that may fence and not ask what it may is no fault: nothing is known, and that is said. @throws Unavailable
 */
export const orderChecks = async (
  options: PermissionOptions,
  { policy, machines }: Trial,
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  if (policy.detach === 'never' && policy.unreachable !== 'power-off') return [];
  const what = policy.unreachable === 'power-off' ? 'may detach disks and power off machines' : 'may detach disks';
  if (machines.length === 0)
    return [{ what, verdict: 'warn', says: 'no Node names a machine to ask for; Azure has no dry run' }];
  try {
    return [await asked(what, options, machines.slice(0, MOST_ASKED), policy, signal)];
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    return [
      {
        what,
        verdict: 'warn',
        says: `${error.message}, so that nobody can tell: Azure has no dry run, and whether detaching is allowed shows with the first detach`,
      },
    ];
  }
};

/** A group that nobody has: asking in it shows whether we may ask. */
const NOBODYS_GROUP = 'cloudfence-asks-for-nobody';

/**
 * Whether we may read machines anywhere in the subscription, or where a narrower role reaches at most. Azure has no dry
 * run: whether orders are allowed shows with the first one.
 *
 * @throws Denied (no token, or no such subscription), Unavailable
 */
export const probe = async (
  clients: AzureClients,
  signal: AbortSignal,
): Promise<'everywhere' | 'somewhere-at-most'> => {
  const nobody = `/subscriptions/${clients.subscription.toLowerCase()}/resourcegroups/${NOBODYS_GROUP}/providers/microsoft.compute/virtualmachines/nobody`;
  try {
    const [facts] = await look(clients, [nobody], { disks: false }, signal);
    if (facts?.evidence['state'] === 'SubscriptionNotFound')
      throw new Denied(`there is no subscription ${clients.subscription}, or none that we may know of`);
    return 'everywhere';
  } catch (error) {
    if (error instanceof Denied && codeOf(error.cause) === 'AuthorizationFailed') return 'somewhere-at-most';
    throw error;
  }
};

export interface PermissionOptions extends RestOptions {
  /** URL of another endpoint of ARM. */
  readonly endpoint: string | null;
}

/** `*` stands for any characters; what a role leaves out of its own actions another role may give. */
const permissions = z.object({
  value: z.array(z.object({ actions: z.array(z.string()).default([]), notActions: z.array(z.string()).default([]) })),
});

const API_VERSION = '2022-04-01';

const fits = (pattern: string, action: string): boolean =>
  new RegExp(`^${pattern.replaceAll(/[\\^$.|+?()[\]{}]/g, String.raw`\$&`).replaceAll('*', '.*')}$`, 'i').test(action);

/**
 * Those of the wanted actions that these credentials do not have on a machine. ARM has no dry run, and tells each
 * caller what it may do. https://learn.microsoft.com/rest/api/authorization/permissions/list-for-resource
 *
 * @throws Denied where not even that may be asked, Unavailable, Refused
 */
const missingActions = async (
  { endpoint, ...rest }: PermissionOptions,
  machine: MachineId,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const url = `${armUrl(endpoint)}${machine}/providers/Microsoft.Authorization/permissions?api-version=${API_VERSION}`;
  const { value } = await restCall(
    rest,
    { method: 'GET', url, scope: armScope(endpoint), name: 'Microsoft.Authorization/permissions/read' },
    permissions,
    signal,
  );
  const isHeld = (action: string): boolean =>
    value.some(
      ({ actions, notActions }) =>
        actions.some((one) => fits(one, action)) && !notActions.some((one) => fits(one, action)),
    );
  return wanted.filter((action) => !isHeld(action));
};
