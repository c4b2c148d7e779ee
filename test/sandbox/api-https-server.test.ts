import { request } from 'node:https';
import { Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import type { KubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { ADMIN_TOKEN } from '../../sandbox/cluster/api/server.ts';
import { freshApi } from './api-client.ts';

let apiServer: KubernetesServer | undefined;
afterEach(() => apiServer?.close());

const get = async (
  url: string,
  ca: string,
  agent: Agent,
): Promise<{ readonly status: number | undefined; readonly body: string }> => {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { ca, agent, headers: { authorization: `Bearer ${ADMIN_TOKEN}` } }, resolve)
      .on('error', reject)
      .end();
  });
  return { status: response.statusCode, body: await text(response) };
};

it('the HTTPS server serves the same store over verified TLS, and counts its requests', async () => {
  const api = freshApi();
  api.ask('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } });
  apiServer = await openKubernetesServer(api.server);
  const agent = new Agent({ keepAlive: true });
  const first = await get(`${apiServer.url}/api/v1/nodes/n1`, apiServer.caData, agent);
  const second = await get(`${apiServer.url}/api/v1/nodes/n2`, apiServer.caData, agent);
  agent.destroy();
  expect([first.status, second.status]).toEqual([200, 404]);
  expect(JSON.parse(first.body)).toMatchObject({ metadata: { name: 'n1' } });
  expect(apiServer.traffic()).toMatchObject({ connections: 1, requests: 2 });
  expect(apiServer.traffic().bytesWritten).toBeGreaterThan(first.body.length);
});

it('the HTTPS server breaks the connection if a fault says so', async () => {
  apiServer = await openKubernetesServer(freshApi({ faults: { before: () => 'drop' } }).server);
  await expect(get(`${apiServer.url}/version`, apiServer.caData, new Agent())).rejects.toThrow(/hang up|ECONNRESET/);
});
