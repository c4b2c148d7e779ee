import { describe, expect, it } from 'vitest';
import { toStructuredEvent } from '../../../providers/azure/events/envelope.ts';
import { readHints } from '../../../providers/azure/events/read-hints.ts';
import { json, SET, SUBSCRIPTION, VM } from './fixtures.ts';

const summary = (raw: unknown) => readHints(raw).hints.map(({ machine, because }) => [machine, because]);
const ignoredBecause = (words: RegExp) => ({
  hints: [],
  faults: [],
  ignored: [{ what: expect.stringMatching(words), where: expect.stringMatching(/^\$/) }],
});
const action = (operationName: string, data: object) => ({
  eventType: 'Microsoft.Resources.ResourceActionSuccess',
  subject: VM,
  data: { operationName, ...data },
});
const deallocated = 'Microsoft.Compute/virtualMachines/deallocate/action';

describe('hints in the events of other Azure senders', () => {
  it.each([
    ['resources-vm-deleted.derived.json', 'resource-deleted'],
    ['resource-health-alert-common-schema.derived.json', 'alert-resource-health'],
    ['metric-alert-vm-availability.derived.json', 'alert-availability'],
    ['activity-log-streamed-deallocate.derived.json', 'activity-deallocate-success'],
  ])('%s is %s', (name, because) => {
    expect(readHints(json(name))).toMatchObject({
      hints: [{ machine: VM, because, account: SUBSCRIPTION }],
      faults: [],
      ignored: [],
    });
  });

  it('are none if a resource of another kind is deleted', () => {
    expect(readHints(json('resources-Deleted.cloudevents-schema.docs.json'))).toEqual(
      ignoredBecause(/resource-deleted\) that names no machine but .*storageAccounts/),
    );
  });

  it.each(['manualUpgrade', 'osRollingUpgrade'])('name the scale set that %s changes', (verb) => {
    expect(
      summary({
        ...action(`Microsoft.Compute/virtualMachineScaleSets/${verb}/action`, { resourceUri: SET.toUpperCase() }),
      }),
    ).toMatchObject([[SET, expect.stringMatching(/^arm-/)]]);
  });
});

describe('an operation of ARM', () => {
  it('concerns its subject if its resource is not a machine, or the other way round', () => {
    expect(summary(action(deallocated, { resourceUri: `${VM}/deallocate` }))).toEqual([[VM, 'arm-deallocate']]);
    const { subject: _, ...withoutSubject } = action(deallocated, { resourceUri: VM });
    expect(summary(withoutSubject)).toEqual([[VM, 'arm-deallocate']]);
  });

  it('is found in the answer to a pull from a namespace', () => {
    expect(
      summary({
        value: [
          {
            brokerProperties: { lockToken: 't' },
            event: {
              specversion: '1.0',
              type: 'Microsoft.Resources.ResourceActionSuccess',
              data: { operationName: deallocated, resourceUri: VM },
            },
          },
        ],
      }),
    ).toEqual([[VM, 'arm-deallocate']]);
  });

  it('on a member of a flexible scale set concerns the virtual machine', () => {
    const resourceUri = `${SET}/virtualMachines/aks-Pool-vmss_df53ee36`;
    const operationName = 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/deallocate/action';
    expect(summary(action(operationName, { resourceUri }))).toEqual([
      [VM.replace('db-0', 'aks-pool-vmss_df53ee36'), 'arm-deallocate'],
    ]);
    expect(summary(action(operationName, { resourceUri: `${SET}/virtualMachines/aks-Pool-vmss_7` }))).toEqual([
      [`${SET}/virtualmachines/7`, 'arm-deallocate'],
    ]);
  });

  it('names nothing that would change the path of a URL', () => {
    for (const name of ['..', 'db?x=1', 'db#x', '..%2f..%2fdisks', 'a\\b'])
      expect(readHints({ resourceId: VM.replace('db-0', name) }).hints).toEqual([]);
  });
});

