import { describe, expect, it } from 'vitest';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import { InvalidConfiguration, ProofExpired, Unavailable } from '../../fencing/model/errors.ts';
import type { Permit } from '../../fencing/model/permit.ts';
import { apiServerOf } from '../../sandbox/cluster/api/server.ts';
import { emptyCluster, storeOf } from '../../sandbox/cluster/store.ts';
import { createConnection } from '../../kubernetes/connection.ts';
import { type Transport, transportLink } from '../../kubernetes/exchange.ts';
import { refreshingLink } from '../../kubernetes/refreshing-link.ts';
import { readLease } from '../../kubernetes/leases.ts';
import { readNodePods } from '../../kubernetes/pods.ts';
import { proof } from '../permits.ts';
import { inProcess } from '../sandbox/in-process.ts';

/** An API server that accepts one token at one address, and a secret that holds both. They change. */
const rotating = async (server = 'https://first') => {
  const clock = { now: 1_000_000 };
  const users: Record<string, { name: string; rules: 'all' }> = { first: { name: 'us', rules: 'all' } };
  const api = apiServerOf({ store: storeOf(emptyCluster()), now: () => clock.now, users });
  const secret = {
    token: 'first',
    server,
    read: 0,
    closed: [] as number[],
    reading: async (): Promise<void> => undefined,
  };
  const asked: string[] = [];
  const answersAt = { host: new URL(server).host, later: async (): Promise<void> => undefined };
  const open = async () => {
    const nth = (secret.read += 1);
    await secret.reading();
    const behindPrefix: Transport = (request, signal) =>
      inProcess(api)({ ...request, path: request.path.replace(/^\/k8s(\/clusters\/\w+)?/, '') }, signal);
    const wire = transportLink(behindPrefix, secret.token);
    const send: typeof wire.send = async (request, permit) => {
      const { host, href } = new URL(request.getUrl());
      asked.push(href);
      if (host !== answersAt.host) throw new Error(`connect ECONNREFUSED ${host}`);
      const answer = await wire.send(request, permit);
      await answersAt.later();
      return answer;
    };
    return { ...wire, server: secret.server, send, close: async () => void secret.closed.push(nth) };
  };
  const never = () => new AbortController().signal;
  const late = { signal: new AbortController(), within: 0 };
  const deadline = (ms: number) => {
    late.within = ms;
    return late.signal.signal;
  };
  const link = await refreshingLink({ open, clock: { now: () => clock.now, deadline }, keptFor: 600_000 });
  const connection = createConnection(
    link,
    { now: () => clock.now, sleep: async () => undefined, deadline: never },
    1_000,
  );
  const rotate = (token: string) => {
    for (const known of Object.keys(users)) delete users[known];
    users[token] = { name: 'us', rules: 'all' };
  };
  const order = (permit: Permit) =>
    connection.writer(permit, never()).write(CoreV1Api, (core) => core.deleteNode({ name: 'node' }));
  const ask = () => readLease(connection.reader(never()), 'node');
  const askPods = () => readNodePods(connection.reader(never()), 'node');
  return { clock, secret, rotate, order, ask, askPods, asked, answersAt, late, close: link.close };
};

describe('credentials from a secret', () => {
  it('are read once while they work', async () => {
    const { ask, secret, clock } = await rotating();
    for (let minute = 0; minute < 9; minute += 1) {
      await ask();
      clock.now += 60_000;
    }
    expect(secret.read).toBe(1);
  });

  it('are read again after ten minutes', async () => {
    const { ask, secret, clock } = await rotating();
    clock.now += 600_000;
    await ask();
    expect(secret.read).toBe(2);
  });

  it('are read again at once when the API server rejects them, and the call succeeds', async () => {
    const { ask, secret, clock, rotate } = await rotating();
    clock.now += 60_000;
    rotate('second');
    secret.token = 'second';
    expect(await ask()).toBeNull();
    expect(secret.read).toBe(2);
  });

  it('are not read again and again if the secret contains wrong ones', async () => {
    const { ask, secret, clock, rotate } = await rotating();
    clock.now += 60_000;
    rotate('second');
    await expect(ask()).rejects.toThrow(/401/);
    await expect(ask()).rejects.toThrow(/401/);
    expect(secret.read).toBe(2);
  });

  it('that are read again for a destructive call come too late once the proof has ended', async () => {
    const { order, secret, clock, rotate } = await rotating();
    const { permit, end } = proof();
    clock.now += 60_000;
    rotate('second');
    Object.assign(secret, { token: 'second', reading: end });
    await expect(order(permit)).rejects.toThrow(ProofExpired);
    expect(secret.read).toBe(2);
  });

  it.each([new Unavailable('the store is down'), new InvalidConfiguration(['the secret is no kubeconfig'])])(
    'stay in use while they cannot be read again, which is tried every half minute (%s)',
    async (error) => {
      const { ask, secret, clock } = await rotating();
      secret.reading = () => {
        throw error;
      };
      clock.now += 600_000;
      expect([await ask(), await ask(), secret.read]).toEqual([null, null, 2]);
      clock.now += 29_999;
      expect([await ask(), secret.read]).toEqual([null, 2]);
      clock.now += 1;
      expect([await ask(), secret.read]).toEqual([null, 3]);
    },
  );

  it('that the API server rejects do not stay in use if they cannot be read again', async () => {
    const { ask, secret, clock, rotate } = await rotating();
    clock.now += 60_000;
    rotate('second');
    secret.reading = () => {
      throw new Unavailable('the store is down');
    };
    await expect(ask()).rejects.toThrow('the store is down');
  });

  it('that never arrive hold no request longer than the time for them, and are asked for again', async () => {
    const { ask, secret, clock, late } = await rotating();
    clock.now += 600_000;
    const asked = Promise.withResolvers<void>();
    secret.reading = () => {
      asked.resolve();
      return new Promise(() => undefined);
    };
    const waiting = ask();
    await asked.promise;
    late.signal.abort();
    await expect(waiting).resolves.toBeNull();
    expect(late.within).toBeLessThanOrEqual(20_000);
    late.signal = new AbortController();
    secret.reading = async () => undefined;
    clock.now += 30_000;
    await ask();
    expect(secret.read).toBe(3);
  });

  it('are not fresh if they could not be read again, so the next rejection reads them at once', async () => {
    const { ask, secret, clock, rotate } = await rotating();
    clock.now += 600_000;
    secret.reading = () => Promise.reject(new Unavailable('no answer'));
    await ask();
    rotate((secret.token = 'second'));
    secret.reading = async () => undefined;
    await ask();
    expect(secret.read).toBe(3);
  });

  it('are read once for all requests that need new ones', async () => {
    const { ask, secret, clock, rotate } = await rotating();
    clock.now += 60_000;
    rotate('second');
    secret.token = 'second';
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([null, null, null]);
    expect(secret.read).toBe(2);
    clock.now += 600_000;
    await Promise.all([ask(), ask(), ask()]);
    expect(secret.read).toBe(3);
  });
});

