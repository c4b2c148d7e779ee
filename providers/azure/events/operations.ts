import { kebab } from './words.ts';

/**
 * Operations of ARM after which a machine may be off, or up again. Our own detaches and those of the disks' driver are
 * operations too, and change nothing about that.
 */
const TELLING: ReadonlySet<string> = new Set([
  'deallocate/action',
  'delete',
  'delete/action',
  'hibernate/action',
  'manualupgrade/action',
  'osrollingupgrade/action',
  'performmaintenance/action',
  'poweroff/action',
  'reapply/action',
  'redeploy/action',
  'reimage/action',
  'reimageall/action',
  'restart/action',
  'simulateeviction/action',
  'start/action',
  'write',
]);

const ON_MACHINES = /^microsoft\.compute\/(?:virtualmachinescalesets\/virtualmachines|virtualmachinescalesets|virtualmachines)\//;

/** `Microsoft.Compute/virtualMachines/powerOff/action` is `power-off`; null for an operation that tells nothing. */
export const reasonIn = (operation: string): string | null => {
  const name = operation.toLowerCase();
  const verb = ON_MACHINES.test(name) ? name.replace(ON_MACHINES, '') : '';
  return TELLING.has(verb) ? kebab(operation.slice(-verb.length).replace(/\/action$/i, '')) : null;
};
