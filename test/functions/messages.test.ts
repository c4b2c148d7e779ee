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
