import { Denied } from '../fencing/errors.ts';
import type { MachineId } from '../fencing/machine.ts';
import { missingActions, type PermissionOptions } from '../providers/azure/index.ts';
import type { Check } from './check.ts';
import type { Trial } from './cloud-kit.ts';

/** What ARM says of the permissions for a fence, as lines of the doctor. */

/** Roles are given on groups and subscriptions: a few machines stand for all. */
const MOST_ASKED = 5;

const kindOf = (machine: MachineId): string => (machine.includes('/virtualmachinescalesets/') ? 'virtualMachineScaleSets/virtualMachines' : 'virtualMachines');

const wantedOn = (machine: MachineId, { detach, unreachable }: Trial['policy']): readonly string[] =>
  [...(detach === 'never' ? [] : ['attachDetachDataDisks']), ...(unreachable === 'power-off' ? ['powerOff'] : [])].map((verb) => `Microsoft.Compute/${kindOf(machine)}/${verb}/action`);

const MEND = 'give the role of docs/azure.md, "Permissions"';

const missingOn = async (options: PermissionOptions, machine: MachineId, policy: Trial['policy'], signal: AbortSignal): Promise<readonly string[]> => {
  const missing = await missingActions(options, machine, wantedOn(machine, policy), signal);
  return missing.length === 0 ? [] : [`${missing.join(' and ')} on ${machine}`];
};

/** @throws Denied, Unavailable */
const asked = async (what: string, options: PermissionOptions, machines: readonly MachineId[], policy: Trial['policy'], signal: AbortSignal): Promise<Check> => {
  const missing = (await Promise.all(machines.map((machine) => missingOn(options, machine, policy, signal)))).flat();
  if (missing.length > 0) return { what, verdict: 'fail', says: `${missing.join('; ')} IS MISSING: ${MEND}` };
  return { what, verdict: 'ok', says: `allowed by the roles that are given, asked for ${machines.join(', ')}` };
};

/** A role that may fence and not ask what it may is no fault: nothing is known, and that is said. @throws Unavailable */
export const orderChecks = async (options: PermissionOptions, { policy, machines }: Trial, signal: AbortSignal): Promise<readonly Check[]> => {
  if (policy.detach === 'never' && policy.unreachable !== 'power-off') return [];
  const what = policy.unreachable === 'power-off' ? 'may detach disks and power off machines' : 'may detach disks';
  if (machines.length === 0) return [{ what, verdict: 'warn', says: 'no Node names a machine to ask for; Azure has no dry run' }];
  try {
    return [await asked(what, options, machines.slice(0, MOST_ASKED), policy, signal)];
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    return [{ what, verdict: 'warn', says: `${error.message}, so that nobody can tell: Azure has no dry run, and whether detaching is allowed shows with the first detach` }];
  }
};
