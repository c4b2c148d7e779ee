import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readHints } from '../../../providers/aws/events/read-hints.ts';

const fixtures = new URL('../../fixtures/aws/', import.meta.url);
const text = (name: string): string => readFileSync(new URL(name, fixtures), 'utf8');
const json = (name: string): Record<string, unknown> => JSON.parse(text(name));

const stopped = json('state-change-stopped.derived.json');
const summary = (raw: unknown) => readHints(raw).hints.map((hint) => [hint.machine, hint.because]);

describe('hints in the events of AWS', () => {
  it.each([
    ['state-change-pending.nth.json', 'i-abcd1111', 'state-change-pending'],
    ['state-change-running.derived.json', 'i-abcd1111', 'state-change-running'],
    ['state-change-stopping.derived.json', 'i-abcd1111', 'state-change-stopping'],
    ['state-change-stopped.derived.json', 'i-abcd1111', 'state-change-stopped'],
    ['state-change-shutting-down.derived.json', 'i-abcd1111', 'state-change-shutting-down'],
    ['state-change-terminated.derived.json', 'i-abcd1111', 'state-change-terminated'],
    ['spot-interruption-warning.nth.json', 'i-0b662ef9931388ba0', 'spot-interruption'],
    ['spot-interruption-warning.userguide.json', 'i-1234567890abcdef0', 'spot-interruption'],
    ['rebalance-recommendation.userguide.json', 'i-1234567890abcdef0', 'rebalance-recommendation'],
    ['asg-terminate-lifecycle-action.nth.json', 'i-0633ac2b0d9769723', 'terminate-lifecycle-action'],
    ['asg-terminate-successful.aws-lambda-go.json', 'i-1234567890abcdef0', 'terminate-successful'],
    ['health-scheduled-change.nth.json', 'i-12345678', 'health'],
  ])('%s names %s', (name, machine, because) => {
    expect(readHints(json(name))).toMatchObject({ hints: [{ machine, because }], faults: [], ignored: [] });
  });

  it('carry their account, their time, and the replay that delivered them', () => {
    expect(readHints({ ...stopped, 'replay-name': 'monday' }).hints).toEqual([
      {
        machine: 'i-abcd1111',
        because: 'state-change-stopped',
        eventId: '7bf73129-1428-4cd3-a780-95db273d1602',
        time: Date.UTC(2015, 10, 11, 21, 29, 54),
        account: '123456789012',
        region: 'us-east-1',
        replay: 'monday',
      },
    ]);
  });

  it('are read in upper and lower case', () => {
    expect(summary({ ...stopped, detail: { 'instance-id': 'i-abcd1111', state: 'RUNNING' } })).toEqual([
      ['i-abcd1111', 'state-change-running'],
    ]);
  });

  it('are found in the API calls of CloudTrail, but not in a launch that failed', () => {
    const instancesSet = { items: [{ instanceId: 'i-abcd1111' }, { instanceId: 'i-abcd2222' }] };
    const call = (detail: object) => ({ 'detail-type': 'AWS API Call via CloudTrail', detail });
    expect(summary(call({ eventName: 'StopInstances', requestParameters: { instancesSet } }))).toEqual([
      ['i-abcd1111', 'api-call-stop-instances'],
      ['i-abcd2222', 'api-call-stop-instances'],
    ]);
    expect(summary(call({ eventName: 'RunInstances', responseElements: { instancesSet } }))).toHaveLength(2);
    expect(readHints(call({ eventName: 'RunInstances', responseElements: null }))).toMatchObject({
      hints: [],
      faults: [],
      ignored: [{ where: '$' }],
    });
  });

  it.each(['StopInstances', 'StartInstances', 'TerminateInstances', 'RebootInstances'])(
    'are found in a call of %s that CloudTrail records',
    (eventName) => {
      const file = text('cloudtrail-log-file-stop-instances.userguide.json').replace(
        '"StopInstances"',
        `"${eventName}"`,
      );
      expect(summary(file)).toEqual([
        ['i-ebeaf9e2', `api-call-${eventName.replace('Instances', '').toLowerCase()}-instances`],
      ]);
    },
  );

  it('are none in a test notification of Auto Scaling, which is understood', () => {
    const lifecycle = json('asg-terminate-lifecycle-action.nth.json');
    const test = {
      ...lifecycle,
      detail: { LifecycleTransition: 'autoscaling:TEST_NOTIFICATION', EC2InstanceId: 'i-abcd1111' },
    };
    for (const raw of [test, { Event: 'autoscaling:TEST_NOTIFICATION' }]) {
      expect(readHints(raw)).toMatchObject({
        hints: [],
        faults: [],
        ignored: [{ what: 'a test notification of Auto Scaling' }],
      });
    }
  });

  it('are read from a request that names an instance', () => {
    expect(summary({ instanceId: 'i-0633ac2b0d9769723' })).toEqual([['i-0633ac2b0d9769723', 'by-hand']]);
  });
});

