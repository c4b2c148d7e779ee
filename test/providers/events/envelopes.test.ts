import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ParsedEvent } from '../../../fencing/model/cloud.ts';
import { readHints as readAws } from '../../../providers/aws/events/read-hints.ts';
import { readHints as readAzure } from '../../../providers/azure/events/read-hints.ts';
import { readHints as readGcp } from '../../../providers/gcp/events/read-hints.ts';

/** Envelopes of events as their senders document them, each with one event. */

const ID = 'i-0123456789abcdef0';
const ARN = `arn:aws:ec2:eu-west-1:111122223333:instance/${ID}`;
const stopped = {
  'detail-type': 'EC2 Instance State-change Notification',
  source: 'aws.ec2',
  account: '111122223333',
  region: 'eu-west-1',
  detail: { 'instance-id': ID, state: 'stopped' },
};
const VM =
  '/subscriptions/11112222-3333-4444-8555-666677778888/resourcegroups/rg/providers/microsoft.compute/virtualmachines/db-0';
const operation = {
  operationName: 'Microsoft.Compute/virtualMachines/deallocate/action',
  resourceUri: VM,
  status: 'Succeeded',
};
const cloudEvent = {
  specversion: '1.0',
  type: 'Microsoft.Resources.ResourceActionSuccess',
  id: '1',
  source: '/',
  subject: VM,
};
const INSTANCE = 'projects/my-project/zones/europe-west1-b/instances/db-0';
const entry = {
  protoPayload: { methodName: 'compute.instances.guestTerminate', resourceName: INSTANCE },
  insertId: '1',
  timestamp: '2026-01-01T00:00:00Z',
};

const base64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');
const zipped = (value: unknown): string => gzipSync(JSON.stringify(value)).toString('base64');
const summary = ({ hints, faults }: ParsedEvent) => [
  ...hints.map(({ machine, because }) => [machine, because]),
  ...faults.map(({ what, where }) => [what, where]),
];

/** https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/SubscriptionFilters.html */
const subscription = {
  messageType: 'DATA_MESSAGE',
  owner: '111122223333',
  logGroup: 'events',
  logStream: 's',
  subscriptionFilters: ['f'],
  logEvents: [
    {
      id: '3195310660696698337880902507980421114328961542429',
      timestamp: 1_510_109_208_016,
      message: JSON.stringify(stopped),
    },
  ],
};

