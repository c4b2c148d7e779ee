import { brokenSeal, sealLabel } from '../../../kubernetes/record-seal.ts';
import { expect, it } from 'vitest';
import { ProofExpired, Refused } from '../../../fencing/model/errors.ts';
import type { FenceRecord } from '../../../fencing/model/record.ts';
import type { ClusterStep, NodeTarget } from '../../../fencing/model/steps.ts';
import type { Meta, ClusterHarness } from './harness.ts';
import { expired } from '../../permits.ts';
import { NODES, queryFor, fresh, granted, makeNode, recordFor, targetOf, unhurried } from './harness.ts';

/** As other people or controllers set it. */
const OUT_OF_SERVICE = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoSchedule' };
/** As Cloudfence sets it. */
const OURS = { ...OUT_OF_SERVICE, value: expect.stringMatching(/^fence-1_in_[0-9a-z]{14}$/) };
const QUARANTINE = { key: 'cloudfence.dev/quarantine', value: 'fenced', effect: 'NoSchedule' };
const LABEL = 'cloudfence.node-restriction.kubernetes.io/fenced';
const TAINT_LABEL = 'cloudfence.node-restriction.kubernetes.io/out-of-service';
const SEAL_LABEL = 'cloudfence.node-restriction.kubernetes.io/record';
const STOPPING_LABEL = 'cloudfence.node-restriction.kubernetes.io/stopping';
const FOREIGN = { key: 'example.com/busy', value: 'yes', effect: 'NoSchedule' };

