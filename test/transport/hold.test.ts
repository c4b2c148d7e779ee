import { once } from 'node:events';
import { Agent, type AgentOptions, type ClientRequest, createServer, request as requestBy } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { ProofExpired, Unavailable } from '../../fencing/model/errors.ts';
import { granted, proof } from '../permits.ts';
import { answered, closeAll, closing, failure, portOf, post, sent, serving } from './orders.ts';

/** What happens to the connection for which a destructive call waits, or on which it was sent. */

afterEach(closeAll);

const agentWith = (options: AgentOptions): Agent => {
  const agent = new Agent(options);
  onTestFinished(() => agent.destroy());
  return agent;
};

const socketsOf = ({ sockets }: Agent): readonly Socket[] => Object.values(sockets).flatMap((some) => some ?? []);

/** A server that counts its connections, and those that were reset. */
const counting = async () => {
  const seen = { connections: 0, resets: 0, closed: 0 };
  const server = createServer((_request, response) => void response.end('done'));
  server.on('connection', (socket) => {
    seen.connections += 1;
    socket.on('error', () => (seen.resets += 1)).on('close', () => (seen.closed += 1));
  });
  closing({ close: () => (server.close(), server.closeAllConnections()) });
  return { seen, port: await portOf(server) };
};

describe('a destructive call that has not been sent', () => {
  it('knows that, and closes a connection that is still being opened', async () => {
    const looked = Promise.withResolvers<void>();
    const agent = agentWith({ keepAlive: true, lookup: () => looked.resolve() });
    const { permit, end } = proof();
    const orders: { request: ClientRequest; failed: Promise<unknown> }[] = [];
    const failed = sent(permit, ({ through }) => {
      const request = requestBy({ host: 'cloud.example', agent: through(agent), method: 'POST' }).end();
      const answer = answered(request);
      orders.push({ request, failed: failure(answer) });
      return answer;
    });
    await looked.promise;
    const [socket] = socketsOf(agent);
    end();
    expect(await failed).toBeInstanceOf(ProofExpired);
    expect(await orders[0]?.failed).toBeInstanceOf(ProofExpired);
    expect(orders[0]?.request.destroyed).toBe(true);
    expect(socket?.destroyed).toBe(true);
  });

  it('gives a connection that is still being opened to nobody: the next request gets its own', async () => {
    const { port } = await counting();
    const looked = Promise.withResolvers<void>();
    let lookups = 0;
    const agent = agentWith({
      maxSockets: 1,
      lookup: (_name, _options, found) => {
        lookups += 1;
        if (lookups === 1) looked.resolve();
        else found(null, [{ address: '127.0.0.1', family: 4 }]);
      },
    });
    const ask = (by: Agent): Promise<string> =>
      answered(requestBy({ host: 'cloud.example', port, agent: by, method: 'POST' }).end());
    const { permit, end } = proof();
    const failed = sent(permit, ({ through }) => ask(through(agent)));
    await looked.promise;
    const next = ask(agent);
    end();
    expect(await failed).toBeInstanceOf(ProofExpired);
    expect(await next).toBe('done');
  });

  it('fails at once if its connection closes before it is open', async () => {
    const looked = Promise.withResolvers<void>();
    const agent = agentWith({ lookup: () => looked.resolve() });
    const failed = sent(granted, ({ through }) =>
      answered(requestBy({ host: 'cloud.example', agent: through(agent), method: 'POST' }).end()),
    );
    await looked.promise;
    agent.destroy();
    expect(await failed).toMatchObject({ message: 'the connection closed before it was established' });
  });

  it('fails with the error of its connection', async () => {
    const server = createTcpServer();
    const port = await portOf(server);
    server.close();
    const failed = sent(granted, ({ through }) => post(port, through(agentWith({}))));
    expect(await failed).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('gives its connection to the request that waits for one, if its permit has ended', async () => {
    const { seen, port } = await counting();
    const agent = agentWith({ keepAlive: true, maxSockets: 1 });
    await post(port, agent);
    const { permit, age } = proof();
    age();
    const failed = sent(permit, ({ through }) => post(port, through(agent)));
    const next = post(port, agent);
    expect(await failed).toBeInstanceOf(ProofExpired);
    expect(await next).toBe('done');
    expect(seen.connections).toBe(1);
  });
});

describe('a destructive call that has been sent', () => {
  /** Sends a destructive call that gets no answer, and returns its end. */
  const unanswered = async (place: object, agent: Agent, asked: Promise<unknown>) => {
    const { permit, end } = proof();
    const failed = sent(permit, ({ through }) =>
      answered(requestBy({ ...place, method: 'POST', agent: through(agent) }).end()),
    );
    await asked;
    return { failed, end };
  };

  const silent = () => {
    const asked = Promise.withResolvers<void>();
    return { asked: asked.promise, listener: () => asked.resolve() };
  };

  it('has an unknown result if its connection is gone, too', async () => {
    const { asked, listener } = silent();
    const agent = agentWith({});
    const { failed, end } = await unanswered({ port: await serving(listener) }, agent, asked);
    agent.destroy();
    end();
    expect(await failed).toBeInstanceOf(Unavailable);
  });

  it('is ended if its connection cannot be reset, such as a Unix socket', async () => {
    const { asked, listener } = silent();
    const server = createServer(listener);
    const socketPath = join(tmpdir(), `cloudfence-hold-${process.pid}.sock`);
    closing({ close: () => (server.close(), server.closeAllConnections()) });
    const [come] = [once(server, 'connection'), await once(server.listen(socketPath), 'listening')];
    const { failed, end } = await unanswered({ socketPath }, agentWith({}), asked);
    const [socket] = await come;
    const closed = once(socket, 'close');
    end();
    expect(await failed).toBeInstanceOf(Unavailable);
    await closed;
  });

  it('does not reset its connection once it was answered, because another call may use that by then', async () => {
    const { seen, port } = await counting();
    const agent = agentWith({ keepAlive: true });
    const { permit, end } = proof();
    await sent(permit, ({ through }) => {
      const request = requestBy({ host: '127.0.0.1', port, method: 'POST', agent: through(agent) });
      request.once('response', (answer) => answer.once('end', end).resume());
      return answered(request.end());
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(await post(port, agent)).toBe('done');
    expect(seen).toEqual({ connections: 1, resets: 0, closed: 0 });
    agent.destroy();
    await expect.poll(() => seen).toEqual({ connections: 1, resets: 0, closed: 1 });
  });

  it('leaves no listener on its connection', async () => {
    const { port } = await counting();
    const listenersAfter = async (through: (agent: Agent) => Agent): Promise<unknown> => {
      const agent = agentWith({ keepAlive: true });
      await post(port, through(agent));
      const [socket] = Object.values(agent.freeSockets).flatMap((some) => some ?? []);
      return ['connect', 'error', 'close'].map((name) => socket?.listenerCount(name));
    };
    const ordered = await sent(granted, async ({ through }) => JSON.stringify(await listenersAfter(through)));
    expect(ordered).toEqual(['done', JSON.stringify(await listenersAfter((agent) => agent))]);
  });
});
