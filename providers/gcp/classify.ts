import type { Power } from '../../fencing/machine.ts';

/**
 * What the status of an instance proves. `TERMINATED` is the API's word for an instance that has stopped, and not for one
 * that is deleted; nothing but it and `STOPPED` proves anything. An instance in `REPAIRING` ends in a restart.
 * https://cloud.google.com/compute/docs/instances/instance-lifecycle
 */
export const classify = (status: string | null | undefined): Power => {
  switch (status) {
    case 'RUNNING':
      return 'running';
    case 'PENDING':
    case 'PROVISIONING':
    case 'STAGING':
      return 'starting';
    case 'DEPROVISIONING':
    case 'PENDING_STOP':
    case 'STOPPING':
    case 'SUSPENDING':
      return 'stopping';
    case 'STOPPED':
    case 'TERMINATED':
      return 'off';
    case 'SUSPENDED':
      return 'suspended';
    case 'REPAIRING':
    case null:
    case undefined:
    default:
      return 'unknown';
  }
};
