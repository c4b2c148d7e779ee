import { Agent as HttpAgent, type Agent } from 'node:http';
import { Agent as HttpsAgent, request as secureRequestBy } from 'node:https';
import { HttpsProxyAgent } from 'hpagent';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ProofExpired } from '../../fencing/model/errors.ts';
import { connectAhead, closeUnusedConnections, connectionCount } from '../../transport/connections.ts';
import { createConnectionPool } from '../../transport/connections.ts';
import type { PermittedPath } from '../../transport/under-permit.ts';
import { proof } from '../permits.ts';
import { answered, closeAll, failure, portOf, post, sent } from './orders.ts';
import { openSlowFront, type SlowFront, trustOnly } from './slow-front.ts';
import { createServer, Socket } from 'node:net';
import type { Readable } from 'node:stream';

let front: SlowFront;
let agent: Agent;

const isOrder = ({ method }: { readonly method: string }): boolean => method === 'POST';

beforeEach(async () => {
  front = await openSlowFront(() => ({ status: 200, body: 'done' }), isOrder);
  agent = new HttpsAgent({ keepAlive: true, ca: front.cert });
});

afterEach(async () => {
  agent.destroy();
  await front.close();
  await closeAll();
});

const ask = (by: Agent, method = 'GET'): Promise<string> => {
  const request = secureRequestBy(`${front.url}/`, { method, agent: by });
  const answer = answered(request);
  request.end();
  return answer;
};

const prepared = (count: number) => connectAhead(agent, new URL(front.url), count);

describe('connections that are opened ahead', () => {
  it('are used by the next requests, and more are opened when they are used up', async () => {
    prepared(2);
    await expect.poll(() => front.connections()).toBe(2);
    expect(await Promise.all([ask(agent), ask(agent)])).toEqual(['done', 'done']);
    expect(front.connections()).toBe(2);
    await Promise.all([ask(agent), ask(agent), ask(agent)]);
    expect(front.connections()).toBe(3);
  });

  it('count as open connections until they end', async () => {
    const server = new URL(front.url);
    prepared(2);
    prepared(1);
    expect(connectionCount(agent, server)).toBe(3);
    await ask(agent);
    expect(connectionCount(agent, server)).toBe(3);
    closeUnusedConnections(agent);
    expect(connectionCount(agent, server)).toBe(1);
  });

  it('are used only for their own server', async () => {
    const another = await openSlowFront(() => ({ status: 200, body: 'from another' }), isOrder);
    onTestFinished(() => another.close());
    agent.destroy();
    agent = new HttpsAgent({ keepAlive: true, ca: [front.cert, another.cert] });
    prepared(1);
    connectAhead(agent, new URL(another.url), 1);
    await expect.poll(() => [front.connections(), another.connections()]).toEqual([1, 1]);
    const toAnother = secureRequestBy(`${another.url}/`, { agent });
    const answer = answered(toAnother);
    toAnother.end();
    expect(await answer).toBe('from another');
    expect(await ask(agent)).toBe('done');
    expect([front.connections(), another.connections()]).toEqual([1, 1]);
  });

  it('are not used if the server has written before anything was asked', async () => {
    const goodbye = 'HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n';
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      if (connections === 1) socket.end(goodbye);
      else socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone'));
    });
    const port = await portOf(server);
    onTestFinished(() => void server.close());
    const plain = new HttpAgent({ keepAlive: true });
    const made: Readable[] = [];
    plain.createConnection = (options, callback) => {
      const socket = HttpAgent.prototype.createConnection(options, callback);
      if (socket) made.push(socket);
      return socket;
    };
    connectAhead(plain, new URL(`http://127.0.0.1:${port}`), 1);
    await expect.poll(() => made[0]?.readableLength).toBe(goodbye.length);
    expect(await post(port, plain)).toBe('done');
    expect(connections).toBe(2);
  });

  it('are used by a destructive call only with its permit', async () => {
    front.holdHandshakes(0);
    prepared(1);
    await front.holding();
    const { permit, end } = proof();
    const failed = sent(permit, ({ through }: PermittedPath) => ask(through(agent), 'POST'));
    end();
    expect(await failed).toBeInstanceOf(ProofExpired);
    front.release();
    expect(front.arrived()).toEqual([]);
  });

  it('are closed if nothing uses them', async () => {
    prepared(2);
    closeUnusedConnections(agent);
    expect(await ask(agent)).toBe('done');
    expect(connectionCount(agent, new URL(front.url))).toBe(1);
  });

  it('are no failure if there is no server, and the request reports that', async () => {
    const closed = createServer();
    const gone = new URL(`https://127.0.0.1:${await portOf(closed)}`);
    closed.close();
    connectAhead(agent, gone, 2);
    const request = secureRequestBy(gone, { agent });
    request.end();
    expect(await failure(answered(request))).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('are not opened through a proxy', async () => {
    const through = new HttpsProxyAgent({ ca: front.cert, proxy: front.url });
    connectAhead(through, new URL(front.url), 2);
    expect(await ask(agent)).toBe('done');
    expect(front.connections()).toBe(1);
  });

  it('are opened as the agent opens them, with its server name', async () => {
    agent.destroy();
    agent = new HttpsAgent({ keepAlive: true, ca: front.cert, servername: 'another.example' });
    prepared(1);
    expect(await failure(ask(agent))).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });
});

