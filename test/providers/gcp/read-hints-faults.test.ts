import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { INSTANCE_PATH } from '../../../providers/gcp/identity.ts';
import { readHints } from '../../../providers/gcp/events/read-hints.ts';

const read = (name: string): string => readFileSync(new URL(`../../fixtures/gcp/${name}`, import.meta.url), 'utf8');
const stopped = JSON.parse(read('audit-v1-stop-LAST.derived.json'));
const payload = (more: object) => ({ ...stopped, protoPayload: { ...stopped.protoPayload, ...more } });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('an unreadable event', () => {
  it.each([
    ['an entry without a method', payload({ methodName: undefined }), '$.protoPayload.methodName'],
    [
      'a resource that is not an instance',
      payload({ resourceName: 'projects/p/zones/z/disks/d' }),
      '$.protoPayload.resourceName',
    ],
    [
      'a resource with a tail',
      payload({ resourceName: `${stopped.protoPayload.resourceName}\n` }),
      '$.protoPayload.resourceName',
    ],
    ['a resource that is missing', payload({ resourceName: undefined }), '$.protoPayload.resourceName'],
    ['an invalid instance named by hand', { instance: 'node-1' }, '$.instance'],
    ['an event of another cloud', { 'detail-type': 'EC2 Instance State-change Notification', detail: {} }, '$'],
    ['a message without data', { message: { attributes: {} }, subscription: 's' }, '$'],
    [
      'a plain text in a CloudEvent of Pub/Sub',
      JSON.parse(read('pubsub-cloudevent-STRUCTURED-shape.google-cloudevents.json')),
      '$.data.message.data',
    ],
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

  it('is understood if it is a log entry outside the audit logs', () => {
    expect(readHints({ logName: 'projects/p/logs/syslog', textPayload: 'x' })).toMatchObject({
      hints: [],
      faults: [],
      ignored: [{ where: '$' }],
    });
  });

  it('is never ignored silently, and never throws', () => {
    const wrapped = fc.oneof(
      fc.jsonValue(),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc.jsonValue().map((value) => payload({ resourceName: value })),
      fc.jsonValue().map((protoPayload) => ({ ...stopped, protoPayload })),
      fc.string().map((data) => ({ message: { data }, subscription: 's' })),
      fc.jsonValue().map((value) => ({ message: { data: base64(JSON.stringify(value)) } })),
      fc.jsonValue().map((data) => ({ specversion: '1.0', type: 't', data })),
      fc.string(),
    );
    fc.assert(
      fc.property(wrapped, (raw) => {
        const { hints, faults, ignored } = readHints(raw);
        expect(hints.length + faults.length + ignored.length).toBeGreaterThan(0);
        for (const hint of hints) expect(hint.machine).toMatch(INSTANCE_PATH);
      }),
      { numRuns: 2_000, seed: 1 },
    );
  });
});

describe('the person behind an event', () => {
  const SECRET = 'somebody.private@example.org';
  const bad = {
    ...payload({
      resourceName: 'projects/p',
      authenticationInfo: { principalEmail: SECRET, type: SECRET, id: SECRET },
    }),
    severity: 'NOTICE',
  };
  const text = JSON.stringify(bad);
  it.each([
    ['an entry', bad],
    ['an entry in a message', { message: { data: base64(text) } }],
    ['an entry in a CloudEvent', { specversion: '1.0', data: bad }],
    ['a text that was cut off', text.slice(0, -1)],
    ['a text that was cut off within', text.slice(0, text.indexOf(SECRET) + 12)],
    ['a message that was cut off', { message: { data: base64(text.slice(0, -1)) } }],
    ['a list of lists', JSON.parse('['.repeat(10) + text + ']'.repeat(10))],
    ['an unknown envelope', { wrapped: bad, also: text, encoded: base64(text) }],
    ['an entry with an invalid method', payload({ methodName: { authenticationInfo: { principalEmail: SECRET } } })],
  ])('is not shown in the faults of %s', (_, raw) => {
    const { faults } = readHints(raw);
    expect(faults).not.toEqual([]);
    const said = JSON.stringify(faults);
    for (const part of [SECRET, 'somebody', base64(SECRET).slice(0, 12)]) expect(said).not.toContain(part);
  });
});
