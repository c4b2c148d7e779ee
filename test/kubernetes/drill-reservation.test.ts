import { describe, expect, it } from 'vitest';
import { asCloudfenceError, Refused } from '../../fencing/model/errors.ts';
import type { DrillCluster } from '../../drill/ports.ts';
import { openConnection } from '../../kubernetes/cluster.ts';
import { createDrillCluster } from '../../kubernetes/drill/cluster.ts';
import { type Transport, transportLink } from '../../kubernetes/exchange.ts';
import { DRILL_ALLOWED, DRILL_LABEL, DRILL_RESERVED_LABEL } from '../../kubernetes/names.ts';
import { ADMIN_TOKEN } from '../../sandbox/cluster/api/server.ts';
import { makeNode, unhurried } from '../contract/cluster/harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { faultyCluster, patientClock } from './wire.ts';

/** Two drills that reserve the same Node, with their calls in any order. */

/** Holds the patches until this many have arrived, so that each of them was decided from the same Node. */
const together = (transport: Transport, count: number): Transport => {
  let arrived = 0;
  const all = Promise.withResolvers<void>();
  return async (request, ...rest) => {
    if (request.method === 'PATCH') {
      arrived += 1;
      if (arrived === count) all.resolve();
      await all.promise;
    }
    return transport(request, ...rest);
  };
};

const reservable = async (wrap: (transport: Transport) => Transport = (transport) => transport) => {
  const stage = faultyCluster({});
  const { server, admin } = stage;
  const { name, uid } = await makeNode(stage, { metadata: { labels: { [DRILL_LABEL]: DRILL_ALLOWED } } });
  const link = transportLink(wrap(inProcess(server)), ADMIN_TOKEN);
  const cluster = createDrillCluster('test', openConnection({ name: 'test', link, clock: patientClock() }));
  const holder = async (): Promise<unknown> => {
    const { metadata } = (await admin('GET', `/api/v1/nodes/${name}`)).body;
    return metadata.labels?.[DRILL_RESERVED_LABEL];
  };
  const touch = (nth: number) =>
    admin('PATCH', `/api/v1/nodes/${name}`, { metadata: { annotations: { n: `${nth}` } } });
  return { cluster, name, uid, holder, touch };
};

type Reservable = Awaited<ReturnType<typeof reservable>>;

const reserve = (cluster: DrillCluster, { name, uid }: Pick<Reservable, 'name' | 'uid'>, drill: string) =>
  cluster.reserve({ name, uid, drill }, unhurried()).then(
    () => 'reserved',
    (error: unknown) => asCloudfenceError(error),
  );

describe('the reservation of a Node', () => {
  it('goes to one of two drills that both saw the Node free', async () => {
    const drills = ['first', 'second'];
    const node = await reservable((transport) => together(transport, drills.length));
    const ends = await Promise.all(drills.map((drill) => reserve(node.cluster, node, drill)));
    const winner = drills[ends.indexOf('reserved')];
    expect(ends.filter((end) => end === 'reserved')).toHaveLength(1);
    expect(ends.find((end) => end instanceof Refused)?.toString()).toContain(`another drill (${winner}) has just`);
    expect(await node.holder()).toBe(winner);
  });

  it('is written although the kubelet writes to the Node in between', async () => {
    let touched = 0;
    const node: Reservable = await reservable((transport) => async (request, ...rest) => {
      if (request.method === 'PATCH' && touched < 3) await node.touch((touched += 1));
      return transport(request, ...rest);
    });
    expect(await reserve(node.cluster, node, 'first')).toBe('reserved');
    expect([touched, await node.holder()]).toEqual([3, 'first']);
  });

  it('fails on a Node that another one has replaced', async () => {
    const node = await reservable();
    expect(await reserve(node.cluster, { ...node, uid: 'another' }, 'first')).toBeInstanceOf(Refused);
    expect(await node.holder()).toBeUndefined();
  });

  it('ends only for the drill that holds it', async () => {
    const node = await reservable();
    await reserve(node.cluster, node, 'first');
    await node.cluster.free({ name: node.name, drill: 'second' }, unhurried());
    expect(await node.holder()).toBe('first');
    await node.cluster.free({ name: node.name, drill: 'first' }, unhurried());
    expect(await node.holder()).toBeUndefined();
  });
});
