import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { CloudfenceError, PermissionDenied } from '../../../fencing/model/errors.ts';
import { createSender, type SendMessage } from '../../../providers/azure/rest.ts';
import { credential } from '../../sandbox/azure/azure-world.ts';
import { openStandIn, type Answered, type Request, type StandIn } from '../stand-in.ts';
import { useRealTime, useVirtualTime } from '../virtual-time.ts';

/** The part of the protocol of a queue that sending needs. */
const taken: object[] = [];
const take = ({ method, url, headers, body }: Request): Answered => {
  const answered = /^\/answers-(\d+)\/messages$/.exec(url)?.[1];
  if (answered !== undefined) return { status: Number(answered) };
  if (url !== '/events/messages') return { status: 401 };
  const { brokerproperties = null, reason = null } = headers;
  taken.push({ method, text: String(body), brokerproperties, reason });
  return { status: 201 };
};

let queue: StandIn;
let send: SendMessage;
beforeAll(async () => {
  queue = await openStandIn(take);
  send = createSender({ host: queue.url, credential });
});
afterEach(useRealTime);
afterAll(() => queue.close());

it('a text is sent with its earliest delivery time, and its properties are quoted', async () => {
  await send('events', { text: '{"a":1}', notBefore: Date.UTC(2026, 0, 2, 3, 4, 5), properties: {} });
  await send('events', { text: 'nonsense', notBefore: null, properties: { reason: 'not "JSON": ümlaut\nin line 2' } });
  expect(taken).toEqual([
    {
      method: 'POST',
      text: '{"a":1}',
      brokerproperties: '{"ScheduledEnqueueTimeUtc":"Fri, 02 Jan 2026 03:04:05 GMT"}',
      reason: null,
    },
    { method: 'POST', text: 'nonsense', brokerproperties: null, reason: `"not 'JSON': ?mlaut?in line 2"` },
  ]);
});

it.each([200, 201])('a message is sent if the queue answers with the status %i', async (status) => {
  await expect(send(`answers-${status}`, { text: '', notBefore: null, properties: {} })).resolves.toBeUndefined();
});

it('a message has its own time, however long the process has been running', async () => {
  useVirtualTime();
  const sending = createSender({ host: queue.url, credential });
  await vi.advanceTimersByTimeAsync(3_600_000);
  await expect(sending('answers-201', { text: '', notBefore: null, properties: {} })).resolves.toBeUndefined();
});

it.each([202, 204, 302, 304, 400, 404])(
  'a message is not sent if something answers with the status %i, because no queue has stored it',
  async (status) => {
    await expect(send(`answers-${status}`, { text: '', notBefore: null, properties: {} })).rejects.toBeInstanceOf(
      CloudfenceError,
    );
  },
);

it.each([429, 503])(
  'a message is sent again if the queue answers with the status %i and soon accepts it',
  async (status) => {
    let answers = 0;
    const busy = await openStandIn(() => {
      answers += 1;
      return answers < 3 ? { status, headers: { 'retry-after-ms': '1' } } : { status: 201 };
    });
    const sending = createSender({ host: busy.url, credential });
    await expect(sending('events', { text: '', notBefore: null, properties: {} })).resolves.toBeUndefined();
    expect(answers).toBe(3);
    await busy.close();
  },
);

it('a missing permission is reported by its name', async () => {
  await expect(send('others', { text: '', notBefore: null, properties: {} })).rejects.toThrow(PermissionDenied);
  await expect(send('others', { text: '', notBefore: null, properties: {} })).rejects.toThrow(
    /messages\/send\/action returned/,
  );
});
