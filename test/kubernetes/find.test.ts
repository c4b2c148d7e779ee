import { describe, expect, it } from 'vitest';
import { makeNode, queryFor, unhurried } from '../contract/cluster/harness.ts';
import { faultyCluster } from './wire.ts';

/**
 * Which requests find the Node of a machine. The cheapest request comes first, and more expensive ones follow only if
 * needed.
 */

const ALL = '/api/v1/nodes';
const METADATA = `${ALL} metadata`;

const stage = () => {
  const calls: string[] = [];
  const cluster = faultyCluster({
    before: ({ path, headers }) => {
      const { pathname, searchParams } = new URL(path, 'https://in-process.invalid');
      const selector = searchParams.get('labelSelector');
      const partial = headers['accept']?.includes('PartialObjectMetadataList');
      calls.push([pathname, ...(selector === null ? [] : [selector]), ...(partial ? ['metadata'] : [])].join(' '));
      return undefined;
    },
  });
  const find = async (machine: string, ...names: string[]) => {
    calls.length = 0;
    const found = await cluster.cluster.find(queryFor(machine, ...names), unhurried());
    return { found, calls: [...calls] };
  };
  return { ...cluster, find };
};

const get = (name: string): string => `${ALL}/${name}`;
const byLabel = (machine: string): readonly string[] => [
  `${ALL} cloudfence.dev/instance=${machine}`,
  `${ALL} alpha.eksctl.io/instance-id=${machine}`,
];
const annotated = (machine: string) => ({
  annotations: { 'csi.volume.kubernetes.io/nodeid': JSON.stringify({ 'a-driver': machine }) },
});

describe('a Node with a guessed name', () => {
  it('costs one request if the likeliest name is right', async () => {
    const { find, ...scene } = stage();
    const status = { nodeInfo: { bootID: 'boot-1', systemUUID: 'a-uuid' } };
    await makeNode(scene, { name: 'likely', machine: 'i-1', status });
    expect(await find('i-1', '', 'likely', 'other')).toEqual({ found: ['likely'], calls: [get('likely')] });
  });

  it('is found by a name that is less likely', async () => {
    const { find, ...scene } = stage();
    await makeNode(scene, { name: 'other', machine: 'i-1' });
    expect(await find('i-1', 'likely', 'other')).toEqual({ found: ['other'], calls: [get('likely'), get('other')] });
  });
});

describe('a Node with a label', () => {
  it('is found by it', async () => {
    const { find, ...scene } = stage();
    await makeNode(scene, { name: 'node', machine: 'i-1', metadata: { labels: { 'cloudfence.dev/instance': 'i-1' } } });
    await makeNode(scene, { name: 'liar', machine: 'i-2', metadata: { labels: { 'cloudfence.dev/instance': 'i-1' } } });
    expect(await find('i-1')).toEqual({ found: ['node'], calls: byLabel('i-1') });
  });

  it.each(['i', 'i-0123456789abcdef0', `i${'-'.repeat(61)}1`])('is searched for by the machine %s', async (machine) => {
    const { calls } = await stage().find(machine);
    expect(calls).toEqual([...byLabel(machine), METADATA]);
  });

  it.each(['/subscriptions/s/m', 'i-1,zone=a', '/i-1', 'i-1/', `i${'-'.repeat(62)}1`])(
    'is not searched for by %s, which cannot be a label',
    async (machine) => {
      expect(await stage().find(machine)).toEqual({ found: [], calls: [METADATA] });
    },
  );
});

describe('a Node with an annotation', () => {
  it('is found by it, without a list of whole Nodes', async () => {
    const { find, ...scene } = stage();
    await makeNode(scene, { name: 'node', machine: 'i-1', metadata: annotated('i-1') });
    await makeNode(scene, { name: 'bare', machine: 'i-2' });
    expect(await find('i-1')).toEqual({ found: ['node'], calls: [...byLabel('i-1'), METADATA, get('node')] });
  });

  it('ends the search if each Node has one that names a machine', async () => {
    const { find, ...scene } = stage();
    for (const machine of ['i-2', 'i-3']) await makeNode(scene, { machine, metadata: annotated(machine) });
    expect(await find('i-1')).toEqual({ found: [], calls: [...byLabel('i-1'), METADATA] });
  });

  it.each([
    ['has none', {}],
    ['has one that names no machine of this cloud', annotated('elsewhere')],
  ])('does not hide a Node that %s', async (_, metadata) => {
    const { find, ...scene } = stage();
    await makeNode(scene, { machine: 'i-2', metadata: annotated('i-2') });
    await makeNode(scene, { name: 'node', machine: 'i-1', metadata });
    expect(await find('i-1')).toEqual({ found: ['node'], calls: [...byLabel('i-1'), METADATA, ALL] });
  });

  it.each([
    [100, 100],
    [101, 0],
  ])('names the machine on %i Nodes, which costs %i reads and then one list', async (nodes, reads) => {
    const { find, ...scene } = stage();
    for (let made = 0; made < nodes; made += 1)
      await makeNode(scene, { name: `node-${made}`, machine: 'i-1', metadata: annotated('i-1') });
    const { found, calls } = await find('i-1');
    expect(found).toHaveLength(nodes);
    expect(calls.filter((call) => call.startsWith(get('')))).toHaveLength(reads);
    expect(calls.filter((call) => call === ALL).length > 0).toBe(reads === 0);
  });
});
