import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { registeredClouds } from '../../../app/clouds.ts';
import type { ParsedEvent } from '../../../fencing/model/cloud.ts';
import { readHints as readAws } from '../../../providers/aws/events/read-hints.ts';

/** The author of an event can neither make it slow to read nor make its report long. */

const sizeOf = ({ hints, faults, ignored }: ParsedEvent): number => JSON.stringify([hints, faults, ignored]).length;
const MIB = 1024 * 1024;

/** Created once for all readers, because to compress these takes longer than to read them. */
const texts: readonly (readonly [string, string])[] = [
  ['letters', 'a'.repeat(10 * MIB)],
  ['base64 of nothing', Buffer.alloc(7 * MIB, 'x').toString('base64')],
  ['blanks', ' '.repeat(10 * MIB)],
  ['a text in a text', JSON.stringify('a'.repeat(10 * MIB))],
  [
    'one long word',
    JSON.stringify({
      'detail-type': 'x'.repeat(10 * MIB),
      eventType: 'x'.repeat(10 * MIB),
      resourceId: `/subscriptions/${'x'.repeat(10 * MIB)}`,
    }),
  ],
  [
    'long words in place of IDs',
    JSON.stringify({
      protoPayload: { methodName: 'x'.repeat(5 * MIB), resourceName: 'x'.repeat(5 * MIB) },
      operationName: 'x'.repeat(5 * MIB),
      resourceId: `/subscriptions/${'1'.repeat(5 * MIB)}`,
    }),
  ],
  ['lists in lists', '['.repeat(MIB) + ']'.repeat(MIB)],
  ['objects in objects', `${'{"a":'.repeat(MIB)}1${'}'.repeat(MIB)}`],
  ['bodies in bodies', Array.from({ length: 12 }).reduce<string>((inside) => JSON.stringify({ body: inside }), '{}')],
  ['a zip of gigabytes', gzipSync(Buffer.alloc(200 * MIB)).toString('base64')],
  [
    'many zips',
    JSON.stringify(Array.from({ length: 20 }, () => gzipSync(Buffer.alloc(20 * MIB, ' ')).toString('base64'))),
  ],
  ['more entries than any sender sends', `[${'1,'.repeat(MIB)}1]`],
  ['more lines than any sender sends', '1\n'.repeat(MIB)],
];

describe.each(await registeredClouds())('the reader of $name', ({ readHints: read }) => {
  it.each(texts)('describes briefly what is wrong with %s', (_, text) => {
    const reading = read(text);
    expect(reading.hints).toEqual([]);
    expect(reading.faults.length + reading.ignored.length).toBeGreaterThan(0);
    expect(sizeOf(reading)).toBeLessThan(20_000);
  });

  it('reads ten megabytes of bytes as quickly as their text', () => {
    const text = 'x'.repeat(10 * MIB);
    expect(read(Buffer.from(text))).toEqual(read(text));
  });

  it('reports a few of many faults, and the number of the others', () => {
    const { faults } = read(`[${'1,'.repeat(9_999)}1]`);
    expect(faults).toHaveLength(21);
    expect(faults.at(-1)?.what).toBe('9980 more parts of the event cannot be read');
  });
});

it('reports a few of many events that name no machine, and the number of the others', () => {
  const { ignored } = readAws(Array.from({ length: 5_000 }, () => ({ Event: 'autoscaling:TEST_NOTIFICATION' })));
  expect([ignored.length, ignored.at(-1)?.what]).toEqual([21, '4980 more parts of the event, without a machine']);
});

it('returns as many machines as one call may name, and reports that there are more', () => {
  const machines = Array.from({ length: 1_200 }, (_, at) => ({ instanceId: `i-${at.toString(16).padStart(8, '0')}` }));
  const { hints, faults } = readAws(machines);
  expect([hints.length, faults]).toMatchObject([
    1_000,
    [{ what: expect.stringMatching(/names 1200 machines, but Cloudfence looks at no more than 1000/) }],
  ]);
});

it('shortens the text of an event in its report', () => {
  const long = 'x'.repeat(100_000);
  const { hints } = readAws({
    'detail-type': 'EC2 Instance State-change Notification',
    id: long,
    detail: { 'instance-id': 'i-abcd1111', state: long },
  });
  expect([hints.length, sizeOf({ hints, faults: [], ignored: [] }) < 2_000]).toEqual([1, true]);
});
