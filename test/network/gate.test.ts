import { readFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStandIn, type StandIn } from '../providers/stand-in.ts';
import { openGate, type Gate } from './gate.ts';

let server: StandIn;
let gate: Gate;
let agent: Agent;
let port: number;

beforeEach(async () => {
  server = await openStandIn(({ url }) => ({ body: url === '/long' ? 'x'.repeat(1_000_000) : '{}' }));
  gate = openGate(() => undefined);
  agent = new Agent({ keepAlive: true, maxSockets: 2 });
  port = (await gate.openProxy(Number(new URL(server.url).port), 2)).port;
});

afterEach(async () => {
  agent.destroy();
  gate.close();
  await server.close();
});

const ask = (path = '/'): Promise<string> =>
  new Promise((resolve, reject) => {
    get({ port, agent, path, host: '127.0.0.1' }, (response) => resolve(text(response))).on('error', reject);
  });

/** How many rounds the work takes. */
const roundsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const before = gate.round();
  await work();
  return gate.round() - before;
};

const all = (requests: number): Promise<unknown> => Promise.all(Array.from({ length: requests }, () => ask()));

describe('a round of the gate', () => {
  it('is one trip, and a new connection takes its own round before that', async () => {
    expect(await roundsOf(ask)).toBe(3);
    expect(await roundsOf(ask)).toBe(1);
  });

  it('is shared by requests that are sent at the same time', async () => {
    await all(2);
    expect(await roundsOf(() => all(2))).toBe(1);
  });

  it('is not shared by a request that waits for a connection of the pool', async () => {
    await all(2);
    expect(await roundsOf(() => all(5))).toBe(3);
  });

  it('contains a whole answer, however long it is', async () => {
    await ask();
    expect(await roundsOf(() => ask('/long'))).toBe(1);
  });

  it('does not end while the client still works on the last answers', async () => {
    await all(2);
    const worksFirst = async (): Promise<unknown> => {
      for (let nth = 0; nth < 20; nth += 1) await readFile(fileURLToPath(import.meta.url));
      return ask();
    };
    expect(await roundsOf(() => Promise.all([ask(), worksFirst()]))).toBe(1);
  });
});
