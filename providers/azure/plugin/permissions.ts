import { z } from 'zod';
import { PermissionDenied } from '../../../fencing/model/errors.ts';
import type { MachineId } from '../../../fencing/model/machine.ts';
import type { Check } from '../../check.ts';
import type { PermissionTrial } from '../../plugin.ts';
import { armScope, armUrl, type AzureClients } from '../client.ts';
import { errorCodeOf } from '../errors.ts';
import { lookAtMachines } from '../look.ts';
import { restCall, type RestOptions } from '../rest.ts';

/** Asks ARM for the permissions that a fence needs and returns the answers as lines for `cloudfence doctor`. */

/** Roles are assigned on groups and subscriptions, so a few machines are sufficient. */
const MOST_ASKED = 5;

const kindOf = (machine: MachineId): string =>
  machine.includes('/virtualmachinescalesets/') ? 'virtualMachineScaleSets/virtualMachines' : 'virtualMachines';

const wantedOn = (machine: MachineId, { detach, unreachable }: PermissionTrial['policy']): readonly string[] =>
  [...(detach === 'never' ? [] : ['attachDetachDataDisks']), ...(unreachable === 'power-off' ? ['powerOff'] : [])].map(
    (verb) => `Microsoft.Compute/${kindOf(machine)}/${verb}/action`,
  );

const REMEDY = 'assign the role in docs/azure.md, "Permissions"';

const missingOn = async (
  options: PermissionOptions,
  machine: MachineId,
  policy: PermissionTrial['policy'],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const missing = await missingActions(options, machine, wantedOn(machine, policy), signal);
  return missing.length === 0 ? [] : [`${missing.join(' and ')} on ${machine}`];
};

/** Asks about these machines. @throws PermissionDenied, Unavailable */
const asked = async (
  what: string,
  options: PermissionOptions,
  machines: readonly MachineId[],
  policy: PermissionTrial['policy'],
  signal: AbortSignal,
): Promise<Check> => {
  const missing = (await Promise.all(machines.map((machine) => missingOn(options, machine, policy, signal)))).flat();
  if (missing.length > 0)
    return { what, verdict: 'fail', says: `the credentials do not have ${missing.join('; ')}: ${REMEDY}` };
  return { what, verdict: 'ok', says: `the assigned roles allow it; checked on ${machines.join(', ')}` };
};

/**
 * Checks the permissions on some machines. A role that may fence but may not read its own permissions is not a fault:
 * the check then reports that nothing is known.
 *
 * @throws Unavailable
 */
export const destructiveCallChecks = async (
  options: PermissionOptions,
  { policy, machines }: PermissionTrial,
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  if (policy.detach === 'never' && policy.unreachable !== 'power-off') return [];
  const what = policy.unreachable === 'power-off' ? 'may detach disks and power off machines' : 'may detach disks';
  if (machines.length === 0)
    return [
      { what, verdict: 'warn', says: 'unknown, because no Node names a machine to check, and Azure has no dry run' },
    ];
  try {
    return [await asked(what, options, machines.slice(0, MOST_ASKED), policy, signal)];
  } catch (error) {
    if (!(error instanceof PermissionDenied)) throw error;
    return [
      {
        what,
        verdict: 'warn',
        says:
          `unknown, because ${error.message}. Azure has no dry run, so only the first detach shows whether it is ` +
          'allowed',
      },
    ];
  }
};

/** A group that does not exist. A call in it shows whether the credentials allow this kind of call at all. */
const NOBODYS_GROUP = 'cloudfence-asks-for-nobody';

/**
 * Checks whether machines may be read in the whole subscription, or only where a narrower role applies. Azure has no
 * dry run, so only the first destructive call shows whether it is allowed.
 *
 * @throws PermissionDenied (no token, or no such subscription), Unavailable
 */
export const probeReads = async (
  clients: AzureClients,
  signal: AbortSignal,
): Promise<'everywhere' | 'somewhere-at-most'> => {
  const nobody =
    `/subscriptions/${clients.subscription.toLowerCase()}/resourcegroups/` +
    `${NOBODYS_GROUP}/providers/microsoft.compute/virtualmachines/nobody`;
  try {
    const [facts] = await lookAtMachines(clients, [nobody], { disks: false }, signal);
    if (facts?.evidence['state'] === 'SubscriptionNotFound')
      throw new PermissionDenied(
        `subscription ${clients.subscription} does not exist, or these credentials cannot see it`,
      );
    return 'everywhere';
  } catch (error) {
    if (error instanceof PermissionDenied && errorCodeOf(error.cause) === 'AuthorizationFailed')
      return 'somewhere-at-most';
    throw error;
  }
};

export interface PermissionOptions extends RestOptions {
  /** URL of another ARM endpoint. */
  readonly endpoint: string | null;
}

/**
 * The permissions that ARM lists. `*` matches any characters. Another role may grant what one role excludes from its
 * own actions.
 */
const permissions = z.object({
  value: z.array(z.object({ actions: z.array(z.string()).default([]), notActions: z.array(z.string()).default([]) })),
});

const API_VERSION = '2022-04-01';

const fits = (pattern: string, action: string): boolean =>
  new RegExp(`^${pattern.replaceAll(/[\\^$.|+?()[\]{}]/g, String.raw`\$&`).replaceAll('*', '.*')}$`, 'i').test(action);

/**
 * Returns the wanted actions that these credentials do not have on a machine. ARM has no dry run, but it reports the
 * permissions of each caller. https://learn.microsoft.com/rest/api/authorization/permissions/list-for-resource
 *
 * @throws PermissionDenied if the credentials may not even ask, Unavailable, Refused
 */
export const missingActions = async (
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
