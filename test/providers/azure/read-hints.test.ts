import { describe, expect, it } from 'vitest';
import { readHints } from '../../../providers/azure/events/read-hints.ts';
import { json, text, INSTANCE, SET, SUBSCRIPTION, VM } from './fixtures.ts';

const summary = (raw: unknown) => readHints(raw).hints.map(({ machine, because }) => [machine, because]);

describe('hints in the events of Azure', () => {
  it.each([
    ['arm-vm-deallocate.derived.json', VM, 'arm-deallocate'],
    ['arm-vm-power-off.derived.json', VM, 'arm-power-off'],
    ['arm-vm-start.derived.json', VM, 'arm-start'],
    ['arm-vm-delete.derived.json', VM, 'arm-delete'],
    ['arm-vm-write.derived.json', VM, 'arm-write'],
    ['arm-vm-deallocate.cloudevents.derived.json', VM, 'arm-deallocate'],
    ['arm-vm-deallocate.old-strings.derived.json', VM, 'arm-deallocate'],
    ['arm-instance-deallocate.derived.json', INSTANCE, 'arm-deallocate'],
    ['arm-set-deallocate.derived.json', SET, 'arm-deallocate'],
    ['health-vm-stopped-internally.derived.json', VM, 'annotated-virtual-machine-stopped-internally'],
    ['health-instance-preempted.derived.json', INSTANCE, 'annotated-virtual-machine-preempted'],
    ['health-vm-unavailable.derived.json', VM, 'availability-unavailable'],
    ['activitylog-alert-common-schema.derived.json', VM, 'alert-deallocate-succeeded'],
  ])('%s names %s', (name, machine, because) => {
    expect(readHints(json(name))).toMatchObject({
      hints: [{ machine, because, account: SUBSCRIPTION, region: null, replay: null }],
      faults: [],
      ignored: [],
    });
  });

  it('are read in the published samples with their placeholders', () => {
    const docs =
      '/subscriptions/{subscription-id}/resourcegroups/{rg-name}/providers/microsoft.compute/virtualmachines/{vm-name}';
    expect(summary(json('health-AvailabilityStatusChanged.eventgrid-schema.docs.json'))).toEqual([
      [docs, 'availability-available'],
    ]);
    expect(summary(json('health-ResourceAnnotated.cloudevents-schema.docs.json'))).toEqual([
      [docs, 'annotated-virtual-machine-deallocation-initiated'],
    ]);
  });

  it('contain the id of the event and the time at which it happened', () => {
    expect(readHints(json('arm-vm-delete.derived.json')).hints).toMatchObject([
      { eventId: '19a69642-1aad-4a96-a5ab-8d05494513ce', time: Date.UTC(2018, 6, 19, 19, 24, 12, 763) },
    ]);
    expect(readHints(json('activitylog-alert-common-schema.derived.json')).hints).toMatchObject([
      { eventId: '161fda7e-1cb4-4bc5-9c90-857c55a8f57b', time: Date.UTC(2019, 2, 22, 13, 56, 31, 291) },
    ]);
  });

  it('name the resource of an alert wherever it is', () => {
    const operationName = 'Microsoft.Compute/virtualMachines/powerOff/action';
    const health = {
      eventSource: 'ResourceHealth',
      operationName: 'Microsoft.Resourcehealth/healthevent/Activated/action',
    };
    const essentials = { alertTargetIDs: [VM, INSTANCE] };
    expect(summary({ alertContext: { operationName, authorization: { scope: VM } } })).toEqual([
      [VM, 'alert-power-off'],
    ]);
    expect(summary({ schemaId: 'azureMonitorCommonAlertSchema', data: { essentials, alertContext: health } })).toEqual([
      [VM, 'alert-resource-health'],
      [INSTANCE, 'alert-resource-health'],
    ]);
    expect(
      summary({ schemaId: 'azureMonitorCommonAlertSchema', data: { essentials, alertContext: { operationName } } }),
    ).toHaveLength(2);
    expect(
      summary({
        schemaId: 'Microsoft.Insights/activityLogs',
        data: { context: { activityLog: { operationName, resourceId: VM, claims: '{}' } } },
      }),
    ).toEqual([[VM, 'alert-power-off']]);
  });

  it.each([VM, INSTANCE, SET, `azure://${VM.toUpperCase()}`])(
    'name a machine that a person names: %s',
    (resourceId) => {
      expect(summary({ resourceId })).toEqual([[resourceId.toLowerCase().replace('azure://', ''), 'by-hand']]);
    },
  );
});

describe('wrappers of events', () => {
  const event = json('arm-vm-deallocate.cloudevents.derived.json');
  const body = JSON.stringify(event);
  const base64 = Buffer.from(body).toString('base64');
  it.each([
    ['a batch', [event]],
    ['JSON text', text('arm-vm-deallocate.derived.json')],
    ['text of a storage queue', base64],
    ['text of a storage queue, broken into lines', base64.replaceAll(/.{76}/g, '$&\r\n')],
    ['a storage queue, read over HTTP', { MessageText: base64 }],
    ['a message of Service Bus', { body: event }],
    ['a message of Service Bus with a text', { body }],
    ['bytes', Buffer.from(body)],
    ['a byte order mark', `\uFEFF${body}`],
    ['JSON lines', `\n${body}\n\n`],
  ])('%s is unwrapped', (_, raw) => {
    expect(summary(raw)).toEqual([[VM, 'arm-deallocate']]);
  });

  it('keep the good entries of a batch, and name the bad ones by their place', () => {
    const reading = readHints([{ ...event, data: {} }, event]);
    expect(reading.hints).toHaveLength(1);
    expect(reading.faults).toMatchObject([{ where: '$[0].data.operationName' }]);
  });

  it('keep the good lines, and name the bad one', () => {
    const reading = readHints(`${body}\nnonsense`);
    expect(reading.hints).toHaveLength(1);
    expect(reading.faults).toMatchObject([{ where: '$(line 2)' }]);
  });
});
