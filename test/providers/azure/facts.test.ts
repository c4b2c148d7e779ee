import type { Disk } from '@azure/arm-compute';
import { describe, expect, it } from 'vitest';
import type { Vm } from '../../../providers/azure/machines.ts';
import {
  knownMachineFacts,
  missingMachineFacts,
  statusesOf,
  unknownMachineFacts,
} from '../../../providers/azure/power.ts';

/** What Cloudfence reads from an answer of ARM, field by field. */

const machine = '/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachines/db-0';
const HANDED_OVER = new Date('2026-11-21T08:00:00.000Z');
const PROVISIONED = new Date('2026-11-21T09:00:00.000Z');

const disk = (change: Partial<Disk> = {}): Disk => ({ location: 'westeurope', ...change });
const OWNED = disk({ lastOwnershipUpdateTime: HANDED_OVER });

const vmWith = (codes: readonly string[], change: Partial<Vm> = {}): Vm => ({
  location: 'westeurope',
  vmId: 'ID-1',
  provisioningState: 'Succeeded',
  instanceView: { statuses: codes.map((code) => ({ code })) },
  ...change,
});

const factsOf = (vm: Vm, osDisk: Disk | null = null) =>
  knownMachineFacts({ machine, vm, requestId: 'r-1', osDisk, dataDisks: null });

const provisioned = (code = 'ProvisioningState/succeeded', power = 'PowerState/deallocated'): Vm =>
  vmWith([], { instanceView: { statuses: [{ code: power }, { code, time: PROVISIONED }] } });

describe('the facts about a machine that ARM knows', () => {
  it('are empty for an empty answer', () => {
    expect(factsOf({ location: 'westeurope' })).toEqual({
      machine,
      incarnation: null,
      power: 'unknown',
      forGood: false,
      generation: null,
      generationDrifts: true,
      since: null,
      nodeNames: [],
      clusters: [],
      zone: null,
      disks: [],
      evidence: {
        power: 'none',
        provisioning: 'none',
        hibernation: 'none',
        osDisk: 'none',
        handedOver: 'none',
        vmId: 'none',
        requestId: 'r-1',
        readFrom: 'Microsoft.Compute/virtualMachines/read',
      },
    });
  });

  it('are no proof about a machine without a vmId, whatever its statuses and its disk say', () => {
    const { vmId: _, ...nameless } = vmWith(['PowerState/deallocated', 'ProvisioningState/succeeded']);
    const facts = factsOf(nameless, disk({ diskState: 'Reserved', lastOwnershipUpdateTime: HANDED_OVER }));
    expect(facts).toMatchObject({ incarnation: null, power: 'unknown', generation: null });
    expect(facts).not.toHaveProperty('offUnderOperation');
  });

  it('contain the vmId and the time at which the machine was created', () => {
    expect(factsOf(vmWith([])).incarnation).toEqual({ id: 'id-1', made: null });
    expect(factsOf(vmWith([], { timeCreated: PROVISIONED })).incarnation).toEqual({
      id: 'id-1',
      made: PROVISIONED.getTime(),
    });
  });

  it.each([
    ['PowerState/deallocated', 'Updating', { power: 'stopping', offUnderOperation: true }],
    ['PowerState/stopped', 'Updating', { power: 'stopping', offUnderOperation: true }],
    ['PowerState/stopping', 'Updating', { power: 'stopping' }],
    ['PowerState/deallocating', 'Updating', { power: 'stopping' }],
    ['PowerState/deallocated', 'Succeeded', { power: 'off' }],
    ['PowerState/stopped', 'Succeeded', { power: 'off-if-repeated' }],
    ['PowerState/running', 'Updating', { power: 'running' }],
    ['PowerState/starting', 'Succeeded', { power: 'starting' }],
  ])('say of %s while %s whether it is off apart from an operation', (code, provisioningState, expected) => {
    const { power, offUnderOperation } = factsOf(vmWith([code], { provisioningState }));
    expect({ power, ...(offUnderOperation !== undefined && { offUnderOperation }) }).toEqual(expected);
  });

  it('count a frozen or held OS disk as a sign of hibernation', () => {
    const off = vmWith(['PowerState/deallocated']);
    const able = vmWith(['PowerState/deallocated'], { additionalCapabilities: { hibernationEnabled: true } });
    expect(factsOf(off, disk({ diskState: 'Frozen' })).power).toBe('suspended');
    expect(factsOf(able, disk({ diskState: 'Reserved' })).power).toBe('off');
    expect(factsOf(able, disk()).power).toBe('suspended');
    expect(factsOf(able).power).toBe('suspended');
  });

  it('distinguish boots by the time of the OS disk, if it has one, and then the generation does not drift', () => {
    const facts = factsOf(provisioned(), OWNED);
    expect(facts.generation).toBe('id-1 handed over 2026-11-21T08:00:00.000Z');
    expect(facts).not.toHaveProperty('generationDrifts');
    expect(facts.evidence).toMatchObject({ handedOver: '2026-11-21T08:00:00.000Z' });
  });

  it('distinguish boots by the last operation if there is no such time, and then the generation drifts', () => {
    for (const none of [null, disk(), disk({ timeCreated: HANDED_OVER })]) {
      const facts = factsOf(provisioned(), none);
      expect(facts.generation).toBe('id-1 provisioned 2026-11-21T09:00:00.000Z');
      expect(facts.generationDrifts).toBe(true);
    }
    expect(factsOf(vmWith(['ProvisioningState/succeeded'])).generation).toBeNull();
    const atZero = vmWith([], { instanceView: { statuses: [{ code: 'ProvisioningState/x', time: new Date(0) }] } });
    expect(factsOf(atZero).generation).toBe('id-1 provisioned 1970-01-01T00:00:00.000Z');
  });

  it.each([
    ['PowerState/deallocated', HANDED_OVER.getTime()],
    ['PowerState/running', HANDED_OVER.getTime()],
    ['PowerState/stopped', null],
    ['PowerState/starting', null],
    ['PowerState/deallocating', null],
  ])('know since when %s only if the OS disk shows the time', (code, since) => {
    expect(factsOf(provisioned('ProvisioningState/succeeded', code), OWNED).since).toBe(since);
    expect(factsOf(provisioned('ProvisioningState/succeeded', code)).since).toBeNull();
  });

  it('do not know since when a machine is deallocated if its OS disk shows the time of a start', () => {
    const attached = disk({ diskState: 'Attached', lastOwnershipUpdateTime: HANDED_OVER });
    const facts = factsOf(provisioned('ProvisioningState/succeeded', 'PowerState/deallocated'), attached);
    expect(facts).toMatchObject({ power: 'off-if-repeated', since: null });
  });

  it.each([
    [{ osProfile: { computerName: 'Worker-1' }, name: 'VM-1' }, ['worker-1', 'vm-1']],
    [{ osProfile: { computerName: 'Same' }, name: 'same' }, ['same']],
    [{ name: 'VM-1' }, ['vm-1']],
    [{ osProfile: {}, name: 'VM-1' }, ['vm-1']],
    [{ osProfile: { computerName: 'worker-1' } }, ['worker-1']],
  ])('name the Node after the computer, or after the machine: %j', (change, names) => {
    expect(factsOf(vmWith([], change)).nodeNames).toEqual(names);
  });

  it.each([
    [{ zones: ['2'] }, 'westeurope-2'],
    [{ zones: ['2', '3'] }, 'westeurope-2'],
    [{ zones: [] }, null],
    [{}, null],
  ])('name the zone of %j', (change, zone) => {
    expect(factsOf(vmWith([], change)).zone).toBe(zone);
  });

  it('name no zone if there is no location', () => {
    expect(factsOf({ vmId: 'id-1', zones: ['2'] }).zone).toBeNull();
  });

  it('contain what ARM said as evidence', () => {
    const facts = factsOf(
      vmWith(['PowerState/Deallocated', 'ProvisioningState/succeeded', 'HibernationState/Hibernated']),
      disk({ diskState: 'Reserved' }),
    );
    expect(facts.evidence).toEqual({
      power: 'deallocated',
      provisioning: 'succeeded',
      hibernation: 'hibernated',
      osDisk: 'Reserved',
      handedOver: 'none',
      vmId: 'id-1',
      requestId: 'r-1',
      readFrom: 'Microsoft.Compute/virtualMachines/read',
    });
  });
});