describe('on AWS', () => {
  it.each<[string, unknown]>([
    ['a subscription of CloudWatch Logs', { awslogs: { data: zipped(subscription) } }],
    [
      'the same through Kinesis',
      { Records: [{ eventSource: 'aws:kinesis', kinesis: { partitionKey: '1', data: zipped(subscription) } }] },
    ],
    ['Kinesis', { Records: [{ eventSource: 'aws:kinesis', kinesis: { partitionKey: '1', data: base64(stopped) } }] }],
    ['Kinesis through a pipe', [{ eventSource: 'aws:kinesis', partitionKey: '1', data: base64(stopped) }]],
    [
      'Firehose',
      {
        invocationId: '1',
        deliveryStreamArn: 'arn:aws:firehose:…',
        records: [{ recordId: '1', data: base64(stopped) }],
      },
    ],
    ['a body in base64', { Records: [{ messageId: '1', body: base64(stopped) }] }],
    ['a body that is zipped', { Records: [{ messageId: '1', body: zipped(stopped) }] }],
    ['lines in base64', base64(`${JSON.stringify(stopped)}\n`)],
    ['bytes', gzipSync(JSON.stringify(stopped))],
    ['a CloudEvent', { specversion: '1.0', type: 'x', data: stopped }],
    ['a CloudEvent with a text', { specversion: '1.0', type: 'x', data: JSON.stringify(stopped) }],
    ['a CloudEvent in base64', { specversion: '1.0', type: 'x', data_base64: base64(stopped) }],
    ['a detail that is a text', { ...stopped, detail: JSON.stringify(stopped.detail) }],
    ['the detail alone', stopped.detail],
    ['the detail alone, in a body', { Records: [{ messageId: '1', body: JSON.stringify(stopped.detail) }] }],
    ['the detail alone, in another spelling', { instance_id: ID, state: 'STOPPED' }],
    ['the detail alone, in camel case', { instanceId: ID, state: 'stopped' }],
    ['an underscore', { ...stopped, detail: { instance_id: ID, state: 'stopped' } }],
    ['camel case', { ...stopped, detail: { instanceId: ID, state: 'stopped' } }],
    ['capitals', { ...stopped, detail: { InstanceId: ID, state: 'stopped' } }],
    ['an ARN next to the detail', { ...stopped, detail: { state: 'stopped' }, resources: [ARN] }],
  ])('is read through or from %s', (_, raw) => {
    expect(summary(readAws(raw))).toEqual([[ID, 'state-change-stopped']]);
  });

  it.each<[string, object, string]>([
    [
      'by its detail',
      { 'detail-type': 'Node Died', source: 'aws.ec2', detail: { instance_id: ID } },
      'event-node-died',
    ],
    ['by an ARN', { 'detail-type': 'Node Died', source: 'aws.ec2', detail: {}, resources: [ARN] }, 'event-node-died'],
    ['by the detail alone, from Health', { service: 'EC2', affectedEntities: [{ entityValue: ID }] }, 'health'],
    ['by the detail alone, from Spot', { 'instance-id': ID, 'instance-action': 'terminate' }, 'spot-interruption'],
  ])('an event names its machine %s', (_, raw, because) => {
    expect(summary(readAws(raw))).toEqual([[ID, because]]);
  });

  it('an invalid ID is a fault, whatever ARN is next to it, and a control message is ignored', () => {
    expect(
      readAws({ ...stopped, detail: { 'instance-id': 'web-1', state: 'stopped' }, resources: [ARN] }),
    ).toMatchObject({ hints: [], faults: [{ where: "$.detail['instance-id']" }] });
    expect(readAws({ awslogs: { data: zipped({ ...subscription, messageType: 'CONTROL_MESSAGE' }) } })).toMatchObject({
      hints: [],
      faults: [],
      ignored: [{ what: expect.stringMatching(/control message/) }],
    });
  });
});

describe('on Azure', () => {
  it.each<[string, unknown]>([
    ['data that is a text', { ...cloudEvent, data: JSON.stringify(operation) }],
    ['data in base64', { ...cloudEvent, data_base64: base64(operation) }],
    ['data that is zipped', { ...cloudEvent, data_base64: zipped(operation) }],
    ['a message of a storage queue', { messageText: base64({ ...cloudEvent, data: operation }) }],
    ['a text that is zipped', zipped([{ ...cloudEvent, data: operation }])],
    ['the data alone', operation],
    ['an event that names it by its subject', { ...cloudEvent, data: { operationName: operation.operationName } }],
  ])('is read through or from %s', (_, raw) => {
    expect(summary(readAzure(raw))).toEqual([[VM, 'arm-deallocate']]);
  });
});

describe('on Google Cloud', () => {
  it.each<[string, unknown]>([
    ['a push whose data is zipped', { message: { data: zipped(entry), messageId: '1' } }],
    ['a CloudEvent with a text', { specversion: '1.0', type: 'x', data: JSON.stringify(entry) }],
    ['a CloudEvent in base64', { specversion: '1.0', type: 'x', data_base64: base64(entry) }],
    ['a text in base64', base64(entry)],
    ['pulled messages', { receivedMessages: [{ ackId: '1', message: { data: base64(entry) } }] }],
    ['the payload alone', entry.protoPayload],
  ])('is read through or from %s', (_, raw) => {
    expect(summary(readGcp(raw))).toEqual([[INSTANCE, 'guest-terminate']]);
  });
});
