import { once } from 'node:events';
import { Agent, createServer, type RequestListener, type Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { linkFromKubeConfig } from '../../kubernetes/access.ts';
import { callClock } from '../../kubernetes/connection.ts';
import { createCluster } from '../../kubernetes/cluster.ts';
import { sendRequest, POOL_OPTIONS, closeWhenIdle } from '../../kubernetes/exchange.ts';
import { openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { adminOf, FENCE_TOKEN, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { queryFor, makeNode, unhurried } from '../contract/cluster/harness.ts';

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

const serving = async (listener: RequestListener): Promise<{ readonly server: Server; readonly url: string }> => {
  const server = createServer(listener);
  open.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return { server, url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` };
};

const get = (url: string) => ({ method: 'GET', url, headers: {}, body: '' });
const way = (agent: Agent, signal?: AbortSignal) => ({ agent, signal });

describe('an exchange', () => {
  it('reads a compressed answer', async () => {
    const { url } = await serving((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('a page of Leases')),
    );
    expect(await sendRequest(get(url), way(new Agent(POOL_OPTIONS)))).toMatchObject({
      status: 200,
      body: 'a page of Leases',
    });
  });

  it('sends a body with a DELETE and states its length', async () => {
    const { url } = await serving(
      (request, response) =>
        void text(request).then((body) => response.end(`${request.headers['content-length']}: ${body}`)),
    );
    expect(
      (await sendRequest({ ...get(url), method: 'DELETE', body: 'précondition' }, way(new Agent(POOL_OPTIONS)))).body,
    ).toBe('13: précondition');
  });

  it('asks for a compressed answer, and sends no length without a body', async () => {
    const { url } = await serving(({ headers }, response) =>
      response.end(`${headers['accept-encoding']} ${headers['content-length']}`),
    );
    expect((await sendRequest(get(url), way(new Agent(POOL_OPTIONS)))).body).toBe('gzip undefined');
  });

  it('ends with its signal, although it still waits for a connection', async () => {
    const aborting = new AbortController();
    const agent = new Agent({ ...POOL_OPTIONS, lookup: () => aborting.abort() });
    const failed = sendRequest(get('http://cloud.example'), way(agent, aborting.signal));
    await expect(failed).rejects.toThrow(/aborted/);
  });

  it.each(['before the answer', 'in the middle of it'])('ends with its signal: %s', async (when) => {
    const aborting = new AbortController();
    const { url } = await serving((_request, response) => {
      if (when !== 'before the answer') response.write('half');
      setImmediate(() => aborting.abort());
    });
    await expect(sendRequest(get(url), way(new Agent(POOL_OPTIONS), aborting.signal))).rejects.toThrow(/aborted/);
  });

  it('keeps its answer if its pool is retired meanwhile, and leaves no connection behind', async () => {
    const agent = new Agent(POOL_OPTIONS);
    const { server, url } = await serving((_request, response) => {
      closeWhenIdle(agent);
      response.end('still here');
    });
    const gone = once(server, 'connection').then(([socket]) => once(socket, 'close'));
    expect((await sendRequest(get(url), way(agent))).body).toBe('still here');
    await gone;
    expect(agent.freeSockets).toEqual({});
  });

  it('goes through the proxy of a kubeconfig, in one tunnel for many calls', async () => {
    const server = sandboxServer();
    const door = await openKubernetesServer(server);
    let tunnels = 0;
    const proxy = await serving((_request, response) => response.writeHead(405).end());
    proxy.server.on('connect', (request, client) => {
      tunnels += 1;
      const behind = connect(Number(request.url?.split(':')[1]), '127.0.0.1', () =>
        client.write('HTTP/1.1 200 OK\r\n\r\n'),
      );
      behind.pipe(client).pipe(behind);
    });
    const cluster = {
      server: door.url,
      'certificate-authority-data': Buffer.from(door.caData).toString('base64'),
      'proxy-url': proxy.url,
    };
    const link = linkFromKubeConfig(
      JSON.stringify({
        clusters: [{ name: 'c', cluster }],
        users: [{ name: 'u', user: { token: FENCE_TOKEN } }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      }),
      'x',
    );
    const through = createCluster({ name: 'c', link, clock: callClock });
    const { name } = await makeNode({ cluster: through, admin: adminOf(server), now: server.now }, { machine: 'i-1' });
    for (let call = 0; call < 5; call += 1)
      expect(await through.find(queryFor('i-1', name), unhurried())).toEqual([name]);
    expect(tunnels).toBe(1);
    await link.close();
    await door.close();
  });
});
