import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readHints } from '../../../providers/aws/events/read-hints.ts';

const fixtures = new URL('../../fixtures/aws/', import.meta.url);
const json = (name: string) => JSON.parse(readFileSync(new URL(name, fixtures), 'utf8'));

const MACHINE = 'i-0633ac2b0d9769723';
const ignoredBecause = (words: RegExp) => ({
  hints: [],
  faults: [],
  ignored: [{ what: expect.stringMatching(words), where: expect.stringMatching(/^\$/) }],
});
const health = json('health-organization-view.derived.json');
const withDetail = (detail: object, more: object = {}) => ({
  ...health,
  ...more,
  detail: { ...health.detail, ...detail },
});

describe('AWS Health', () => {
  it('names the machines with their account and region, whoever received the event', () => {
    expect(readHints(health)).toMatchObject({
      hints: [{ machine: 'i-12345678', because: 'health', account: '444455556666', region: 'us-east-1' }],
      faults: [],
      ignored: [],
    });
  });

  it('may name several machines, as an event about their host does', () => {
    const affectedEntities = [MACHINE, 'i-12345678'].map((entityValue) => ({ entityValue }));
    expect(readHints(withDetail({ affectedEntities })).hints.map(({ machine }) => machine)).toEqual([
      MACHINE,
      'i-12345678',
    ]);
  });

  it('uses the envelope if the event names no account and region', () => {
    const detail = { affectedAccount: null, eventRegion: '' };
    expect(readHints(withDetail(detail)).hints).toMatchObject([{ account: '111122223333', region: 'us-west-2' }]);
    expect(readHints(json('health-scheduled-change.nth.json')).hints).toMatchObject([
      { account: 'account id', region: 'us-east-1' },
    ]);
  });

  it('may omit lists, and may contain entities without a name', () => {
    expect(readHints(withDetail({ affectedEntities: null }, { resources: null }))).toEqual(
      ignoredBecause(/names no instance/),
    );
    expect(
      readHints(withDetail({ affectedEntities: [{ status: 'IMPAIRED' }, { entityValue: MACHINE }] })),
    ).toMatchObject({ hints: [{ machine: MACHINE }], faults: [] });
  });

  it('is read if it reports abuse, for which AWS stops machines', () => {
    expect(readHints({ ...health, 'detail-type': 'AWS Health Abuse Event' }).hints).toMatchObject([
      { machine: 'i-12345678', account: '444455556666' },
    ]);
  });
});

it('an event of an unknown kind that names two instances is a reason to look at both', () => {
  const [one, other] = [MACHINE, 'i-12345678'];
  const event = {
    'detail-type': 'EC2 Instances Exchanged',
    source: 'aws.ec2',
    resources: [one, other].map((id) => `arn:aws:ec2:eu-central-1:111122223333:instance/${id}`),
    detail: { 'instance-id': one, EC2InstanceId: other },
  };
  expect(readHints(event).hints.map(({ machine }) => machine)).toEqual([one, other]);
});

describe('the answer of aws sqs receive-message', () => {
  const letter = (machine: string, change: object = {}) => ({
    MessageId: 'm-1',
    ReceiptHandle: 'AQEB',
    MD5OfBody: '1',
    Body: JSON.stringify({ ...named('state-change'), detail: { 'instance-id': machine, state: 'stopped' }, ...change }),
    MessageAttributes: { reason: { StringValue: 'step-refused', DataType: 'String' } },
  });
  const named = (id: string) => ({ id, source: 'aws.ec2', 'detail-type': 'EC2 Instance State-change Notification' });

  it('names the machine of each message, for a person who replays dead letters', () => {
    const answer = { Messages: [letter(MACHINE), letter('i-12345678')] };
    expect(readHints(answer)).toMatchObject({ hints: [{ machine: MACHINE }, { machine: 'i-12345678' }], faults: [] });
  });

  it('keeps its messages apart: a dry run of one is not a dry run of another', () => {
    const answer = { Messages: [letter(MACHINE, { dryRun: true }), letter('i-12345678')] };
    expect(readHints(answer).hints.map(({ dryRun }) => dryRun ?? false)).toEqual([true, false]);
  });
});