describe('records of the activity log', () => {
  const [streamed] = json('activity-log-streamed-deallocate.derived.json').records;

  it('are not requests by a person, although they name a resource', () => {
    expect(readHints({ ...streamed, operationName: 'MICROSOFT.COMPUTE/VIRTUALMACHINES/READ' })).toEqual(
      ignoredBecause(/VIRTUALMACHINES\/READ/),
    );
    expect(
      readHints({
        ...streamed,
        resourceId: '/SUBSCRIPTIONS/1/RESOURCEGROUPS/R/PROVIDERS/MICROSOFT.STORAGE/STORAGEACCOUNTS/S',
        operationName: 'MICROSOFT.STORAGE/STORAGEACCOUNTS/LISTKEYS/ACTION',
      }),
    ).toEqual(ignoredBecause(/LISTKEYS/));
  });

  it('are read as a list shows them, also for resource health', () => {
    const listed = {
      resourceId: VM,
      operationName: { value: deallocated, localizedValue: 'Deallocate' },
      status: { value: 'Succeeded' },
      eventDataId: 'e',
      eventTimestamp: '2026-01-01T00:00:00Z',
    };
    expect(readHints(listed).hints).toMatchObject([
      { machine: VM, because: 'activity-deallocate-succeeded', eventId: 'e', time: Date.UTC(2026, 0, 1) },
    ]);
    expect(
      summary({
        ...streamed,
        category: 'ResourceHealth',
        operationName: 'Microsoft.Resourcehealth/healthevent/Activated/action',
      }),
    ).toEqual([[VM, 'activity-resource-health']]);
  });

  it('do not show who caused them if they cannot be read', () => {
    const { identity, callerIpAddress, ...rest } = streamed;
    for (const raw of [
      { records: [{ identity, callerIpAddress, ...rest, resourceId: 7 }] },
      [JSON.stringify({ callerIpAddress, identity, ...rest, resourceId: 7 }).slice(0, -1)],
    ]) {
      const { faults } = readHints(raw);
      expect(faults).toHaveLength(1);
      expect(JSON.stringify(faults)).not.toMatch(/Sensitive|111\.111/);
    }
  });
});

describe('alerts', () => {
  const alert = (essentials: object, alertContext: object | null, schemaId = 'azureMonitorCommonAlertSchema') => ({
    schemaId,
    data: { essentials, alertContext },
  });
  const properties = { operationName: deallocated, authorization: { scope: VM } };

  it.each([
    ['with a schema in other letters', alert({}, properties, 'AzureMonitorCommonAlertSchema')],
    ['without targets', alert({ alertTargetIDs: null }, properties)],
    [
      'that were authorized for more than the machine',
      alert({ alertTargetIDs: [VM] }, { ...properties, authorization: { scope: VM.replace(/\/providers.*/, '') } }),
    ],
    [
      'whose operation has a translation',
      alert({}, { ...properties, operationName: { value: deallocated, localizedValue: 'Deallocate' } }),
    ],
  ])('%s name the machine', (_, raw) => {
    expect(summary(raw)).toEqual([[VM, 'alert-deallocate']]);
  });

  it('of resource health may have no context', () => {
    expect(summary(alert({ monitoringService: 'Resource Health', alertTargetIDs: [VM] }, null))).toEqual([
      [VM, 'alert-resource-health'],
    ]);
  });

  it('on a metric have their own schema, and most of them name no machine', () => {
    const metric = (metricName: string) => ({
      schemaId: 'AzureMonitorMetricAlert',
      data: {
        version: '2.0',
        status: 'Activated',
        context: { resourceId: VM, condition: { allOf: [{ metricName }] } },
      },
    });
    expect(summary(metric('VmAvailabilityMetric'))).toEqual([[VM, 'alert-availability']]);
    expect(readHints(metric('Percentage CPU'))).toEqual(ignoredBecause(/something else/));
  });

  it('in other schemas are one fault with its remedy', () => {
    expect(readHints({ schemaId: 'Microsoft.Insights/LogAlert', data: {} }).faults).toMatchObject([
      {
        where: '$.schemaId',
        what: expect.stringMatching(/LogAlert/),
        remedy: expect.stringMatching(/common alert schema/),
      },
    ]);
  });
});

describe('a CloudEvent in binary mode', () => {
  const { data, ...attributes } = json('arm-vm-deallocate.cloudevents.derived.json');
  const headers = Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [`ce-${name}`, encodeURIComponent(String(value))]),
  );

  it('is the same event', () => {
    const event = toStructuredEvent({ ...headers, 'content-type': 'application/json' }, JSON.stringify(data));
    expect(JSON.parse(event)).toEqual({ ...attributes, data });
    expect(summary(event)).toEqual([[VM, 'arm-deallocate']]);
  });

  it('is a fault only if its own data cannot be read', () => {
    expect(readHints(toStructuredEvent({ ...headers, 'ce-subject': '100%' }, 'nonsense')).faults).toMatchObject([
      { where: '$.data' },
    ]);
    expect(toStructuredEvent({ 'ce-specversion': '1.0' }, 'as it is')).toBe('as it is');
  });
});
