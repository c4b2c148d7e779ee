import { request } from 'node:https';
import { createServer, type Server } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { promptAgent } from '../../../providers/azure/prompt-agent.ts';

/** Takes connections, and never says a word. */
const silent = async (): Promise<{ readonly server: Server; readonly port: number }> => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
};

let open: Server | undefined;
afterEach(() => open?.close());

it('gives up a connection that does not come to stand in time', async () => {
  const { server, port } = await silent();
  open = server;
  const agent = promptAgent(20);
  const asked = new Promise((resolve, reject) => request({ host: '127.0.0.1', port, agent }, resolve).on('error', reject).end());
  await expect(asked).rejects.toThrow('no connection within 20 ms');
  agent.destroy();
});
