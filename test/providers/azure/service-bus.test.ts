import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Denied } from '../../../fencing/errors.ts';
import { busSender, type Send } from '../../../providers/azure/service-bus.ts';
import { credential } from '../../sandbox/azure/azure-world.ts';

/** A queue on the wire, as far as sending goes. */
const taken: object[] = [];
const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  if (request.url !== '/events/messages') return void response.writeHead(401).end();
  const { brokerproperties = null, reason = null } = request.headers;
  taken.push({ method: request.method, text: await text(request), brokerproperties, reason });
  response.writeHead(201).end();
};
const server = createServer((request, response) => void take(request, response));

let send: Send;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  send = busSender({ host: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, credential });
});
afterAll(() => void server.close());

it('sends a text with the time before which nobody gets it, and its properties in quotes', async () => {
  await send('events', { text: '{"a":1}', notBefore: Date.UTC(2026, 0, 2, 3, 4, 5), properties: {} });
  await send('events', { text: 'nonsense', notBefore: null, properties: { reason: 'not "JSON": ümlaut\nin line 2' } });
  expect(taken).toEqual([
    { method: 'POST', text: '{"a":1}', brokerproperties: '{"ScheduledEnqueueTimeUtc":"Fri, 02 Jan 2026 03:04:05 GMT"}', reason: null },
    { method: 'POST', text: 'nonsense', brokerproperties: null, reason: `"not 'JSON': ?mlaut?in line 2"` },
  ]);
});

it('says that it may not, by what it may not', async () => {
  await expect(send('others', { text: '', notBefore: null, properties: {} })).rejects.toThrow(Denied);
  await expect(send('others', { text: '', notBefore: null, properties: {} })).rejects.toThrow(/messages\/send\/action answered/);
});