export const applyNodeCases = (harness: () => ClusterHarness): void => {
  const apply = (step: ClusterStep) => harness().cluster.apply(step, granted, unhurried());
  const read = async ({ name }: Meta) => (await harness().admin('GET', `${NODES}/${name}`)).body;
  const taints = async (node: Meta): Promise<unknown> => {
    const { spec } = await read(node);
    return typeof spec === 'object' && spec !== null && 'taints' in spec ? spec.taints : [];
  };
  const mark = (node: Meta, record: FenceRecord, recordText: string | null = null): ClusterStep => ({
    do: 'mark',
    node: targetOf(node, recordText),
    record,
    addOutOfService: true,
  });
  const marked = async (spec?: { taints?: object[] }, traits: Partial<FenceRecord> = {}) => {
    const node = await makeNode(harness(), spec ? { spec } : {});
    const record = recordFor(node, 'i-1', traits);
    await apply({ do: 'mark', node: targetOf(node), record, addOutOfService: record.outOfService === 'ours' });
    const { metadata } = await read(node);
    return { node: metadata, record, text: JSON.stringify(record) };
  };

  it.each([
    ['without taints, labels, and annotations', {}, {}, []],
    [
      'with taints, labels, and annotations',
      { taints: [FOREIGN] },
      { labels: { a: 'b' }, annotations: { c: 'd' } },
      [FOREIGN],
    ],
  ])('marks a Node %s in one write and only once', async (_case, spec, metadata, before) => {
    const node = await makeNode(harness(), { spec, metadata });
    const record = recordFor(node, 'i-1');
    expect(await apply(mark(node, record))).toBe('done');
    const after = await read(node);
    expect(await taints(node)).toEqual([...before, OURS, QUARANTINE]);
    expect(after.metadata).toMatchObject({
      labels: { [LABEL]: record.fence, [TAINT_LABEL]: expect.stringMatching(/^fence-1_in_[0-9a-z]{14}$/) },
      annotations: { 'cloudfence.dev/fence': JSON.stringify(record) },
    });
    expect(await apply(mark(node, record))).toBe('already');
    expect((await read(node)).metadata.resourceVersion).toBe(after.metadata.resourceVersion);
  });

  it('marks a Node over an older record of Cloudfence, and adds only what is missing', async () => {
    const { node, record, text } = await marked();
    const next = { ...record, fence: 'fence-2' };
    expect(await apply(mark(node, next, text))).toBe('done');
    expect(await taints(node)).toEqual([OURS, QUARANTINE]);
    expect((await read(node)).metadata.annotations?.['cloudfence.dev/fence']).toBe(JSON.stringify(next));
  });

  it.each([
    ['is another Node of the same name', (node: Meta) => ({ ...node, uid: 'another' }), 'boot-1'],
    ['has booted since', (node: Meta) => node, 'boot-0'],
  ])('does not mark a Node that %s', async (_case, seen, bootID) => {
    const node = await makeNode(harness());
    const step: ClusterStep = {
      do: 'mark',
      node: { ...targetOf(seen(node)), bootID },
      record: recordFor(node, 'i-1'),
      addOutOfService: true,
    };
    await expect(apply(step)).rejects.toThrow(Refused);
    expect((await read(node)).metadata.resourceVersion).toBe(node.resourceVersion);
  });

  it('does not overwrite a fence that someone else has written since', async () => {
    const { node, text } = await marked({}, { outOfService: 'unsupported' });
    await expect(apply(mark(node, recordFor(node, 'i-2')))).rejects.toThrow(Refused);
    expect((await read(node)).metadata.annotations?.['cloudfence.dev/fence']).toBe(text);
  });

  it('does not mark over the tombstone of a fence that was removed since', async () => {
    const node = await makeNode(harness());
    const tombstone = { fence: 'fence-0', boot: '0000000aaaaaaa' };
    await apply({ do: 'set-tombstone', node: targetOf(node), tombstone });
    await expect(apply(mark(node, recordFor(node, 'i-1')))).rejects.toThrow(Refused);
    expect((await read(node)).metadata).toMatchObject({ labels: { [LABEL]: 'fence-0_removed_0000000aaaaaaa' } });
  });

  it('does not claim an out-of-service taint that someone else has set in the meantime', async () => {
    const node = await makeNode(harness(), { spec: { taints: [{ ...OUT_OF_SERVICE, effect: 'NoExecute' }] } });
    await expect(apply(mark(node, recordFor(node, 'i-1')))).rejects.toThrow(Refused);
    expect((await read(node)).metadata.annotations).toBeUndefined();
  });

  it('sends nothing once the proof has expired', async () => {
    const node = await makeNode(harness());
    await expect(harness().cluster.apply(mark(node, recordFor(node, 'i-1')), expired, unhurried())).rejects.toThrow(
      ProofExpired,
    );
    expect((await read(node)).metadata.resourceVersion).toBe(node.resourceVersion);
  });

  it('writes a new record and nothing else', async () => {
    const { node, record, text } = await marked();
    const step: ClusterStep = { do: 'note', node: targetOf(node, text), record: { ...record, phase: 'fenced' } };
    expect([await apply(step), await apply(step)]).toEqual(['done', 'already']);
    expect((await read(node)).metadata.annotations?.['cloudfence.dev/fence']).toBe(JSON.stringify(step.record));
    await expect(apply({ ...step, record: { ...record, fence: 'x' } })).rejects.toThrow(Refused);
  });

  it('lifts the out-of-service taint first, and removes the quarantine later', async () => {
    const { node, record, text } = await marked({ taints: [FOREIGN] });
    const releasing: FenceRecord = { ...record, phase: 'releasing', released: '2026-11-21T10:05:00.000Z' };
    expect(await apply({ do: 'lift-out-of-service', node: targetOf(node, text), record: releasing })).toBe('done');
    expect(await taints(node)).toEqual([FOREIGN, QUARANTINE]);
    const step: ClusterStep = {
      do: 'release-node',
      node: targetOf(node, JSON.stringify(releasing)),
      record: releasing,
      tombstone: null,
    };
    expect(await apply(step)).toBe('done');
    expect(await taints(node)).toEqual([FOREIGN]);
    expect((await read(node)).metadata.labels?.[LABEL]).toBeUndefined();
    expect(await apply(step)).toBe('already');
  });

  it('does not touch an out-of-service taint of someone else', async () => {
    const { node, record, text } = await marked({ taints: [OUT_OF_SERVICE] }, { outOfService: 'foreign' });
    await apply({ do: 'lift-out-of-service', node: targetOf(node, text), record: { ...record, phase: 'releasing' } });
    expect(await taints(node)).toEqual([OUT_OF_SERVICE, QUARANTINE]);
  });

  it.each(['park', 'release-node'] as const)('does not %s after yet another boot', async (verb) => {
    const { node, record, text } = await marked();
    const step = {
      do: verb,
      node: { ...targetOf(node, text), bootID: 'boot-2' },
      record: { ...record, phase: 'releasing' },
      tombstone: null,
    } as const;
    await expect(apply(step)).rejects.toThrow(Refused);
    expect(await taints(node)).toEqual([OURS, QUARANTINE]);
  });

  it('lifts its out-of-service taint even if the machine has booted since', async () => {
    const { node, record, text } = await marked();
    const lifted: FenceRecord = { ...record, phase: 'lifted', released: '2026-11-21T10:05:00.000Z' };
    const step: ClusterStep = {
      do: 'lift-out-of-service',
      node: { ...targetOf(node, text), bootID: 'boot-2' },
      record: lifted,
    };
    expect([await apply(step), await apply(step)]).toEqual(['done', 'already']);
    expect(await taints(node)).toEqual([QUARANTINE]);
    expect((await read(node)).metadata.labels).toEqual({ [LABEL]: record.fence, ...sealLabel(lifted) });
  });

  it('does not end a fence on a person’s word for a boot that has ended on the Node since', async () => {
    const { node, record, text } = await marked();
    const target = { ...targetOf(node, text), bootID: 'boot-0' };
    const step: ClusterStep = {
      do: 'lift-out-of-service',
      node: target,
      record: { ...record, phase: 'releasing', bootID: target.bootID },
    };
    await expect(apply(step)).rejects.toThrow(Refused);
    expect(await taints(node)).toEqual([OURS, QUARANTINE]);
    expect((await read(node)).metadata.annotations).toEqual({ 'cloudfence.dev/fence': text });
  });

  it('lifts its out-of-service taint even if the record is lost, and writes no record', async () => {
    const { node, text } = await marked();
    await harness().admin('PATCH', `${NODES}/${node.name}`, {
      metadata: { annotations: { 'cloudfence.dev/fence': '{' } },
    });
    const step: ClusterStep = {
      do: 'lift-out-of-service',
      node: { ...targetOf(node, text), recordText: '{' },
      record: null,
    };
    expect([await apply(step), await apply(step)]).toEqual(['done', 'already']);
    expect(await taints(node)).toEqual([QUARANTINE]);
    expect((await read(node)).metadata.annotations).toEqual({ 'cloudfence.dev/fence': '{' });
  });

  it('lifts its out-of-service taint even if its record changes again and again', async () => {
    const { node, text } = await marked();
    const step: ClusterStep = {
      do: 'lift-out-of-service',
      node: { ...targetOf(node, text), recordText: 'as it was read' },
      record: null,
    };
    expect(await apply(step)).toBe('done');
    expect(await taints(node)).toEqual([QUARANTINE]);
  });

  it('lifts its out-of-service taint even if there is no room for the record, which then counts as lost', async () => {
    const { node, record, text } = await marked();
    const full = 256 * 1024 - `cloudfence.dev/fence${text}full`.length;
    await harness().admin('PATCH', `${NODES}/${node.name}`, { metadata: { annotations: { full: 'x'.repeat(full) } } });
    const lifted: FenceRecord = { ...record, phase: 'lifted', released: '2026-11-21T10:05:00.000Z' };
    const step: ClusterStep = { do: 'lift-out-of-service', node: targetOf(node, text), record: lifted };
    expect(await apply(step)).toBe('done');
    expect(await taints(node)).toEqual([QUARANTINE]);
    const { metadata } = await read(node);
    expect(metadata.annotations?.['cloudfence.dev/fence']).toBe(text);
    expect(metadata.labels).toEqual({ [LABEL]: record.fence, ...brokenSeal });
  });

  it('rejects a second lift if there is still no room for the record, and says so', async () => {
    const { node, record, text } = await marked();
    const full = 256 * 1024 - `cloudfence.dev/fence${text}full`.length;
    await harness().admin('PATCH', `${NODES}/${node.name}`, { metadata: { annotations: { full: 'x'.repeat(full) } } });
    const releasing: FenceRecord = { ...record, phase: 'releasing', released: '2026-11-21T10:05:00.000Z' };
    const lift = (unmatchedSeal: string | null): ClusterStep => ({
      do: 'lift-out-of-service',
      node: { ...targetOf(node, text), unmatchedSeal },
      record: releasing,
    });
    expect(await apply(lift(null))).toBe('done');
    expect(await taints(node)).toEqual([QUARANTINE]);
    await expect(apply(lift('broken'))).rejects.toThrow('leave no room for a record: remove some');
  });

  it('writes nothing but a lift if there is no room for the record, and says so', async () => {
    const { node, record, text } = await marked();
    const full = 256 * 1024 - `cloudfence.dev/fence${text}full`.length;
    await harness().admin('PATCH', `${NODES}/${node.name}`, { metadata: { annotations: { full: 'x'.repeat(full) } } });
    const longer: FenceRecord = { ...record, phase: 'fenced', released: '2026-11-21T10:05:00.000Z' };
    const target = targetOf(node, text);
    const steps: readonly ClusterStep[] = [
      mark(node, { ...longer, fence: 'a-later-fence' }, text),
      { do: 'note', node: target, record: longer },
      { do: 'park', node: target, record: longer },
    ];
    for (const step of steps)
      await expect(apply(step), step.do).rejects.toThrow('leave no room for a record: remove some');
    expect(await taints(node)).toEqual([OURS, QUARANTINE]);
    const { metadata } = await read(node);
    expect(metadata.labels).toMatchObject({ [LABEL]: record.fence, ...sealLabel(record) });
  });

  it('lifts its out-of-service taint even if someone removed the labels, because its value is enough', async () => {
    const { node, record, text } = await marked();
    await harness().admin('PATCH', `${NODES}/${node.name}`, {
      metadata: { labels: { [LABEL]: null, [TAINT_LABEL]: null } },
    });
    const step: ClusterStep = {
      do: 'lift-out-of-service',
      node: { ...targetOf(node, text), label: null },
      record: { ...record, phase: 'lifted' },
    };
    expect([await apply(step), await apply(step)]).toEqual(['done', 'already']);
    expect(await taints(node)).toEqual([QUARANTINE]);
  });

  it('does not lift the taint of a later fence', async () => {
    const { node, record, text } = await marked();
    const next = { ...record, fence: 'fence-2' };
    await apply(mark(node, next, text));
    const step: ClusterStep = {
      do: 'lift-out-of-service',
      node: { ...targetOf(node, text), recordText: JSON.stringify(next) },
      record: null,
    };
    await expect(apply(step)).rejects.toThrow(Refused);
    expect(await taints(node)).toEqual([OURS, QUARANTINE]);
  });

  it('does not lift the taint of a later fence if the first had neither a label nor a record', async () => {
    const { node, record } = await marked();
    const seen = { ...targetOf(node), label: null };
    const step: ClusterStep = { do: 'lift-out-of-service', node: seen, record: null };
    await expect(apply(step)).rejects.toThrow(`someone else labelled Node ${node.name}`);
    expect(await taints(node)).toEqual([OURS, QUARANTINE]);
    expect((await read(node)).metadata.labels?.[LABEL]).toBe(record.fence);
  });

  it.each<[string, (node: NodeTarget, record: FenceRecord) => ClusterStep]>([
    ['a mark', (node, record) => mark(node, { ...record, fence: 'fence-2' })],
    ['the end of a release', (node, record) => ({ do: 'release-node', node, record, tombstone: null })],
    ['a lift', (node) => ({ do: 'lift-out-of-service', node, record: null })],
    ['a tombstone', (node) => ({ do: 'set-tombstone', node, tombstone: { fence: 'fence-0', boot: '0123456789abcd' } })],
  ])('refuses %s if only the taints show that another fence began after the read', async (_, stepFor) => {
    const { node, record } = await marked();
    await harness().admin('PATCH', `${NODES}/${node.name}`, {
      metadata: { annotations: { 'cloudfence.dev/fence': null }, labels: { [LABEL]: null, [SEAL_LABEL]: null } },
    });
    await expect(apply(stepFor(targetOf(node), record))).rejects.toThrow(`someone else fenced Node ${node.name}`);
    expect(await taints(node)).toEqual([OURS, QUARANTINE]);
    expect((await read(node)).metadata.labels).toHaveProperty([TAINT_LABEL]);
  });

  it('does not write a tombstone over the label of a later fence', async () => {
    const { node, record } = await marked();
    const seen = { ...targetOf(node), recordText: JSON.stringify(record), label: null };
    const tombstone = { fence: 'fence-0', boot: '0123456789abcd' };
    const step: ClusterStep = { do: 'set-tombstone', node: seen, tombstone };
    await expect(apply(step)).rejects.toThrow(`someone else labelled Node ${node.name}`);
    expect((await read(node)).metadata.labels?.[LABEL]).toBe(record.fence);
  });

  it('parks a Node with only the quarantine', async () => {
    const { node, record, text } = await marked({ taints: [FOREIGN] });
    const parked: FenceRecord = { ...record, phase: 'fenced', released: '2026-11-21T10:05:00.000Z' };
    const step: ClusterStep = { do: 'park', node: targetOf(node, text), record: parked };
    expect([await apply(step), await apply(step)]).toEqual(['done', 'already']);
    expect(await taints(node)).toEqual([FOREIGN, QUARANTINE]);
    expect((await read(node)).metadata).toMatchObject({
      labels: { [LABEL]: record.fence },
      annotations: { 'cloudfence.dev/fence': JSON.stringify(parked) },
    });
  });

  it('writes a tombstone that a kubelet cannot write, and removes it', async () => {
    const node = await makeNode(harness());
    const tombstone = { fence: 'fence-1', boot: '0123456789abcd' };
    const step: ClusterStep = { do: 'set-tombstone', node: targetOf(node), tombstone };
    expect([await apply(step), await apply(step)]).toEqual(['done', 'already']);
    const label = (await read(node)).metadata.labels?.[LABEL] ?? null;
    expect(label).toBe('fence-1_removed_0123456789abcd');
    expect(await apply({ do: 'set-tombstone', node: { ...targetOf(node), label }, tombstone: null })).toBe('done');
    expect((await read(node)).metadata.labels?.[LABEL]).toBeUndefined();
  });

  it('does not replace the label of a later fence by a tombstone, and does not remove it', async () => {
    const { node, record, text } = await marked();
    const next = { ...record, fence: 'fence-2' };
    await apply(mark(node, next, text));
    const seen = { ...targetOf(node, text), recordText: JSON.stringify(next) };
    for (const tombstone of [{ fence: record.fence, boot: '0123456789abcd' }, null])
      await expect(apply({ do: 'set-tombstone', node: seen, tombstone })).rejects.toThrow(Refused);
    expect((await read(node)).metadata.labels?.[LABEL]).toBe('fence-2');
  });

  it('notes when a machine was first seen stopping, where no kubelet may write, and removes the note', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const seen = async () =>
      (
        await harness().cluster.look(
          { query: queryFor(machine, node.name), node: node.name, remembered: null, successorsOf: [] },
          unhurried(),
        )
      ).node?.stopping;
    const stopping = { at: Date.UTC(2026, 10, 21, 9, 0, 7, 1), boot: '0123456789abcd' };
    const note: ClusterStep = { do: 'note-stopping', node: targetOf(node), stopping };
    expect([await apply(note), await apply(note)]).toEqual(['done', 'already']);
    expect((await read(node)).metadata.labels?.[STOPPING_LABEL]).toBe('2026-11-21T09-00-08Z_in_0123456789abcd');
    expect(await seen()).toEqual({ ...stopping, at: Date.UTC(2026, 10, 21, 9, 0, 8) });
    const forget: ClusterStep = { ...note, stopping: null };
    expect([await apply(forget), await apply(forget)]).toEqual(['done', 'already']);
    expect(await seen()).toBeNull();
    await expect(apply({ ...note, node: { ...targetOf(node), uid: 'another' } })).rejects.toThrow(Refused);
    for (const garbled of ['true', '2026-13-41T99-00-00Z_in_0123456789abcd', '2026-11-21T09-00-08Z_in_']) {
      await harness().admin('PATCH', `${NODES}/${node.name}`, {
        metadata: { labels: { [STOPPING_LABEL]: garbled.replace(/_$/, '') } },
      });
      expect(await seen(), garbled).toBeNull();
    }
  });

  it('deletes only the Node that was read, and reports a Node that is gone as already deleted', async () => {
    const node = await makeNode(harness());
    const name = fresh('gone');
    await harness().admin('PATCH', `${NODES}/${node.name}`, { metadata: { labels: { touched: 'yes' } } });
    // A recheck that has read the Node since then does not change which Node was read.
    await harness().cluster.recheck(node.name, unhurried());
    await expect(apply({ do: 'delete-node', node: targetOf(node) })).rejects.toThrow(Refused);
    const { metadata } = await read(node);
    expect(await apply({ do: 'delete-node', node: { ...targetOf(metadata), uid: 'an-older-one' } })).toBe('already');
    expect(await apply({ do: 'delete-node', node: targetOf(metadata) })).toBe('done');
    expect((await harness().admin('GET', `${NODES}/${node.name}`)).status).toBe(404);
    expect(await apply({ do: 'delete-node', node: targetOf({ ...node, name }) })).toBe('already');
  });
};
