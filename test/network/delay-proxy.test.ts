import { describe, expect, it } from 'vitest';
import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import { openStandIn } from '../providers/stand-in.ts';
import { openDelayProxy } from './delay-proxy.ts';

describe('a delay proxy in front of a server', () => {
  it('passes everything, complete and in order', async () => {
    const server = await openStandIn(({ url }) => ({ body: url.repeat(100_000) }));
    const proxy = await openDelayProxy(Number(new URL(server.url).port), { roundTrip: 10, service: 5, opening: 2 });
    const agent = new Agent({ keepAlive: true });
    const ask = (path: string): Promise<string> =>
      new Promise((resolve, reject) => {
        get({ host: '127.0.0.1', port: proxy.port, agent, path }, (response) => resolve(text(response))).on(
          'error',
          reject,
        );
      });
    expect(await ask('/one')).toBe('/one'.repeat(100_000));
    expect(await ask('/two')).toBe('/two'.repeat(100_000));
    expect(proxy.bytes()).toBeGreaterThan(800_000);
    agent.destroy();
    proxy.close();
    await server.close();
  });
});
