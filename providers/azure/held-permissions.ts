import { z } from 'zod';
import type { MachineId } from '../../fencing/machine.ts';
import { restCall, type RestOptions } from './rest.ts';
import { armScope, armUrl } from './sovereign.ts';

export interface PermissionOptions extends RestOptions {
  /** URL of another endpoint of ARM. */
  readonly endpoint: string | null;
}

/** `*` stands for any characters; what a role leaves out of its own actions another role may give. */
const permissions = z.object({ value: z.array(z.object({ actions: z.array(z.string()).default([]), notActions: z.array(z.string()).default([]) })) });

const API_VERSION = '2022-04-01';

const fits = (pattern: string, action: string): boolean =>
  new RegExp(`^${pattern.replaceAll(/[\\^$.|+?()[\]{}]/g, String.raw`\$&`).replaceAll('*', '.*')}$`, 'i').test(action);

/**
 * Those of the wanted actions that these credentials do not have on a machine. ARM has no dry run, and tells each caller
 * what it may do. https://learn.microsoft.com/rest/api/authorization/permissions/list-for-resource
 *
 * @throws Denied where not even that may be asked, Unavailable, Refused
 */
export const missingActions = async ({ endpoint, ...rest }: PermissionOptions, machine: MachineId, wanted: readonly string[], signal: AbortSignal): Promise<readonly string[]> => {
  const url = `${armUrl(endpoint)}${machine}/providers/Microsoft.Authorization/permissions?api-version=${API_VERSION}`;
  const { value } = await restCall(rest, { method: 'GET', url, scope: armScope(endpoint), name: 'Microsoft.Authorization/permissions/read' }, permissions, signal);
  const isHeld = (action: string): boolean => value.some(({ actions, notActions }) => actions.some((one) => fits(one, action)) && !notActions.some((one) => fits(one, action)));
  return wanted.filter((action) => !isHeld(action));
};
