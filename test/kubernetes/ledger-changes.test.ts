import { describe, expect, it } from 'vitest';
import { PermissionDenied, Unavailable } from '../../fencing/model/errors.ts';
import { createCluster } from '../../kubernetes/cluster.ts';
import { transportLink, type Transport } from '../../kubernetes/exchange.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { ADMIN_TOKEN, type Faults } from '../../sandbox/cluster/api/server.ts';
import { makeNode, unhurried } from '../contract/cluster/harness.ts';
import { FENCE_TOKEN } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { clusterOver, faultyCluster, patientClock } from './wire.ts';

/** The changes that the runs of one process write together, and those of several processes. */

const LEDGER = '/api/v1/namespaces/kube-system/configmaps/cloudfence-ledger';

type ApiRequest = Parameters<NonNullable<Faults['before']>>[0];

const isWrite = ({ method, path }: ApiRequest): boolean => method === 'PATCH' && path.startsWith(LEDGER);

const ledgerWith = async (faults: Faults = {}) => {
  const writes: ApiRequest[] = [];
  const stage = faultyCluster({
    ...faults,
    before: (request) => {
      if (isWrite(request)) writes.push(request);
      return faults.before?.(request);
    },
  });
  for (let count = 0; count < 10; count += 1) await makeNode(stage);
  const lines = async (): Promise<readonly string[]> => {
    const { data } = (await stage.admin('GET', LEDGER)).body;
    const fences = typeof data === 'object' && data !== null && 'fences' in data ? String(data.fences) : '';
    return fences.split('\n').filter((line) => line !== '');
  };
  return { ...stage, writes, lines };
};

const wanted = (nth: number, share = 9) => ({
  machine: `i-${nth}`,
  boot: 'boot-1',
  cap: { share, atOnce: share },
  onlyAsked: false,
});
const claimsOn = (cluster: Pick<Cluster, 'reserve'>, count: number, from = 0, share = 9) =>
  Array.from({ length: count }, (_, nth) => cluster.reserve(wanted(from + nth, share), unhurried()));

describe('the claims of one process', () => {
  it('that arrive at the same time take two writes: one for the first, and one for all others', async () => {
    const { cluster, writes, lines } = await ledgerWith();
    const says = await Promise.all(claimsOn(cluster, 30));
    expect(says.every(({ admitted }) => admitted)).toBe(true);
    expect(await lines()).toHaveLength(30);
    expect(writes).toHaveLength(2);
  });

  it('are counted one after the other, although they are written together', async () => {
    const { cluster, lines } = await ledgerWith();
    const says = await Promise.all(claimsOn(cluster, 30, 0, 0.3));
    expect(says.map(({ admitted }) => admitted).filter(Boolean)).toHaveLength(3);
    expect(await lines()).toHaveLength(3);
  });

  it('all end, at whichever moment one follows another', async () => {
    const { cluster } = await ledgerWith();
    const ask = () => cluster.reserve({ ...wanted(1), onlyAsked: true }, unhurried());
    for (let moments = 0; moments < 300; moments += 1) {
      const first = ask();
      for (let moment = 0; moment < moments; moment += 1) await Promise.resolve();
      expect(await Promise.all([first, ask()])).toMatchObject([{ admitted: true }, { admitted: true }]);
    }
  });

  it('continue after the end of the run whose call writes for all', async () => {
    const over = new AbortController();
    const { cluster, lines } = await ledgerWith({
      before: (request) => {
        if (isWrite(request)) over.abort(new Error('the time is up'));
        return undefined;
      },
    });
    const first = cluster.reserve(wanted(100), over.signal);
    const others = claimsOn(cluster, 5);
    await expect(first).rejects.toThrow(Unavailable);
    expect((await Promise.all(others)).every(({ admitted }) => admitted)).toBe(true);
    expect((await lines()).length).toBeGreaterThanOrEqual(5);
  });

  it('continue without the run whose time is up, even if its call never ends', async () => {
    const over = new AbortController();
    let times = 0;
    const hangs: Transport = async (request, signal) => {
      if (request.method !== 'PATCH' || (times += 1) > 1) return inProcess(stage.server)(request, signal);
      over.abort(new Error('the time is up'));
      return new Promise(() => undefined);
    };
    const stage = await ledgerWith();
    const cluster = clusterOver(hangs);
    const first = cluster.reserve(wanted(100), over.signal);
    const others = claimsOn(cluster, 5);
    await expect(first).rejects.toThrow(Unavailable);
    expect((await Promise.all(others)).every(({ admitted }) => admitted)).toBe(true);
    expect(await stage.lines()).toHaveLength(5);
  });

  it('read the ledger again if the answer to a write is not the API server’s', async () => {
    const emptied = { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' };
    let times = 0;
    const { cluster, lines } = await ledgerWith({
      after: (request) => (isWrite(request) && (times += 1) === 1 ? emptied : undefined),
    });
    const says = await Promise.all(claimsOn(cluster, 20, 0, 0.3));
    expect(says.filter(({ admitted }) => admitted)).toHaveLength(3);
    expect(await lines()).toHaveLength(3);
  });

  it('all fail if the API server rejects the write', async () => {
    const broken = { status: 500, headers: { 'content-type': 'text/plain' }, body: 'oops' };
    const { cluster, lines } = await ledgerWith({ before: (request) => (isWrite(request) ? broken : undefined) });
    const ends = await Promise.allSettled(claimsOn(cluster, 3));
    expect(ends.map((end) => end.status === 'rejected' && end.reason instanceof Unavailable)).toEqual([
      true,
      true,
      true,
    ]);
    expect(await lines()).toEqual([]);
  });
});

it('the claims of four processes share the places of the cap', async () => {
  const stage = await ledgerWith();
  const processes = [stage.cluster, ...Array.from({ length: 3 }, () => clusterOver(inProcess(stage.server)))];
  const says = await Promise.all(processes.flatMap((cluster, nth) => claimsOn(cluster, 5, nth * 5, 0.3)));
  expect(says.filter(({ admitted }) => admitted)).toHaveLength(3);
  expect(await stage.lines()).toHaveLength(3);
});

describe('a ledger to which others also write', () => {
  const conflict = {
    status: 409,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'Status', code: 409, reason: 'Conflict', message: 'the object has been modified' }),
  };
  /** The first writes come too late, as many as given. Each pause has its maximum length, unless a test says else. */
  const contested = async (times: number, options: { readonly jitter?: () => number } = { jitter: () => 1 }) => {
    let left = times;
    const stage = await ledgerWith({
      before: (request) => {
        if (!isWrite(request) || left === 0) return undefined;
        left -= 1;
        return conflict;
      },
    });
    const slept: number[] = [];
    const link = transportLink(inProcess(stage.server), FENCE_TOKEN);
    const cluster = createCluster({ name: 'test', link, clock: patientClock(slept), ...options });
    return { ...stage, cluster, slept };
  };

  it('is read and written again after pauses that grow to half a second', async () => {
    const { cluster, slept, lines } = await contested(8);
    expect(await cluster.reserve(wanted(1), unhurried())).toMatchObject({ admitted: true });
    expect(slept).toEqual([20, 40, 80, 160, 320, 500, 500, 500]);
    expect(await lines()).toHaveLength(1);
  });

  it('is written after pauses by chance, so that writers who met once do not meet each time', async () => {
    const { cluster, slept } = await contested(50, {});
    await cluster.reserve(wanted(1), unhurried());
    const equallyLong = slept.slice(5);
    expect(equallyLong.length).toBeGreaterThan(40);
    expect(new Set(equallyLong).size).toBeGreaterThan(10);
  });

  it('admits nothing after sixty failed tries', async () => {
    const { cluster, writes, lines } = await contested(1_000);
    await expect(cluster.reserve(wanted(1), unhurried())).rejects.toThrow(
      /^other writers changed kube-system\/cloudfence-ledger 60 times/,
    );
    expect(writes).toHaveLength(60);
    expect(await lines()).toEqual([]);
  });
});