describe('CloudTrail', () => {
  const file = json('cloudtrail-log-file-stop-instances.userguide.json');
  const [record] = file.Records;
  const stopped = {
    machine: 'i-ebeaf9e2',
    because: 'api-call-stop-instances',
    region: 'us-east-2',
    account: '123456789012',
    time: Date.UTC(2014, 2, 6, 21, 1, 59),
  };

  it.each([
    ['a log file', file],
    ['a record', record],
    ['the result of a lookup', { Events: [{ EventName: 'StopInstances', CloudTrailEvent: JSON.stringify(record) }] }],
  ])('names machines in %s without EventBridge', (_, raw) => {
    expect(readHints(raw)).toMatchObject({ hints: [stopped], faults: [], ignored: [] });
  });

  it('prefers the account of the record to the account of the caller', () => {
    expect(readHints({ ...record, recipientAccountId: '999900001111', eventID: 'e' }).hints).toMatchObject([
      { account: '999900001111', eventId: 'e' },
    ]);
  });

  it('is read in records about services, and about other things', () => {
    const evicted = {
      ...record,
      eventType: 'AwsServiceEvent',
      eventName: 'BidEvictedEvent',
      serviceEventDetails: { instanceIdSet: [MACHINE] },
    };
    expect(readHints(evicted)).toMatchObject({
      hints: [{ machine: MACHINE, because: 'service-event-bid-evicted-event' }],
      faults: [],
    });
    expect(readHints({ ...record, eventSource: 's3.amazonaws.com', eventName: 'GetObject' })).toEqual(
      ignoredBecause(/a call of GetObject/),
    );
    expect(readHints({ ...record, eventName: 'constructor' })).toEqual(ignoredBecause(/a call of constructor$/));
  });

  it('is no fault if the call was rejected because of the IDs that it named', () => {
    const refused = {
      ...record,
      errorCode: 'Client.InvalidInstanceID.Malformed',
      requestParameters: { instancesSet: { items: [{ instanceId: 'nonsense' }] } },
    };
    expect(readHints(refused)).toEqual(
      ignoredBecause(/StopInstances that was refused \(Client\.InvalidInstanceID\.Malformed\)/),
    );
    expect(readHints({ ...refused, errorCode: undefined }).faults).toMatchObject([{ where: '$.requestParameters' }]);
    expect(readHints({ Records: [{ ...refused, errorCode: null }] }).faults).toMatchObject([
      { where: '$.Records[0].requestParameters' },
    ]);
  });
});

describe('events of fleets', () => {
  const fleet = json('fleet-instance-terminated.derived.json');

  it.each([
    ['EC2 Fleet Instance Change', 'aws.ec2fleet', 'fleet-terminated'],
    ['EC2 Spot Fleet Instance Change', 'aws.ec2spotfleet', 'spot-fleet-terminated'],
  ])('name the instance that they change: %s', (type, source, because) => {
    expect(readHints({ ...fleet, 'detail-type': type, source })).toMatchObject({
      hints: [{ machine: 'i-abcd1111', because }],
      faults: [],
      ignored: [],
    });
  });

  it('may be about the fleet itself, and then name no instance', () => {
    expect(readHints({ ...fleet, 'detail-type': 'EC2 Fleet State Change', detail: { 'sub-type': 'active' } })).toEqual(
      ignoredBecause(/EC2 Fleet State Change/),
    );
  });
});

it('a body that EventBridge Pipes has already parsed is an event', () => {
  expect(readHints([{ messageId: 'm', body: json('state-change-stopped.derived.json') }])).toMatchObject({
    hints: [{ machine: 'i-abcd1111', because: 'state-change-stopped' }],
    faults: [],
  });
});
