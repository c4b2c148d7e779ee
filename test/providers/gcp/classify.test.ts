import { describe, expect, it } from 'vitest';
import { classifyPower } from '../../../providers/gcp/power.ts';

describe('what a status of Compute Engine proves', () => {
  it.each([
    ['RUNNING', 'running'],
    ['PENDING', 'starting'],
    ['PROVISIONING', 'starting'],
    ['STAGING', 'starting'],
    ['PENDING_STOP', 'stopping'],
    ['STOPPING', 'stopping'],
    ['SUSPENDING', 'stopping'],
    ['DEPROVISIONING', 'stopping'],
    ['SUSPENDED', 'suspended'],
    ['REPAIRING', 'unknown'],
    ['TERMINATED', 'off'],
    ['STOPPED', 'off'],
    ['UNDEFINED_STATUS', 'unknown'],
    ['terminated', 'unknown'],
    ['', 'unknown'],
    [undefined, 'unknown'],
    [null, 'unknown'],
  ] as const)('%s is %s', (status, power) => {
    expect(classifyPower(status)).toBe(power);
  });
});
