import { describe, expect, it } from 'vitest';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import { ProofExpired } from '../../fencing/model/errors.ts';
import type { Permit } from '../../fencing/model/permit.ts';
import { apiServerOf } from '../../sandbox/cluster/api/server.ts';
import { emptyCluster, storeOf } from '../../sandbox/cluster/store.ts';
import { createConnection } from '../../kubernetes/connection.ts';
import { transportLink } from '../../kubernetes/exchange.ts';
import { refreshingLink } from '../../kubernetes/access.ts';
import { readLease } from '../../kubernetes/leases.ts';
import { proof } from '../permits.ts';
import { inProcess } from '../sandbox/in-process.ts';

/** An API server that accepts one token, and a secret that holds one. Both change. */
const rotating = async () => {
  const clock = { now: 1_000_000 };
  const users: Record<string, { name: string; rules: 'all' }> = { first: { name: 'us', rules: 'all' } };
  const server = apiServerOf({ store: storeOf(emptyCluster()), now: () => clock.now, users });
  const secret = { token: 'first', read: 0, reading: (): void => undefined };
  const open = async () => {
    secret.read += 1;
    secret.reading();
    return transportLink(inProcess(server), secret.token);
  };
  const link = await refreshingLink({ open, now: () => clock.now, keptFor: 600_000 });
  const never = () => new AbortController().signal;
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
  return { clock, secret, rotate, order, ask: () => readLease(connection.reader(never()), 'node') };
};

describe('credentials from a secret', () => {
  it('are read once as long as they work', async () => {
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

  it('are not read again and again if the secret holds wrong ones', async () => {
    const { ask, secret, clock, rotate } = await rotating();
    clock.now += 60_000;
    rotate('second');
    await expect(ask()).rejects.toThrow(/401/);
    await expect(ask()).rejects.toThrow(/401/);
    expect(secret.read).toBe(2);
  });

  it('that are read again for a destructive call are too late once its proof has ended', async () => {
    const { order, secret, clock, rotate } = await rotating();
    const { permit, end } = proof();
    clock.now += 60_000;
    rotate('second');
    Object.assign(secret, { token: 'second', reading: end });
    await expect(order(permit)).rejects.toThrow(ProofExpired);
    expect(secret.read).toBe(2);
  });
});
