import { expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { onePerMachine, parseMessage } from '../../functions/messages.ts';

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

/** The longest path of a machine: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules */
it('a waiting message about a machine and an event with long ids is read when it comes back', () => {
  const [machine, event] = [
    `/subscriptions/${'s'.repeat(36)}/resourcegroups/${'g'.repeat(90)}/${'m'.repeat(128)}`,
    'e'.repeat(300),
  ];
  const sent = { cloudfence: 'look-again', machine, hops: 1, because: 'x', event, eventAt: null };
  const read = { hints: [], faults: [], ignored: [] };
  expect(parseMessage('m-1', JSON.stringify(sent), () => read)).toMatchObject({
    items: [{ machine, event }],
    faults: [],
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

// An item with many attempts is not queued again. If it led, the run for both would end without another look.
it('of several items for one machine, the one with the fewest attempts is handled', () => {
  const read = { hints: [], faults: [], ignored: [] };
  const itemsAfter = (hops: number) => {
    const sent = { cloudfence: 'look-again', machine: 'i-1', hops, because: 'x', event: null, eventAt: null };
    return parseMessage('m-1', JSON.stringify(sent), () => read).items;
  };
  const [late, early] = [itemsAfter(11), itemsAfter(1)];
  expect([...onePerMachine([...late, ...early], defaultPolicy)]).toEqual(early);
  expect([...onePerMachine([...early, ...late], defaultPolicy)]).toEqual(early);
});