it('an answer to old credentials that arrives after the new ones is not the last word', async () => {
  const { ask, secret, clock, rotate, answersAt } = await rotating();
  clock.now += 60_000;
  rotate('second');
  secret.token = 'second';
  const held = Promise.withResolvers<void>();
  answersAt.later = async () => {
    answersAt.later = async () => undefined;
    await held.promise;
  };
  const slow = ask();
  await new Promise(setImmediate);
  expect(await ask()).toBeNull();
  held.resolve();
  expect(await slow).toBeNull();
  expect([secret.read, secret.closed]).toEqual([2, [1]]);
});

it('the connections of a link are closed when it is replaced, and those of the present one at the end', async () => {
  const { ask, secret, clock, close } = await rotating();
  clock.now += 600_000;
  await ask();
  expect(secret.closed).toEqual([1]);
  await close();
  expect(secret.closed).toEqual([1, 2]);
});

describe('the address of an API server in a secret', () => {
  const PATH = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node';

  it.each([
    ['https://first', 'https://second:6443', `https://second:6443${PATH}`],
    ['https://first/k8s/clusters/a', 'https://second/k8s/clusters/b', `https://second/k8s/clusters/b${PATH}`],
    ['https://first', 'https://second/k8s/', `https://second/k8s${PATH}`],
  ])('may change with the credentials (%s → %s)', async (before, after, asks) => {
    const { ask, asked, secret, clock, answersAt } = await rotating(before);
    await ask();
    Object.assign(secret, { server: after });
    answersAt.host = new URL(after).host;
    clock.now += 600_000;
    expect(await ask()).toBeNull();
    expect(asked.at(-1)).toBe(asks);
    expect(await ask()).toBeNull();
    expect([asked.at(-1), secret.read]).toEqual([asks, 2]);
  });

  it('may change without a change of the request: it still asks about the pods of one Node', async () => {
    const { askPods, asked, secret, clock, answersAt } = await rotating();
    await askPods();
    Object.assign(secret, { server: 'https://second' });
    answersAt.host = 'second';
    clock.now += 600_000;
    await askPods();
    expect(asked.map((url) => url.replace(/^https:\/\/\w+/, ''))).toEqual([
      expect.stringContaining('fieldSelector=spec.nodeName%3Dnode'),
      asked[0]?.replace('https://first', ''),
    ]);
  });

  it('may change back while a request waits: new credentials do not reach the server in between', async () => {
    const { ask, asked, secret, clock, rotate, answersAt } = await rotating();
    clock.now += 600_000;
    Object.assign(secret, { server: 'https://second' });
    answersAt.host = 'second';
    rotate('third');
    answersAt.later = async () => {
      clock.now += 10_000;
      answersAt.host = 'first';
      Object.assign(secret, { token: 'third', server: 'https://first' });
    };
    expect(await ask()).toBeNull();
    expect(asked.map((url) => new URL(url).host)).toEqual(['second', 'first']);
  });

  it('may change together with a token that the old server no longer accepts', async () => {
    const { ask, asked, secret, clock, rotate, answersAt } = await rotating();
    clock.now += 60_000;
    rotate('second');
    secret.reading = async () => void (answersAt.host = 'second');
    Object.assign(secret, { token: 'second', server: 'https://second' });
    expect(await ask()).toBeNull();
    expect(asked.map((url) => new URL(url).host)).toEqual(['first', 'second']);
  });

  it('is read again after a request without an answer, at most every half minute', async () => {
    const { ask, secret, clock, answersAt } = await rotating();
    answersAt.host = 'second';
    await expect(ask()).rejects.toThrow(/ECONNREFUSED first/);
    expect(secret.read).toBe(1);
    clock.now += 30_000;
    await expect(ask()).rejects.toThrow(/ECONNREFUSED first/);
    expect(secret.read).toBe(2);
    clock.now += 29_999;
    secret.server = 'https://second';
    await expect(ask()).rejects.toThrow(/ECONNREFUSED first/);
    clock.now += 1;
    expect(await ask()).toBeNull();
    expect(secret.read).toBe(3);
  });

  it('is not read again because a proof has ended', async () => {
    const { order, ask, secret, clock } = await rotating();
    const { permit, end } = proof();
    end();
    await expect(order(permit)).rejects.toThrow(ProofExpired);
    clock.now += 30_000;
    await ask();
    expect(secret.read).toBe(1);
  });
});
