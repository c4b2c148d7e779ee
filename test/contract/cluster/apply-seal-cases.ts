import { expect, it } from 'vitest';
import type { FenceRecord } from '../../../fencing/model/record.ts';
import type { ClusterStep, NodeTarget } from '../../../fencing/model/steps.ts';
import { targetNode } from '../../../fencing/rules/mark.ts';
import {
  type ClusterHarness,
  fresh,
  granted,
  makeNode,
  type Meta,
  NODES,
  queryFor,
  recordFor,
  unhurried,
} from './harness.ts';

/**
 * A step is decided, and then somebody else writes another record. A kubelet restores the record that was there when
 * the step was decided, or removes the new one. The seal still shows the other record.
 */

const RECORD = 'cloudfence.dev/fence';
const LABEL = 'cloudfence.node-restriction.kubernetes.io/fenced';
const TAINT_LABEL = 'cloudfence.node-restriction.kubernetes.io/out-of-service';
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const QUARANTINE = 'cloudfence.dev/quarantine';
const REMOVED = '2026-11-21T10:05:00.000Z';

const machineOf = (node: string): string => `i-${node}`;

type Decided = (node: NodeTarget, record: FenceRecord) => ClusterStep;

const mark: Decided = (node, record) => ({ do: 'mark', node, record, addOutOfService: record.outOfService === 'ours' });
const lift: Decided = (node, record) => ({ do: 'lift-out-of-service', node, record });
const park: Decided = (node, record) => ({ do: 'park', node, record });

export const applySealCases = (harness: () => ClusterHarness): void => {
  const apply = (step: ClusterStep) => harness().cluster.apply(step, granted, unhurried());
  const patched = (node: Meta, change: object) => harness().admin('PATCH', `${NODES}/${node.name}`, change);
  const kubeletWrites = (node: Meta, text: string | null) =>
    patched(node, { metadata: { annotations: { [RECORD]: text } } });

  /** The Node as a run sees it now. */
  const seen = async ({ name }: Meta): Promise<NodeTarget> => {
    const query = queryFor(machineOf(name), name);
    const look = { query, node: name, remembered: null, successorsOf: [] };
    const { node } = await harness().cluster.look(look, unhurried());
    if (!node) throw new Error(`a look did not find ${name}`);
    return targetNode(node);
  };
  const take = async (node: Meta, decided: Decided, record: FenceRecord) => apply(decided(await seen(node), record));

  const taintsOf = async ({ name }: Meta): Promise<readonly { readonly key: string }[]> => {
    const { spec } = (await harness().admin('GET', `${NODES}/${name}`)).body;
    return typeof spec === 'object' && spec !== null && 'taints' in spec && Array.isArray(spec.taints)
      ? spec.taints
      : [];
  };
  const keysOf = async (node: Meta) => (await taintsOf(node)).map(({ key }) => key);
  const personRemoves = async (node: Meta, taints: readonly string[]) =>
    patched(node, {
      metadata: { labels: { [LABEL]: null } },
      spec: { taints: (await taintsOf(node)).filter(({ key }) => !taints.includes(key)) },
    });
  const madeNode = (name = fresh('node')) =>
    makeNode(harness(), { name, machine: machineOf(name), metadata: { annotations: { a: 'b' } } });

  /** A Node with a fence that has ended while the machine is off. */
  const parkedNode = async () => {
    const node = await madeNode();
    const record = recordFor(node, 'i-1');
    const parked: FenceRecord = { ...record, phase: 'fenced', released: REMOVED };
    await take(node, mark, record);
    await take(node, park, parked);
    return { node, record, parked, target: await seen(node) };
  };

  it.each<[string, Decided, Partial<FenceRecord>]>([
    ['a second mark of the same fence', mark, { phase: 'fencing', released: null }],
    ['a release by a person', lift, { phase: 'releasing' }],
  ])('sees %s, and refuses the mark that was decided before', async (_, other, change) => {
    const { node, record, parked, target } = await parkedNode();
    await take(node, other, { ...parked, ...change });
    await kubeletWrites(node, JSON.stringify(parked));
    await patched(node, { spec: { taints: (await taintsOf(node)).filter(({ key }) => key === QUARANTINE) } });
    await expect(apply(mark(target, record))).rejects.toThrow(`someone else wrote another record on Node ${node.name}`);
    expect(await keysOf(node)).toEqual([QUARANTINE]);
  });

  it('sees a second mark of the same fence, and refuses a note or the end of a release', async () => {
    const { node, record, parked, target } = await parkedNode();
    await take(node, mark, record);
    await kubeletWrites(node, JSON.stringify(parked));
    const noted = { ...parked, recurring: ['x'] };
    for (const step of [
      { do: 'note', node: target, record: noted },
      { do: 'release-node', node: target, record: parked, tombstone: null },
    ] as const)
      await expect(apply(step)).rejects.toThrow(`someone else wrote another record on Node ${node.name}`);
    expect(await keysOf(node)).toEqual([QUARANTINE, OUT_OF_SERVICE]);
  });

  it.each<[string, Decided]>([
    ['a mark', (node, record) => mark(node, { ...record, fence: 'fence-3' })],
    ['the removal of a tombstone', (node) => ({ do: 'set-tombstone', node, tombstone: null })],
    ['the end of a release', (node, record) => ({ do: 'release-node', node, record, tombstone: null })],
  ])('sees a fence on a Node with the record of an earlier one, and refuses %s', async (_, decided) => {
    const node = await madeNode();
    const old = recordFor(node, 'i-1', { fence: 'fence-0', bootID: 'boot-0' });
    await kubeletWrites(node, JSON.stringify(old));
    const target = await seen(node);
    await take(node, mark, recordFor(node, 'i-1', { fence: 'fence-2' }));
    await kubeletWrites(node, JSON.stringify(old));
    await personRemoves(node, [OUT_OF_SERVICE]);
    await expect(apply(decided(target, old))).rejects.toThrow('someone else wrote another record');
    expect(await keysOf(node)).toEqual([QUARANTINE]);
    const { metadata } = (await harness().admin('GET', `${NODES}/${node.name}`)).body;
    expect(metadata.labels?.[TAINT_LABEL]).toMatch(/^fence-2_in_/);
  });

  it('sees a later fence that keeps our taint, and refuses a lift without a record', async () => {
    const node = await madeNode();
    const begin = async (fence: string, addOutOfService: boolean) => {
      const record = recordFor(node, 'i-1', { fence });
      await apply({ do: 'mark', node: await seen(node), record, addOutOfService });
      await kubeletWrites(node, null);
      await personRemoves(node, []);
      return seen(node);
    };
    const target = await begin('fence-0', true);
    await begin('fence-2', false);
    const step: ClusterStep = { do: 'lift-out-of-service', node: target, record: null };
    await expect(apply(step)).rejects.toThrow('someone else wrote another record');
    expect(await keysOf(node)).toContain(OUT_OF_SERVICE);
    expect(await apply({ ...step, node: await seen(node) })).toBe('done');
  });

  it('sees a fence of which nothing else is left, and refuses a mark', async () => {
    const node = await madeNode();
    const target = await seen(node);
    await take(node, mark, recordFor(node, 'i-1', { fence: 'fence-2', outOfService: 'unsupported' }));
    await kubeletWrites(node, null);
    await personRemoves(node, [QUARANTINE]);
    await expect(apply(mark(target, recordFor(node, 'i-1')))).rejects.toThrow('someone else wrote another record');
    expect(await keysOf(node)).toEqual([]);
  });
};
