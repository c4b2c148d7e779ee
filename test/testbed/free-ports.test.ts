import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePorts } from './free-ports.ts';

it('free ports are not those of outgoing connections, differ for all callers, and can be listened on', async () => {
  const blocks = await Promise.all(Array.from({ length: 60 }, () => freePorts(8)));
  const ports = blocks.flat();
  expect(new Set(ports).size).toBe(60 * 8);
  expect(Math.min(...ports)).toBeGreaterThan(20_000);
  expect(Math.max(...ports)).toBeLessThan(32_768);
  for (const port of ports.slice(0, 8)) {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
  }
});

it('more free ports than a block has are an error, and are not searched for', async () => {
  await expect(freePorts(16)).rejects.toThrow('found no block with 16 free ports');
});
