import { once } from 'node:events';
import { Agent, createServer, type RequestListener, type Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { HttpMethod, RequestContext } from '@kubernetes/client-node/dist/gen/index.js';
import { afterEach, describe, expect, it } from 'vitest';
import { InvalidInput, ProofExpired } from '../../fencing/model/errors.ts';
import { linkFromKubeConfig } from '../../kubernetes/access.ts';
import { callClock } from '../../kubernetes/connection.ts';
import { createCluster } from '../../kubernetes/cluster.ts';
import {
  bearerAuthentication,
  closeWhenIdle,
  httpsLink,
  POOL_OPTIONS,
  sendRequest,
  transportLink,
  type Transport,
} from '../../kubernetes/exchange.ts';
import { openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { adminOf, FENCE_TOKEN, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { granted, queryFor, makeNode, unhurried } from '../contract/cluster/harness.ts';
import { expired } from '../permits.ts';

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

  it('reads a large answer whose letters of three bytes lie across the borders of its parts', async () => {
    const names = '中'.repeat(200_000);
    const { url } = await serving((_request, response) => response.end(names));
    expect((await sendRequest(get(url), way(new Agent(POOL_OPTIONS)))).body === names).toBe(true);
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

  it('reads a header that the answer repeats as one', async () => {
    const { url } = await serving((_request, response) =>
      response.writeHead(418, { 'set-cookie': ['a=1', 'b=2'], 'x-single': 'one' }).end(),
    );
    expect(await sendRequest(get(url), way(new Agent(POOL_OPTIONS)))).toMatchObject({
      status: 418,
      headers: { 'set-cookie': 'a=1, b=2', 'x-single': 'one' },
      body: '',
    });
  });

  it('sends the headers of its request, even those that it would set itself', async () => {
    const { url } = await serving(({ headers }, response) =>
      response.end([headers['accept-encoding'], headers['x-request']].join(' ')),
    );
    const outgoing = { ...get(url), headers: { 'Accept-Encoding': 'identity', 'X-Request': 'one' } };
    expect((await sendRequest(outgoing, way(new Agent(POOL_OPTIONS)))).body).toBe('identity one');
  });

  it('closes its idle connection if its pool is retired', async () => {
    const agent = new Agent(POOL_OPTIONS);
    const { server, url } = await serving((_request, response) => response.end());
    const connected = once(server, 'connection');
    await sendRequest(get(url), way(agent));
    const [socket] = await connected;
    const gone = once(socket, 'close');
    await expect.poll(() => Object.keys(agent.freeSockets)).toHaveLength(1);
    closeWhenIdle(agent);
    await gone;
    expect(agent.freeSockets).toEqual({});
  });

  it('keeps its connection for the next exchange', async () => {
    const agent = new Agent(POOL_OPTIONS);
    let connections = 0;
    const { server, url } = await serving((_request, response) => response.end());
    server.on('connection', () => (connections += 1));
    for (let nth = 0; nth < 3; nth += 1) await sendRequest(get(url), way(agent));
    expect(connections).toBe(1);
    closeWhenIdle(agent);
  });

  /** https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html */
  it('closes an idle connection before a load balancer does, which takes a minute at the earliest', async () => {
    const agent = new Agent(POOL_OPTIONS);
    const { server, url } = await serving((_request, response) => response.end());
    // The API server does not announce how long it keeps an idle connection.
    server.keepAliveTimeout = 0;
    await sendRequest(get(url), way(agent));
    await expect.poll(() => Object.values(agent.freeSockets).flat()).toHaveLength(1);
    const [idle] = Object.values(agent.freeSockets).flat();
    expect(idle?.timeout).toBeLessThan(60_000);
    closeWhenIdle(agent);
  });

  it('asks for a compressed answer, and sends no length without a body', async () => {
    const { url } = await serving(({ headers }, response) =>
      response.end(`${headers['accept-encoding']} ${headers['content-length']}`),
    );
    expect((await sendRequest(get(url), way(new Agent(POOL_OPTIONS)))).body).toBe('gzip undefined');
  });

  it('ends with its signal while it waits for a connection', async () => {
    const aborting = new AbortController();
    const agent = new Agent({ ...POOL_OPTIONS, lookup: () => aborting.abort() });
    const failed = sendRequest(get('http://cloud.example'), way(agent, aborting.signal));
    await expect(failed).rejects.toThrow(/aborted/);
  });

  it('ends with its signal while every connection of its pool is in use', async () => {
    const aborting = new AbortController();
    const agent = new Agent({ ...POOL_OPTIONS, maxSockets: 1 });
    const { server, url } = await serving(() => undefined);
    const first = sendRequest(get(url), way(agent));
    await once(server, 'request');
    const second = sendRequest(get(url), way(agent, aborting.signal));
    aborting.abort(new Error('the run is over'));
    await expect(second).rejects.toThrow('the run is over');
    server.closeAllConnections();
    await expect(first).rejects.toThrow('socket hang up');
  });

  it.each(['before the answer', 'in the middle of it'])('ends with its signal: %s', async (when) => {
    const aborting = new AbortController();
    const { url } = await serving((_request, response) => {
      if (when !== 'before the answer') response.write('half');
      setImmediate(() => aborting.abort());
    });
    await expect(sendRequest(get(url), way(new Agent(POOL_OPTIONS), aborting.signal))).rejects.toThrow(/aborted/);
  });

  it('fails if the connection breaks in the middle of a compressed answer', async () => {
    const { url } = await serving((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write(gzipSync('half of a page of Leases').subarray(0, 20), () => response.destroy());
    });
    const answer = sendRequest(get(url), way(new Agent(POOL_OPTIONS)));
    await expect(answer).rejects.toThrow(/aborted|Premature close|unexpected end/);
  }, 20_000);

  it('keeps its answer if its pool is retired meanwhile, and then closes its connection', async () => {
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

  it('uses the proxy of a kubeconfig, with one tunnel for many calls', async () => {
    const server = sandboxServer();
    const apiServer = await openKubernetesServer(server);
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
      server: apiServer.url,
      'certificate-authority-data': Buffer.from(apiServer.caData).toString('base64'),
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
    await apiServer.close();
  });
});

describe('a link over another transport', () => {
  type Wire = Parameters<Transport>[0];
  const linked = () => {
    const seen: Wire[] = [];
    const link = transportLink(async (wire) => {
      seen.push(wire);
      return { status: 201, headers: { 'x-answer': 'yes' }, body: 'ok' };
    }, 'secret');
    return { link, seen };
  };
  const requestTo = (path: string, method: HttpMethod = HttpMethod.GET) =>
    new RequestContext(`https://k8s.invalid${path}`, method);

  it('passes on what the client asks for', async () => {
    const { link, seen } = linked();
    const request = requestTo('/api/v1/nodes?limit=5', HttpMethod.PATCH);
    request.setHeaderParam('X-Mixed-Case', 'kept');
    request.setBody('[]');
    await link.authentication.applySecurityAuthentication(request);
    await link.send(request, null);
    await link.send(requestTo('/version'), granted);
    expect(seen).toEqual([
      {
        method: 'PATCH',
        path: '/api/v1/nodes?limit=5',
        headers: { 'x-mixed-case': 'kept', authorization: 'Bearer secret' },
        body: '[]',
      },
      { method: 'GET', path: '/version', headers: {}, body: '' },
    ]);
  });

  it('returns the answer in each form in which the client may read it', async () => {
    const answer = await linked().link.send(requestTo('/version'), null);
    expect([answer.httpStatusCode, answer.headers]).toEqual([201, { 'x-answer': 'yes' }]);
    expect(await answer.body.text()).toBe('ok');
    expect((await answer.body.binary()).toString()).toBe('ok');
    expect(await new Response(answer.body.stream()).text()).toBe('ok');
  });

  it('sends nothing if the permit has ended', async () => {
    const { link, seen } = linked();
    await expect(link.send(requestTo('/version'), expired)).rejects.toBeInstanceOf(ProofExpired);
    expect(seen).toEqual([]);
  });

  it('reports no unverified certificate, and has nothing to open or close', async () => {
    const { link, seen } = linked();
    expect([link.unverified(), await link.connect(3), await link.close()]).toEqual([false, undefined, undefined]);
    expect(seen).toEqual([]);
  });

  it('rejects a body that is not text', async () => {
    const { link, seen } = linked();
    const request = requestTo('/api/v1/nodes', HttpMethod.POST);
    request.setBody(new URLSearchParams('a=1'));
    await expect(link.send(request, null)).rejects.toThrow(InvalidInput);
    expect(seen).toEqual([]);
  });
});

describe('a link over HTTPS', () => {
  const settings = { server: 'https://127.0.0.1:1', authentication: bearerAuthentication(async () => 'secret') };

  it('can be closed although its pool could not be created', async () => {
    const link = httpsLink({ ...settings, agent: async () => Promise.reject(new Error('no certificate')) });
    await expect(link.close()).resolves.toBeUndefined();
  });

  it('says whether it does not verify the certificate of the server', () => {
    const agent = async () => new Agent(POOL_OPTIONS);
    expect(httpsLink({ ...settings, agent }).unverified()).toBe(false);
    expect(httpsLink({ ...settings, agent, unverified: true }).unverified()).toBe(true);
  });

  it('sends a request without a permit, and closes the connections that it opened ahead', async () => {
    let connections = 0;
    const { server, url } = await serving((request, response) => response.end(`${request.method} ${request.url}`));
    server.on('connection', () => (connections += 1));
    const pool = new Agent(POOL_OPTIONS);
    const link = httpsLink({ ...settings, server: url, agent: async () => pool });
    await link.connect(1);
    await link.connect(1);
    await expect.poll(() => connections).toBe(1);
    const answer = await link.send(new RequestContext(`${url}/version?x=1`, HttpMethod.GET), null);
    expect(await answer.body.text()).toBe('GET /version?x=1');
    await link.close();
    await expect.poll(() => [pool.sockets, pool.freeSockets]).toEqual([{}, {}]);
  });

  it('closes a connection that it opened ahead and that no request has used', async () => {
    const { server, url } = await serving((_request, response) => response.end());
    const connected = once(server, 'connection');
    const pool = new Agent(POOL_OPTIONS);
    const link = httpsLink({ ...settings, server: url, agent: async () => pool });
    await link.connect(1);
    const [socket] = await connected;
    const gone = once(socket, 'close', { signal: AbortSignal.timeout(5_000) });
    await link.close();
    await gone;
    expect(socket.destroyed).toBe(true);
  });
});
