import { expect, it } from 'vitest';
import { readHints } from '../../../providers/azure/events/read-hints.ts';
import { json, VM } from './fixtures.ts';

/** Events that are easily taken for others, in the published forms of Event Grid. */

const machine = '/subscriptions/s-1/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/db-0';

it.each(['hibernate', 'simulateEviction'])('an operation %s of ARM is a reason to look', (verb) => {
  const read = readHints({
    id: 'e-1',
    topic: '/subscriptions/s-1',
    subject: machine,
    eventType: 'Microsoft.Resources.ResourceActionSuccess',
    eventTime: '2026-01-01T00:00:00Z',
    data: { operationName: `Microsoft.Compute/virtualMachines/${verb}/action`, resourceUri: machine },
  });
  expect(read.hints).toMatchObject([{ machine: machine.toLowerCase() }]);
});

/** https://learn.microsoft.com/azure/event-grid/event-schema-subscriptions */
it.each([
  ['Write', 'write', 'Success', 'arm-write'],
  ['Write', 'write', 'Failure', 'arm-write-failed'],
  ['Write', 'write', 'Cancel', 'arm-write-cancelled'],
  ['Delete', 'delete', 'Success', 'arm-delete'],
  ['Delete', 'delete', 'Failure', 'arm-delete-failed'],
  ['Delete', 'delete', 'Cancel', 'arm-delete-cancelled'],
  ['Action', 'deallocate/action', 'Success', 'arm-deallocate'],
  ['Action', 'deallocate/action', 'Failure', 'arm-deallocate-failed'],
  ['Action', 'deallocate/action', 'Cancel', 'arm-deallocate-cancelled'],
])('an operation of the type Resource%s (%s) with the end %s is a reason to look', (kind, verb, end, because) => {
  const [event] = json('arm-vm-deallocate.derived.json');
  const data = { ...event.data, operationName: `Microsoft.Compute/virtualMachines/${verb}` };
  const read = readHints({ ...event, eventType: `Microsoft.Resources.Resource${kind}${end}`, data });
  expect(read).toMatchObject({ hints: [{ machine: VM, because }], faults: [], ignored: [] });
});

/** https://learn.microsoft.com/azure/event-grid/event-schema-resource-notifications-resource-management-events */
it.each([
  ['CreatedOrUpdated', 'resource-updated'],
  ['Deleted', 'resource-deleted'],
])('a notification that a machine is %s is a reason to look', (type, because) => {
  const event = json('resources-vm-deleted.derived.json');
  const read = readHints({ ...event, type: `Microsoft.ResourceNotifications.Resources.${type}` });
  expect(read).toMatchObject({ hints: [{ machine: VM, because }], faults: [], ignored: [] });
});

it('only the exact annotation of a crash means that the guest stays up', () => {
  const about = (annotationName: string) =>
    readHints({
      id: 'e-1',
      specversion: '1.0',
      source: '/subscriptions/s-1',
      subject: machine,
      type: 'Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated',
      time: '2026-01-01T00:00:00Z',
      data: { resourceInfo: { properties: { targetResourceId: machine, annotationName } } },
    }).hints.length;
  expect([about('VirtualMachineCrashed'), about('VirtualMachineCrashedAndStopped')]).toEqual([0, 1]);
});
