import { describe, expect, it } from 'vitest';
import type { SuspectNode } from '../../fencing/model/cluster.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import { steppingClock } from './ports.ts';
import { empty, fencing, named, stage, suspect, swept } from './sweep-stage.ts';
import { ago, cluster, marked, NOW, PARKED } from './view-builder.ts';

describe('the overdue fences of a sweep', () => {
  const [MINUTE, DAY] = [60_000, 24 * 3_600_000];
  const fixed = { ...steppingClock(), now: () => ({ wall: NOW, mono: 1_000 }) };
  const overdue = async (
    suspects: readonly SuspectNode[],
    power: Parameters<typeof stage>[1] = {},
    more: Parameters<typeof stage>[2] = {},
  ) => {
    const one = stage(suspects, power, more);
    return (await swept({ ...one, ports: { ...one.ports, clock: fixed } })).overdue;
  };
  const node1 = { cluster: 'blue', node: 'node-1' };
  const begunDaysAgo = ago(3 * DAY);
  const longFenced = (change: Partial<FenceRecord> = {}, name = 'node-1') =>
    suspect(name, fencing({ phase: 'fenced', begun: begunDaysAgo, ...change }));

  it.each([
    ['more than a day', DAY + 1, [node1]],
    ['a day', DAY, []],
  ])('are those that began %s ago, finished or not', async (_, age, fenced) => {
    for (const phase of ['fencing', 'fenced'] as const)
      expect(await overdue([suspect('node-1', fencing({ phase, begun: ago(age) }))])).toEqual({ fenced, returned: [] });
  });

  it('are no Nodes without a fence, whatever record they have', async () => {
    const { record: old } = longFenced();
    for (const because of ['lease-stale', 'node-missing', 'labelled'] as const)
      expect(await overdue([suspect('node-1', { because, record: old })])).toEqual({ fenced: [], returned: [] });
    expect(await overdue([suspect('node-1', { because: 'fenced' })])).toEqual({ fenced: [], returned: [] });
  });

  it.each([
    ['more than ten minutes', 10 * MINUTE + 1, [node1]],
    ['ten minutes', 10 * MINUTE, []],
  ])('include one without its record, whose machine came back %s ago', async (_, ago, returned) => {
    const facts = { 'm-1': { power: 'running', since: NOW - ago } } as const;
    const lost = suspect('node-1', { because: 'fenced', record: null });
    expect(await overdue([lost], facts)).toEqual({ fenced: [], returned });
  });

  it.each([
    ['runs', { power: 'running' }, [node1]],
    ['starts', { power: 'starting' }, [node1]],
    ['is off', { power: 'off' }, []],
    ['stops', { power: 'stopping' }, []],
    ['is unknown', { power: 'unknown' }, []],
  ] as const)('include one whose machine %s since ten minutes', async (_, facts, returned) => {
    const since = NOW - 10 * MINUTE - 1;
    expect((await overdue([longFenced()], { 'm-1': { ...facts, since } })).returned).toEqual(returned);
  });

  it.each([
    ['the machine came back ten minutes ago', {}, 10 * MINUTE, []],
    ['the fence began after the return, ten minutes ago', { begun: ago(10 * MINUTE) }, 11 * MINUTE, []],
    ['the fence began after the return, even longer ago', { begun: ago(10 * MINUTE + 1) }, 11 * MINUTE, [node1]],
  ])('count from the later of fence and return: %s', async (_, change, back, returned) => {
    const facts = { 'm-1': { power: 'running', since: NOW - back } } as const;
    expect((await overdue([longFenced(change)], facts)).returned).toEqual(returned);
  });

  it.each([
    ['the removal of the mark', { phase: 'lifted', released: ago(10 * MINUTE + 1) }, [node1]],
    ['a removal of the mark ten minutes ago', { phase: 'lifted', released: ago(10 * MINUTE) }, []],
    ['nothing, if the record does not say when the mark was removed', { phase: 'lifted', released: null }, []],
    ['nothing, if the fence was finished before the return', { phase: 'fenced', released: ago(DAY) }, []],
  ] as const)('count from %s if the cloud does not say since when the machine runs', async (_, change, returned) => {
    const facts = { 'm-1': { power: 'running', since: null } } as const;
    expect((await overdue([longFenced(change)], facts)).returned).toEqual(returned);
  });

  it('count from the return of the machine whose return is known, if the Node names two', async () => {
    const sources = ['m-1', 'm-2'].map((id) => named(id, 'csiNode'));
    const twice = { ...longFenced(), identitySources: sources };
    const since = NOW - 11 * MINUTE;
    const facts = { 'm-1': { power: 'off' }, 'm-2': { power: 'running', since } } as const;
    expect((await overdue([twice], facts)).returned).toEqual([node1]);
  });

  const returnedNode = marked(
    { phase: 'fenced', begun: begunDaysAgo, released: ago(600_000) },
    { name: 'node-1', bootID: 'boot-b', taints: PARKED },
  );
  const releasing = {
    find: async () => ['node-1'],
    look: async () => cluster({ node: returnedNode, pods: [], volumes: [], lease: ago(3_000) }),
  };

  it('include no Node that the sweep has released, and the other Nodes still', async () => {
    const namesake = { ...longFenced(), identitySources: [named('m-9')] };
    const green = { ...empty, suspects: async () => [namesake] };
    const up = { power: 'running', generation: 'boot-2', since: NOW - 11 * MINUTE, disks: [] } as const;
    const one = stage([longFenced(), longFenced({}, 'node-2')], { 'm-1': up }, { blue: releasing, others: [green] });
    const { outcomes, overdue: found } = await swept(one, { deadline: 60_000 });
    expect(outcomes).toContainEqual(expect.objectContaining({ outcome: 'released', node: 'node-1', cluster: 'blue' }));
    expect(found).toEqual({
      fenced: [
        { cluster: 'blue', node: 'node-2' },
        { cluster: 'green', node: 'node-1' },
      ],
      returned: [],
    });
  });
});