describe('the options of a connection', () => {
  it.each([
    ['http://cloud.example', { host: 'cloud.example', port: 80, servername: 'cloud.example' }],
    ['https://cloud.example', { host: 'cloud.example', port: 443, servername: 'cloud.example' }],
    ['https://cloud.example:6443', { host: 'cloud.example', port: 6443, servername: 'cloud.example' }],
    ['https://10.0.0.1', { host: '10.0.0.1', port: 443, servername: '' }],
    ['https://[2001:db8::1]', { host: '2001:db8::1', port: 443, servername: '' }],
  ])('for %s are what the agent derives from a request to it', (url, place) => {
    const made: unknown[] = [];
    const plain = new HttpAgent();
    plain.createConnection = (options) => {
      made.push(options);
      return new Socket();
    };
    connectAhead(plain, new URL(url), 1);
    expect(made).toMatchObject([place]);
  });
});

describe('a connection for which a request waits', () => {
  /** An agent whose connections never open. */
  const waiting = (count: number) => {
    const sockets: Socket[] = [];
    const plain = new HttpAgent();
    plain.createConnection = () => {
      const socket = new Socket();
      sockets.push(socket);
      return socket;
    };
    const server = new URL('http://cloud.example');
    connectAhead(plain, server, count);
    const take = () => plain.createConnection({ host: 'cloud.example', port: 80 });
    return { sockets, take, left: () => connectionCount(plain, server) };
  };

  it.each(['error', 'timeout', 'end', 'close'])('is given up at its %s', (event) => {
    const { sockets, left } = waiting(1);
    sockets[0]?.emit(event, new Error('reset'));
    expect(left()).toBe(0);
    expect(sockets[0]?.destroyed).toBe(true);
  });

  it('keeps nothing of that wait once the request has it', () => {
    const { sockets, take } = waiting(1);
    const socket = take();
    expect(socket).toBe(sockets[0]);
    const own = new Socket();
    for (const event of ['error', 'timeout', 'end', 'close'])
      expect(sockets[0]?.listenerCount(event)).toBe(own.listenerCount(event));
  });

  it.each([
    ['is gone', (socket?: Socket) => socket?.destroy()],
    ['takes no more', (socket?: Socket) => socket?.end()],
  ])('is skipped if it %s, and the next one is used', (_, spoil) => {
    const { sockets, take } = waiting(2);
    spoil(sockets[0]);
    expect(take()).toBe(sockets[1]);
    expect(sockets[0]?.destroyed).toBe(true);
  });
});

describe('a pool that is asked to send a request', () => {
  it('reports when the request was sent, and then has a second connection', async () => {
    trustOnly(front.cert);
    onTestFinished(() => trustOnly(null));
    const notified: number[] = [];
    const { https } = createConnectionPool(() => notified.push(front.connections()));
    front.holdHandshakes(0);
    const answer = ask(https);
    await front.holding();
    expect(notified).toEqual([]);
    front.release();
    expect(await answer).toBe('done');
    expect(notified).toEqual([1]);
    await Promise.all([ask(https), ask(https)]);
    expect(front.connections()).toBe(2);
    https.destroy();
  });

  it('opens no second connection for a request that uses an existing connection', async () => {
    trustOnly(front.cert);
    onTestFinished(() => trustOnly(null));
    const { https } = createConnectionPool();
    await ask(https);
    await expect.poll(() => front.connections()).toBe(2);
    closeUnusedConnections(Object.getPrototypeOf(https));
    await ask(https);
    await ask(https);
    expect(connectionCount(https, new URL(front.url))).toBe(1);
    expect(front.connections()).toBe(2);
    https.destroy();
  });

  it('does not report that while another request waits for its connection', async () => {
    trustOnly(front.cert);
    onTestFinished(() => trustOnly(null));
    let notified = 0;
    const { https } = createConnectionPool(() => (notified += 1));
    await Promise.all([ask(https), ask(https)]);
    expect(notified).toBe(1);
    https.destroy();
  });

  it('reports that although an earlier request could not be sent', async () => {
    trustOnly(front.cert);
    onTestFinished(() => trustOnly(null));
    const closed = createServer();
    const gone = new URL(`https://127.0.0.1:${await portOf(closed)}`);
    closed.close();
    let notified = 0;
    const { https } = createConnectionPool(() => (notified += 1));
    expect(await failure(answered(secureRequestBy(gone, { agent: https }).end()))).toMatchObject({
      code: 'ECONNREFUSED',
    });
    expect(notified).toBe(0);
    await ask(https);
    expect(notified).toBe(1);
    https.destroy();
  });
});
