import { expect, it } from 'vitest';
import { parseMessage } from '../../functions/messages.ts';

it('a message that breaks its reader counts as unreadable, and the error says that this is a bug of Cloudfence', () => {
  const message = parseMessage('m-1', 'a message', () => {
    throw new RangeError('Maximum call stack size exceeded');
  });
  expect(message).toMatchObject({
    messageId: 'm-1',
    items: [],
    faults: [
      {
        what: expect.stringContaining('RangeError: Maximum call stack size exceeded'),
        remedy: expect.stringContaining('report this bug of Cloudfence'),
      },
    ],
  });
});

it.each([
  [false, 'wanted', true],
  [true, null, true],
  [false, null, false],
] as const)('dryRun of an own message %j, and of its delivery %j: the run is dry: %j', (own, asked, expected) => {
  const sent = { cloudfence: 'look-again', machine: 'i-1', hops: 1, because: 'x', event: null, eventAt: null };
  const read = { hints: [], faults: [], ignored: [], ...(asked && { dryRun: asked }) };
  const message = parseMessage('m-1', JSON.stringify({ ...sent, dryRun: own }), () => read);
  expect(message.items).toMatchObject([{ machine: 'i-1', dryRun: expected }]);
});
