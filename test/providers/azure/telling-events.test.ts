import { expect, it } from 'vitest';
import { readHints } from '../../../providers/azure/events/read-hints.ts';

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
