import { once } from 'node:events';
import { Agent, request as requestBy } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { ProofExpired, Unavailable } from '../../fencing/model/errors.ts';
import { proof } from '../permits.ts';
import { answered, closeAll, closing, failure, portOf, post, sent, serving } from './orders.ts';

/** Where a request may wait, and where its bytes may be, on the way to a server. Each case uses real sockets. */

afterEach(closeAll);

describe('a destructive call that waits', () => {
  it('for one of few connections is not sent over the next free one, and takes none away', async () => {
    const arrived: string[] = [];
    const waiting = Promise.withResolvers<() => void>();
    const port = await serving((request, response) => {
      arrived.push(request.url ?? '');
      if (request.url === '/first') waiting.resolve(() => void response.end());
      else response.end();
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = post(port, agent, '/first');
    const release = await waiting.promise;
    const { permit, end } = proof();
    const failed = sent(permit, ({ through }) => post(port, through(agent), '/order'));
    end();
    expect(await failed).toBeInstanceOf(ProofExpired);
    release();
    await first;
    await post(port, agent, '/next');
    expect(arrived).toEqual(['/first', '/next']);
    agent.destroy();
  });

  it.each(['name', 'connection'])('for a %s is not sent if its proof ends', async (what) => {
    const asked = Promise.withResolvers<void>();
    const lookup = (): void => asked.resolve();
    const createConnection = (): undefined => {
      asked.resolve();
      return undefined;
    };
    const agent = what === 'name' ? new Agent({ lookup }) : Object.assign(new Agent(), { createConnection });
    const { permit, end } = proof();
    const failed = sent(permit, ({ through }) =>
      answered(requestBy({ host: 'cloud.example', agent: through(agent), method: 'POST' }).end()),
    );
    await asked.promise;
    end();
    expect(await failed).toBeInstanceOf(ProofExpired);
    agent.destroy();
  });

  it('is not sent afterwards if its SDK has given up', async () => {
    const arrived: string[] = [];
    const waiting = Promise.withResolvers<() => void>();
    const port = await serving((request, response) => {
      arrived.push(request.url ?? '');
      if (request.url === '/first') waiting.resolve(() => void response.end());
      else response.end();
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = post(port, agent, '/first');
    const release = await waiting.promise;
    const failed = await sent(proof().permit, ({ through }) => {
      void failure(post(port, through(agent), '/order'));
      return Promise.reject(new Error('enough'));
    });
    expect(failed).toMatchObject({ message: 'enough' });
    release();
    await first;
    await post(port, agent, '/next');
    expect(arrived).toEqual(['/first', '/next']);
    agent.destroy();
  });
});

describe('a destructive call that has been sent', () => {
  it('removes what is still in its buffers if the server does not read', async () => {
    const come = Promise.withResolvers<Socket>();
    const server = createTcpServer({ pauseOnConnect: true }, (socket) => come.resolve(socket));
    closing(server);
    const port = await portOf(server);
    const agent = new Agent();
    const { permit, end } = proof();
    const body = `${'x'.repeat(20_000_000)}LAST`;
    const failed = sent(permit, ({ through }) => post(port, through(agent), '/order', body));
    const socket = await come.promise;
    await expect.poll(() => Object.values(agent.sockets).flat()[0]?.bytesWritten ?? 0).toBeGreaterThan(0);
    end();
    expect(await failed).toBeInstanceOf(Unavailable);
    let got = '';
    const broken = new Promise((resolve) => socket.once('close', resolve));
    const reset = once(socket, 'error');
    socket.on('data', (chunk: Buffer) => (got += chunk.toString())).resume();
    expect(await reset).toMatchObject([{ code: 'ECONNRESET' }]);
    await broken;
    expect(got.length).toBeLessThan(1_000_000);
    expect(got).not.toContain('LAST');
  });

  it('whose answer began in time is still unknown if the rest of it did not come', async () => {
    const begun = Promise.withResolvers<void>();
    const port = await serving((_request, response) => {
      response.writeHead(200, { 'content-length': 10 }).write('half');
      begun.resolve();
    });
    const agent = new Agent();
    const { permit, end } = proof();
    const failed = sent(permit, ({ through }) => post(port, through(agent)));
    await begun.promise;
    end();
    expect(await failed).toMatchObject({
      name: 'Unavailable',
      message: expect.stringMatching(/the order .* the next look shows/),
    });
  });

  it('that was answered keeps its connection for the next call', async () => {
    let connections = 0;
    const port = await serving((request, response) => void text(request).then(() => response.end('done')));
    const agent = new Agent({ keepAlive: true });
    const createConnection = agent.createConnection.bind(agent);
    agent.createConnection = (...args) => {
      connections += 1;
      return createConnection(...args);
    };
    const { permit, end } = proof();
    expect(await sent(permit, ({ through }) => post(port, through(agent), '/', 'order'))).toEqual(['done', 'done']);
    end();
    expect(await post(port, agent)).toBe('done');
    expect(connections).toBe(1);
    agent.destroy();
  });

  it('that its SDK sends twice is checked twice', async () => {
    const arrived: string[] = [];
    const port = await serving((request, response) => {
      arrived.push(request.url ?? '');
      response.end();
    });
    const agent = new Agent({ keepAlive: true });
    const { permit, age } = proof();
    const failed = await sent(permit, async ({ through }) => {
      await post(port, through(agent), '/order');
      age();
      return post(port, through(through(agent)), '/again');
    });
    expect(failed).toBeInstanceOf(ProofExpired);
    expect(arrived).toEqual(['/order']);
    agent.destroy();
  });
});
