import { describe, expect, it } from 'vitest';
import { readHints } from '../../../providers/aws/events/read-hints.ts';

const MACHINE = 'i-0633ac2b0d9769723';
const event = (type: string, detail: object, source = 'aws.ec2') => ({
  'detail-type': type,
  source,
  account: '1',
  detail,
});
const stopped = event('EC2 Instance State-change Notification', { 'instance-id': MACHINE, state: 'stopped' });
const call = (detail: object) => event('AWS API Call via CloudTrail', detail);
const summary = (raw: unknown) => readHints(raw).hints.map((hint) => [hint.machine, hint.because]);

const ignoredBecause = (words: RegExp) => ({
  hints: [],
  faults: [],
  ignored: [{ what: expect.stringMatching(words), where: '$' }],
});

describe('events of Auto Scaling', () => {
  it.each([
    ['EC2 Instance-launch Lifecycle Action', 'launch-lifecycle-action'],
    ['EC2 Instance Launch Successful', 'launch-successful'],
    ['EC2 Instance Launch Unsuccessful', 'launch-unsuccessful'],
    ['EC2 Instance Terminate Unsuccessful', 'terminate-unsuccessful'],
  ])('%s names its instance, if any', (type, because) => {
    expect(summary(event(type, { EC2InstanceId: MACHINE }, 'aws.autoscaling'))).toEqual([[MACHINE, because]]);
    for (const detail of [{}, { EC2InstanceId: '' }, { EC2InstanceId: null }])
      expect(readHints(event(type, detail, 'aws.autoscaling'))).toEqual(ignoredBecause(/names no instance/));
    expect(readHints(event(type, { EC2InstanceId: 'web-1' })).faults).not.toEqual([]);
  });

  it('also arrive through a queue or a topic without EventBridge', () => {
    const raw = {
      LifecycleTransition: 'autoscaling:EC2_INSTANCE_TERMINATING',
      EC2InstanceId: MACHINE,
      AccountId: '42',
      RequestId: 'r',
      Time: '2026-01-01T00:00:00Z',
    };
    const sns = { Records: [{ body: JSON.stringify({ Type: 'Notification', Message: JSON.stringify(raw) }) }] };
    for (const sent of [raw, { Records: [{ body: JSON.stringify(raw) }] }, sns]) {
      expect(readHints(sent)).toMatchObject({
        faults: [],
        hints: [
          {
            machine: MACHINE,
            because: 'auto-scaling-ec2-instance-terminating',
            account: '42',
            eventId: 'r',
            time: Date.UTC(2026, 0, 1),
          },
        ],
      });
    }
    expect(summary({ Event: 'autoscaling:EC2_INSTANCE_TERMINATE', EC2InstanceId: MACHINE })).toEqual([
      [MACHINE, 'auto-scaling-ec2-instance-terminate'],
    ]);
    expect(readHints({ ...raw, EC2InstanceId: 'web-1' }).faults).toMatchObject([{ where: '$.EC2InstanceId' }]);
    expect(readHints({ Event: 'autoscaling:EC2_INSTANCE_LAUNCH_ERROR', EC2InstanceId: '' })).toEqual(
      ignoredBecause(/LAUNCH_ERROR.*names no instance/),
    );
  });
});

describe('CloudTrail', () => {
  it('is read if a call concerned something else, or was rejected before it named anything', () => {
    expect(readHints(call({ eventName: 'CreateTags', requestParameters: { resourcesSet: {} } }))).toEqual(
      ignoredBecause(/CreateTags/),
    );
    expect(
      readHints(
        call({ eventName: 'StopInstances', requestParameters: null, errorCode: 'Client.UnauthorizedOperation' }),
      ),
    ).toEqual(ignoredBecause(/StopInstances/));
    expect(readHints(call({ eventName: 'RunInstances', responseElements: null }))).toEqual(
      ignoredBecause(/RunInstances/),
    );
  });

  it('is a fault only if a call names its instances in an unknown way, and the fault says so', () => {
    const { hints, faults } = readHints(
      call({ eventName: 'StopInstances', requestParameters: { instancesSet: 'all' } }),
    );
    expect([hints, faults]).toMatchObject([
      [],
      [{ where: '$.detail.requestParameters', what: expect.stringContaining('StopInstances') }],
    ]);
  });

  it('is read if AWS took Spot instances back', () => {
    const evicted = (serviceEventDetails: unknown) =>
      event('AWS Service Event via CloudTrail', { eventName: 'BidEvictedEvent', serviceEventDetails });
    expect(summary(evicted({ instanceIdSet: [MACHINE, 'i-abcd1111'] }))).toEqual([
      [MACHINE, 'service-event-bid-evicted-event'],
      ['i-abcd1111', 'service-event-bid-evicted-event'],
    ]);
    expect(readHints(evicted(null))).toEqual(ignoredBecause(/BidEvictedEvent/));
  });
});

it.each(['aws.ec2', 'aws.autoscaling', 'aws.health'])(
  'other events of %s are understood, and name no machine',
  (source) => {
    expect(readHints(event('EBS Volume Notification', {}, source))).toEqual(ignoredBecause(/EBS Volume Notification/));
  },
);

it.each([
  ['{ "Events": … }', { Events: [stopped] }],
  ['{ "Entries": … }', { Entries: [stopped] }],
  [
    'entries as they are put',
    { Entries: [{ Source: 'aws.ec2', DetailType: stopped['detail-type'], Detail: JSON.stringify(stopped.detail) }] },
  ],
  ['a byte order mark', `\uFEFF${JSON.stringify(stopped)}`],
])('%s is unwrapped', (_, raw) => {
  expect(summary(raw)).toEqual([[MACHINE, 'state-change-stopped']]);
});
