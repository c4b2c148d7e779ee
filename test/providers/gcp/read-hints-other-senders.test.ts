import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parsePushedMessage } from '../../../functions/gcp/on-event.ts';
import { readHints } from '../../../providers/gcp/events/read-hints.ts';

const fixtures = new URL('../../fixtures/gcp/', import.meta.url);
const text = (name: string): string => readFileSync(new URL(name, fixtures), 'utf8');
const json = (name: string) => JSON.parse(text(name));

const MACHINE = 'projects/project-1/zones/us-central1-a/instances/instance-1';
const stopped = json('audit-v1-stop-LAST.derived.json');
const entry = (payload: object, more: object = {}) => ({
  ...stopped,
  ...more,
  protoPayload: { ...stopped.protoPayload, ...payload },
});
const summary = (raw: unknown) => readHints(raw).hints.map(({ machine, because }) => [machine, because]);
const ignoredBecause = (words: RegExp) => ({
  hints: [],
  faults: [],
  ignored: [{ what: expect.stringMatching(words), where: '$' }],
});

describe('system events', () => {
  it.each([
    [
      'system-repair-recreateInstance.lm-logs.json',
      'projects/development-198123/zones/us-central1-c/instances/aef-backend-20180822t164014-b75j',
      'repair-recreate-instance',
    ],
    [
      'partial-preempted.spot-interruption-exporter.json',
      'projects/mock-project/zones/europe-west1-c/instances/mock-instance-spot-3706-5b909138-nr65',
      'preempted',
    ],
  ])('%s names %s', (name, machine, because) => {
    expect(readHints(json(name))).toMatchObject({ hints: [{ machine, because }], faults: [], ignored: [] });
  });

  it('count as completed, whatever their severity and code', () => {
    expect(summary(json('system-hostError-ERROR.derived.json'))).toEqual([[MACHINE, 'host-error']]);
  });
});

describe('entries as other libraries write them', () => {
  it('may have numbers instead of words, and texts instead of numbers', () => {
    expect(summary(entry({}, { severity: 300 }))).toEqual([[MACHINE, 'api-call-stop']]);
    expect(readHints(entry({}, { severity: 500 }))).toEqual(ignoredBecause(/failed/));
    expect(readHints(entry({ status: { code: '5' } }))).toEqual(ignoredBecause(/failed/));
    expect(summary(entry({ status: { code: '0' } }))).toHaveLength(1);
  });

  it.each(['//compute.googleapis.com/', 'https://www.googleapis.com/compute/v1/'])(
    'may have a link instead of a path: %s',
    (before) => {
      expect(summary(entry({ resourceName: `${before}${MACHINE}` }))).toEqual([[MACHINE, 'api-call-stop']]);
    },
  );

  it.each([
    'projects/project-1/zones/us-central1-a/instances/4894051111144103',
    'projects/project-1/zones/us-central1-a/instances/Instance-1',
    'zones/us-central1-a/instances/instance-1',
  ])('are faults if they name no instance by its path: %s', (resourceName) => {
    expect(readHints(entry({ resourceName }))).toMatchObject({
      hints: [],
      faults: [{ where: '$.protoPayload.resourceName' }],
    });
  });

  it.each([
    'v1.compute.instanceGroupManagers.deleteInstances',
    'beta.compute.instanceGroupManagers.recreateInstances',
    'v1.compute.instanceGroupManagers.stopInstances',
    'v1.compute.instances.bulkInsert',
  ])('of %s are followed by those of its instances', (methodName) => {
    expect(readHints(entry({ methodName }))).toEqual(ignoredBecause(/does not start or stop an instance by itself/));
  });
});

describe('data of Pub/Sub', () => {
  const body = JSON.stringify(entry({ request: { note: 'ÿþ>>>???' } }));
  const base64 = Buffer.from(body).toString('base64');
  const url = Buffer.from(body).toString('base64url');

  it.each([
    ['in the other alphabet', { message: { data: url } }],
    ['without padding', { message: { data: base64.replace(/=+$/, '') } }],
    [
      'of a function of the first generation',
      { context: { eventType: 'google.pubsub.topic.publish' }, data: { data: base64 } },
    ],
    ['as bytes', Buffer.from(body)],
  ])('%s is unwrapped', (_, raw) => {
    expect(summary(raw)).toEqual([[MACHINE, 'api-call-stop']]);
  });

  it.each([
    ['parsed', JSON.parse(body)],
    ['as a text', body],
    ['as bytes of an unparsed type', Buffer.from(body)],
    ['wrapped, in the other alphabet', { message: { data: url, messageId: 'm' } }],
  ])('is pushed %s', (_, pushed) => {
    const { message } = parsePushedMessage(pushed);
    expect(message).toMatchObject({ items: [{ machine: MACHINE }], faults: [] });
    expect(JSON.parse(message.body)).toEqual(JSON.parse(body));
  });

  it('is reported with the text that was pushed if it is not JSON', () => {
    expect(parsePushedMessage(Buffer.from('nonsense')).message).toMatchObject({
      body: 'nonsense',
      items: [],
      faults: [{ what: expect.stringMatching(/^not JSON/), where: '$' }],
    });
    expect(readHints({ message: { data: '§§§' } }).faults).toMatchObject([{ where: '$' }]);
  });
});
