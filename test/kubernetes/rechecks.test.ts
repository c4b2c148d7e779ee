import { describe, expect, it } from 'vitest';
import { createRechecks } from '../../kubernetes/apply.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { granted, makeNode, NODES, queryFor, recordFor, targetOf, unhurried } from '../contract/cluster/harness.ts';
import { adminOf, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { clusterOver, faultyCluster, patientClock } from './wire.ts';

/** How long a Node that was read may be used for the patch that follows. */

const nodeCalled = (name: string) => ({ metadata: { name } });

const stage = () => {
  const clock = { at: 10_000 };
  const { keepNode, takeNode } = createRechecks({ now: () => clock.at });
  const keep = (name: string, ago = 0): void => keepNode(nodeCalled(name), clock.at - ago);
  return { clock, keep, take: (name: string) => takeNode(name)?.metadata?.name ?? null };
};

describe('a Node that was read', () => {
  it('is used for one patch only', () => {
    const { keep, take } = stage();
    keep('node');
    expect([take('node'), take('node')]).toEqual(['node', null]);
  });

  it.each([
    [499, 'node'],
    [500, null],
    [-499, 'node'],
    [-500, null],
  ])('is used after %i ms: %s', (passed, taken) => {
    const { clock, keep, take } = stage();
    keep('node');
    clock.at += passed;
    expect(take('node')).toBe(taken);
  });

  it('is as old as its request, not as its answer', () => {
    const { keep, take } = stage();
    keep('node', 500);
    expect(take('node')).toBeNull();
  });

  it('stays next to the Nodes that are read after it', () => {
    const { keep, take } = stage();
    for (const name of ['one', 'two', 'three']) keep(name);
    expect([take('two'), take('none'), take('three'), take('one')]).toEqual(['two', null, 'three', 'one']);
  });
});

it('a Node that has changed since its recheck is not marked, and the error quotes the API server', async () => {
  const stage = faultyCluster({});
  const node = await makeNode(stage);
  await stage.cluster.recheck(node.name, unhurried());
  const { body } = await stage.admin('PATCH', `${NODES}/${node.name}/status`, {
    status: { nodeInfo: { bootID: 'boot-2' } },
  });
  const step = { do: 'mark', node: targetOf(node), record: recordFor(node, 'i-1'), addOutOfService: true } as const;
  await expect(stage.cluster.apply(step, granted, unhurried())).rejects.toMatchObject({
    name: 'Refused',
    message: expect.stringContaining(`uid ${node.uid}, boot boot-1, no fence`),
    cause: expect.any(Error),
  });
  const { body: after } = await stage.admin('GET', `${NODES}/${node.name}`);
  expect(after.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
});

it('a recheck reads the Node again, however recently a look has read it', async () => {
  const stage = faultyCluster({});
  const { name } = await makeNode(stage, { name: 'node', machine: 'i-1' });
  const request = { query: queryFor('i-1'), node: name, remembered: null, successorsOf: [] };
  expect((await stage.cluster.look(request, unhurried())).node?.record).toBeNull();
  await stage.admin('PATCH', `${NODES}/${name}`, { metadata: { annotations: { 'cloudfence.dev/fence': 'newer' } } });
  expect(await stage.cluster.recheck(name, unhurried())).toMatchObject({ recordText: 'newer' });
});

it.each<[string, (cluster: Cluster) => Promise<unknown>]>([
  ['recheck', ({ recheck }) => recheck('node', unhurried())],
  [
    'look',
    ({ look }) => look({ query: queryFor('i-1'), node: 'node', remembered: null, successorsOf: [] }, unhurried()),
  ],
])('a Node that a slow %s has read is read again for the patch', async (_, read) => {
  const clock = patientClock();
  const server = sandboxServer({ now: clock.now });
  const asked: string[] = [];
  const cluster = clusterOver(async (request, signal) => {
    asked.push(`${request.method} ${request.path}`);
    await clock.sleep(500, unhurried());
    return inProcess(server)(request, signal);
  }, clock);
  const node = await makeNode({ cluster, admin: adminOf(server), now: clock.now }, { name: 'node', machine: 'i-1' });
  await read(cluster);
  asked.length = 0;
  const step = { do: 'mark', node: targetOf(node), record: recordFor(node, 'i-1'), addOutOfService: true } as const;
  expect(await cluster.apply(step, granted, unhurried())).toBe('done');
  expect(asked[0]).toBe(`GET ${NODES}/node`);
});
