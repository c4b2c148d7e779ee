import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../fencing/model/errors.ts';
import type { Transport } from '../../kubernetes/exchange.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import type { Faults } from '../../sandbox/cluster/api/server.ts';
import { makeNode, unhurried } from '../contract/cluster/harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { clusterOver, faultyCluster } from './wire.ts';

/** The changes that the runs of one process make together, and those of several processes. */

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
  it('that come at once take two writes: the first one, and all the others', async () => {
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

  it('do not end with the run whose time is up, although it writes for the others', async () => {
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

  it('go on without the run whose time is up, even if its call never ends', async () => {
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

  it('read the ledger again if an answer to a write is not the API server’s', async () => {
    const emptied = { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' };
    let times = 0;
    const { cluster, lines } = await ledgerWith({
      after: (request) => (isWrite(request) && (times += 1) === 1 ? emptied : undefined),
    });
    const says = await Promise.all(claimsOn(cluster, 20, 0, 0.3));
    expect(says.filter(({ admitted }) => admitted)).toHaveLength(3);
    expect(await lines()).toHaveLength(3);
  });

  it('all fail if the API server declines the write', async () => {
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