describe('the statuses of a machine', () => {
  it('show a contradiction in the evidence if two of one kind differ', () => {
    const facts = factsOf(vmWith(['PowerState/running', 'PowerState/deallocated']));
    expect(facts).toMatchObject({ power: 'unknown', evidence: { power: 'contradictory' } });
  });

  it('are only those of their kind', () => {
    expect(statusesOf(vmWith(['PowerState/running', 'XPowerState/stopped', 'OSState/generalized']))).toEqual({
      power: 'running',
      provisioning: 'succeeded',
      hibernation: null,
      provisionedAt: null,
    });
    expect(statusesOf(provisioned('ProvisioningState/updating')).provisionedAt).toBe(PROVISIONED.getTime());
  });

  it('may contain one without a code, which is ignored', () => {
    const vm = vmWith([], { instanceView: { statuses: [{}, { code: 'PowerState/running' }] } });
    expect(statusesOf(vm).power).toBe('running');
    expect(statusesOf(vmWith([], { instanceView: {} })).power).toBeNull();
  });

  it.each([
    ['Succeeded', 'ProvisioningState/failed/AllocationFailed', 'failed'],
    ['Failed', 'ProvisioningState/succeeded', 'failed'],
    ['Succeeded', 'ProvisioningState/Updating', 'updating'],
    ['Updating', 'ProvisioningState/succeeded', 'updating'],
  ])(
    'of the model (%s) and of the view (%s) both have to allow that the operation has succeeded',
    (model, view, is) => {
      expect(statusesOf(vmWith([view], { provisioningState: model })).provisioning).toBe(is);
    },
  );

  it('contain no operation if the model names none', () => {
    const { provisioningState: _, ...vm } = vmWith(['ProvisioningState/succeeded']);
    expect(statusesOf(vm).provisioning).toBeNull();
  });
});

describe('the facts about an id that ARM does not know', () => {
  it('prove nothing', () => {
    expect(missingMachineFacts(machine, 'ResourceNotFound')).toMatchObject({
      machine,
      power: 'missing',
      forGood: false,
      generation: null,
      nodeNames: ['db-0'],
      evidence: { state: 'ResourceNotFound', readFrom: 'Microsoft.Compute/virtualMachines/read' },
    });
    expect(unknownMachineFacts(machine, 'in another subscription')).toMatchObject({
      machine,
      power: 'unknown',
      forGood: false,
      generation: null,
      nodeNames: [],
      evidence: { state: 'in another subscription', readFrom: 'Microsoft.Compute/virtualMachines/read' },
    });
  });
});