describe('a ledger that does not exist', () => {
  const without = async (token: string, faults: Faults = {}) => {
    const stage = await ledgerWith(faults);
    await stage.admin('DELETE', LEDGER);
    const link = transportLink(inProcess(stage.server), token);
    return { ...stage, cluster: createCluster({ name: 'test', link, clock: patientClock() }) };
  };

  it('is created by the first fence if the credentials allow that', async () => {
    const { cluster, lines } = await without(ADMIN_TOKEN);
    expect(await cluster.reserve(wanted(1), unhurried())).toMatchObject({ admitted: true });
    expect(await lines()).toHaveLength(1);
  });

  it('stops each fence, and the reason names the remedy', async () => {
    const { cluster } = await without(FENCE_TOKEN);
    const reserved = cluster.reserve(wanted(1), unhurried());
    await expect(reserved).rejects.toThrow(PermissionDenied);
    await expect(reserved).rejects.toThrow(
      'the ConfigMap kube-system/cloudfence-ledger with the ledger does not exist: apply infra/kubernetes/rbac.yaml again',
    );
  });

  it('stops each fence with another reason if the API server gives one', async () => {
    const broken = { status: 500, headers: { 'content-type': 'text/plain' }, body: 'oops' };
    const { cluster } = await without(ADMIN_TOKEN, {
      before: ({ method }) => (method === 'POST' ? broken : undefined),
    });
    await expect(cluster.reserve(wanted(1), unhurried())).rejects.toThrow(Unavailable);
  });

  it('is not overwritten if someone else creates it meanwhile', async () => {
    let times = 0;
    const stage: Awaited<ReturnType<typeof without>> = await without(ADMIN_TOKEN, {
      before: ({ method }) => {
        if (method !== 'POST' || (times += 1) > 1) return undefined;
        stage.server.store.create(
          'configmaps',
          {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { namespace: 'kube-system', name: 'cloudfence-ledger' },
            data: {},
          },
          { user: 'another', at: 0 },
        );
        return undefined;
      },
    });
    expect(await stage.cluster.reserve(wanted(1), unhurried())).toMatchObject({ admitted: true });
    expect([times, (await stage.lines()).length]).toEqual([1, 1]);
  });
});

it('a fence that is already in the ledger is not written again', async () => {
  const { cluster, writes } = await ledgerWith();
  for (let times = 0; times < 3; times += 1)
    expect(await cluster.reserve(wanted(1), unhurried())).toMatchObject({ admitted: true });
  expect(writes).toHaveLength(1);
});
