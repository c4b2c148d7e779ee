import { describe, expect, it } from 'vitest';
import { classifyPower, type VmWithDisk } from '../../../providers/azure/power.ts';

const said = (
  codes: readonly string[],
  provisioningState = 'Succeeded',
  more: { hibernationEnabled?: boolean; osDiskState?: string } = {},
): VmWithDisk => ({
  vm: {
    location: 'westeurope',
    provisioningState,
    instanceView: { statuses: codes.map((code) => ({ code })) },
    ...(more.hibernationEnabled !== undefined && {
      additionalCapabilities: { hibernationEnabled: more.hibernationEnabled },
    }),
  },
  osDiskState: more.osDiskState ?? null,
});

describe('what an answer of ARM proves', () => {
  it.each([
    ['PowerState/running', 'running'],
    ['PowerState/starting', 'starting'],
    ['PowerState/stopping', 'stopping'],
    ['PowerState/deallocating', 'stopping'],
    ['PowerState/unknown', 'unknown'],
    ['PowerState/somethingnew', 'unknown'],
    ['PowerState/', 'unknown'],
    ['ProvisioningState/succeeded', 'unknown'],
  ] as const)('%s is %s, which is no proof', (code, power) => {
    expect(classifyPower(said([code]))).toBe(power);
  });

  it.each(['PowerState/deallocated', 'powerstate/DEALLOCATED'])('%s is off if no operation is under way', (code) => {
    expect(classifyPower(said(['ProvisioningState/succeeded', code]))).toBe('off');
    expect(classifyPower(said([code], 'SUCCEEDED', { osDiskState: 'Reserved' }))).toBe('off');
  });

  it('stopped is off only if a second read says the same', () => {
    expect(classifyPower(said(['PowerState/stopped']))).toBe('off-if-repeated');
  });

  it.each(['Attached', 'attached'])('deallocated takes a second read if the OS disk is %s', (osDiskState) => {
    expect(classifyPower(said(['PowerState/deallocated'], 'Succeeded', { osDiskState }))).toBe('off-if-repeated');
    expect(classifyPower(said(['PowerState/deallocated'], 'Updating', { osDiskState }))).toBe('stopping');
  });

  it.each(['Reserved', 'ActiveSAS', 'Unattached'])('deallocated is off if the OS disk is %s', (osDiskState) => {
    expect(classifyPower(said(['PowerState/deallocated'], 'Succeeded', { osDiskState }))).toBe('off');
  });

  it.each(['Creating', 'Updating', 'Deleting', 'Migrating'])(
    'neither state is a proof while the machine is %s',
    (state) => {
      expect(classifyPower(said(['PowerState/deallocated'], state))).toBe('stopping');
      expect(classifyPower(said(['PowerState/stopped'], state))).toBe('stopping');
    },
  );

  it.each(['Failed', 'Canceled', 'SomethingNew', ''])(
    'neither state is a proof if an operation failed (%s)',
    (state) => {
      expect(classifyPower(said(['PowerState/deallocated'], state))).toBe('unknown');
      expect(classifyPower(said(['PowerState/stopped'], state))).toBe('unknown');
    },
  );

  it.each(['HibernationState/Hibernating', 'HibernationState/SomethingNew', 'hibernationstate/'])(
    'any word about hibernation (%s) makes the machine suspended, because only a plain deallocation has none',
    (code) => {
      expect(classifyPower(said(['PowerState/deallocated', code], 'Succeeded', { osDiskState: 'Reserved' }))).toBe(
        'suspended',
      );
    },
  );

  it.each(['PowerState/stopped', 'PowerState/deallocated'])(
    'a sign of hibernation makes %s suspended, even if the machine cannot hibernate',
    (code) => {
      expect(classifyPower(said([code], 'Succeeded', { osDiskState: 'frozen' }))).toBe('suspended');
      expect(classifyPower(said([code, 'HibernationState/Hibernated'], 'Succeeded', { osDiskState: 'Reserved' }))).toBe(
        'suspended',
      );
    },
  );

  it('a machine that can hibernate is off only if it shows a plain deallocation', () => {
    const able = (code: string, osDiskState?: string) =>
      classifyPower(said([code], 'Succeeded', { hibernationEnabled: true, ...(osDiskState && { osDiskState }) }));
    expect(able('PowerState/deallocated', 'Reserved')).toBe('off');
    expect(able('PowerState/deallocated', 'Attached')).toBe('suspended');
    expect(able('PowerState/deallocated')).toBe('suspended');
    expect(able('PowerState/stopped', 'Reserved')).toBe('suspended');
    expect(classifyPower(said(['PowerState/deallocated'], 'Succeeded', { hibernationEnabled: false }))).toBe('off');
  });

  it('two different power states are no proof, in either order, and a repeated one counts once', () => {
    expect(classifyPower(said(['PowerState/deallocated', 'PowerState/running']))).toBe('unknown');
    expect(classifyPower(said(['PowerState/running', 'PowerState/deallocated']))).toBe('unknown');
    expect(classifyPower(said(['PowerState/deallocated', 'powerstate/Deallocated']))).toBe('off');
  });

  it.each([
    ['ProvisioningState/updating', 'stopping'],
    ['ProvisioningState/deleting', 'stopping'],
    ['ProvisioningState/failed/AllocationFailed', 'unknown'],
    ['ProvisioningState/', 'unknown'],
    ['ProvisioningState/succeeded/somethingMore', 'off'],
  ] as const)('neither state is a proof while the view says %s, whatever the model says', (code, power) => {
    expect(classifyPower(said([code, 'PowerState/deallocated']))).toBe(power);
    expect(classifyPower(said(['PowerState/deallocated', 'ProvisioningState/succeeded'], 'Failed'))).toBe('unknown');
  });

  it('a missing instance view is unknown', () => {
    expect(classifyPower({ vm: { location: 'westeurope', provisioningState: 'Succeeded' }, osDiskState: null })).toBe(
      'unknown',
    );
  });
});