describe('wrappers of events', () => {
  const body = JSON.stringify(stopped);
  const sns = JSON.stringify({ Type: 'Notification', MessageId: 'm', Message: body });
  it.each([
    ['an array', [stopped]],
    ['an SQS record', { messageId: 'm', body }],
    ['an SQS batch', { Records: [{ messageId: 'm', body }] }],
    ['SNS inside SQS', { Records: [{ messageId: 'm', body: sns }] }],
    ['an SNS record', { Records: [{ EventSource: 'aws:sns', Sns: { Message: body } }] }],
    ['JSON text', text('state-change-stopped.derived.json')],
    ['JSON lines', `\n${body}\n\n`],
  ])('%s is unwrapped', (_, raw) => {
    expect(summary(raw)).toEqual([['i-abcd1111', 'state-change-stopped']]);
  });

  it('keep the good entries of a batch, and name the bad ones by their place', () => {
    const reading = readHints({
      Records: [
        { messageId: 'a', body: '{' },
        { messageId: 'b', body },
      ],
    });
    expect(reading.hints).toHaveLength(1);
    expect(reading.faults).toMatchObject([{ where: '$.Records[0].body' }]);
  });

  it('keep the good lines, and name the bad one', () => {
    const reading = readHints(`${body}\nnonsense`);
    expect(reading.hints).toHaveLength(1);
    expect(reading.faults).toMatchObject([{ where: '$(line 2)' }]);
  });
});

describe('an unreadable event', () => {
  it.each([
    [
      'a detail that names nothing',
      { ...stopped, resources: [], detail: { state: 'stopped' } },
      "$.detail['instance-id']",
    ],
    [
      'an id of something else',
      { ...stopped, detail: { 'instance-id': 'vol-abcd1111', state: 'stopped' } },
      "$.detail['instance-id']",
    ],
    ['an id in capitals', { instanceId: 'I-ABCD1111' }, '$.instanceId'],
    ['an id with a tail', { instanceId: 'i-abcd1111\n' }, '$.instanceId'],
    [
      'a lifecycle action without an instance',
      { 'detail-type': 'EC2 Instance-terminate Lifecycle Action', detail: {} },
      '$.detail.EC2InstanceId',
    ],
    ['an unknown type', { ...stopped, source: 'com.example', 'detail-type': 'Door Opened' }, "$['detail-type']"],
    ['an empty list', [], '$'],
    ['an empty text', ' ', '$'],
    ['null', null, '$'],
    ['nothing', undefined, '$'],
  ])('is a fault with its place: %s', (_, raw, where) => {
    const reading = readHints(raw);
    expect(reading.hints).toEqual([]);
    expect(reading.faults).toMatchObject([
      { where, remedy: expect.stringMatching(/\w/), what: expect.stringMatching(/\w/) },
    ]);
  });

  it('is never ignored silently, and never throws', () => {
    const wrapped = fc.oneof(
      fc.jsonValue(),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc.jsonValue().map((detail) => ({ ...stopped, detail })),
      fc.record({ Records: fc.array(fc.record({ body: fc.string() }), { minLength: 1 }) }),
      fc.string(),
    );
    fc.assert(
      fc.property(wrapped, (raw) => {
        const { hints, faults, ignored } = readHints(raw);
        expect(hints.length + faults.length + ignored.length).toBeGreaterThan(0);
        for (const hint of hints) expect(hint.machine).toMatch(/^i-[0-9a-f]{8,17}$/);
      }),
      { numRuns: 2_000, seed: 1 },
    );
  });
});
