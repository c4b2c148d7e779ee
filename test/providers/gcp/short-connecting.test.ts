import { once } from 'node:events';
import { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createServer, Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { connectingIsShort } from '../../../providers/gcp/short-connecting.ts';

const listening = async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
};

/** An agent whose connections are these. */
const agentOf = (connect: () => Socket): Agent => {
  const agent = new Agent();
  agent.createConnection = connect;
  return connectingIsShort(agent, 20);
};

describe('an agent that gives up connecting', () => {
  it('ends a connection that is not made in time', async () => {
    const socket = new Socket();
    const failed = once(socket, 'error');
    agentOf(() => socket).createConnection({});
    expect(String((await failed)[0])).toMatch(/no connection within 20 ms/);
    expect(socket.destroyed).toBe(true);
  });

  it('counts the handshake of TLS in', async () => {
    const { server, port } = await listening();
    const socket = connectingIsShort(new HttpsAgent(), 20).createConnection({ host: '127.0.0.1', port });
    if (!socket) throw new Error('no socket');
    expect(String((await once(socket, 'error'))[0])).toMatch(/no connection within 20 ms/);
    server.close();
  });

  it('leaves one alone that was made, however long it lasts', async () => {
    const { server, port } = await listening();
    const socket = new Socket();
    agentOf(() => socket.connect(port, '127.0.0.1')).createConnection({});
    await once(socket, 'connect');
    await once(AbortSignal.timeout(60), 'abort');
    expect(socket.destroyed).toBe(false);
    socket.destroy();
    server.close();
  });
});
