import type { FenceRecord } from '../../fencing/model/record.ts';
import { brokenSeal, sealLabel } from '../../kubernetes/record-seal.ts';
import { describe, expect, it } from 'vitest';
import { Refused } from '../../fencing/model/errors.ts';
import { fencePatch, type FenceStep, liftWithoutRecord } from '../../kubernetes/fence-patch.ts';
import { hasOwnTaint, nodeFacts } from '../../kubernetes/node-facts.ts';
import { recordFor, targetOf } from '../contract/cluster/harness.ts';

const meta = { name: 'n1', uid: 'u1', resourceVersion: '7' };
const record = recordFor(meta, 'i-1');
const text = JSON.stringify(record);
const taint = (key: string, effect = 'NoSchedule') => ({ key, effect });
const OUT = taint('node.kubernetes.io/out-of-service');
const QUARANTINE = taint('cloudfence.dev/quarantine');
const OWN_VALUE = 'fence-1_in_0000000aaaaaaa';
const RECORD_PATH = '/metadata/annotations/cloudfence.dev~1fence';
const SEAL_PATH = '/metadata/labels/cloudfence.node-restriction.kubernetes.io~1record';
const sealOf = (sealed: FenceRecord) => Object.values(sealLabel(sealed))[0];
const TAINT_LABEL_PATH = '/metadata/labels/cloudfence.node-restriction.kubernetes.io~1out-of-service';
const OWN_TAINT_LABEL = 'cloudfence.node-restriction.kubernetes.io/out-of-service';
const LABEL_PATH = '/metadata/labels/cloudfence.node-restriction.kubernetes.io~1fenced';

const node = (
  taints: { key: string; effect: string; value?: string }[],
  annotations?: Record<string, string>,
  labels?: Record<string, string>,
) => ({
  metadata: { ...meta, ...(annotations && { annotations }), ...(labels && { labels }) },
  spec: { taints },
});
const fenced = (taints: { key: string; effect: string; value?: string }[], taintIs = 'ours') =>
  node(
    taints,
    { 'cloudfence.dev/fence': text },
    {
      'cloudfence.node-restriction.kubernetes.io/fenced': record.fence,
      ...sealLabel(record),
      ...(taintIs === 'ours' && {
        'cloudfence.node-restriction.kubernetes.io/out-of-service': OWN_VALUE,
      }),
    },
  );

/** The Node as a look shows it, if nothing has changed since. */
const asRead = (one: ReturnType<typeof node>) => {
  const { label, taints, recordText, unmatchedSeal } = nodeFacts(one, []);
  return { ...targetOf(meta), recordText, label, unmatchedSeal, quarantined: taints.quarantine };
};

describe('the patch that marks', () => {
  it('tests what was seen, and then adds to it', () => {
    const patch = fencePatch(node([taint('a')], { x: 'y' }, { l: 'm' }), {
      do: 'mark',
      node: targetOf(meta),
      record,
      addOutOfService: true,
    });
    expect(patch).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u1' },
      { op: 'test', path: '/metadata/resourceVersion', value: '7' },
      { op: 'test', path: '/status/nodeInfo/bootID', value: 'boot-1' },
      { op: 'add', path: RECORD_PATH, value: text },
      { op: 'add', path: LABEL_PATH, value: 'fence-1' },
      { op: 'add', path: SEAL_PATH, value: sealOf(record) },
      { op: 'add', path: TAINT_LABEL_PATH, value: expect.stringMatching(/^fence-1_in_[0-9a-z]{14}$/) },
      {
        op: 'add',
        path: '/spec/taints/-',
        value: { ...OUT, value: expect.stringMatching(/^fence-1_in_[0-9a-z]{14}$/) },
      },
      { op: 'add', path: '/spec/taints/-', value: { ...QUARANTINE, value: 'fenced' } },
    ]);
  });

  it('tests the text of an older record instead of the resourceVersion', () => {
    const next = { ...record, fence: 'fence-2' };
    const patch = fencePatch(fenced([{ ...OUT, value: OWN_VALUE }, QUARANTINE]), {
      do: 'mark',
      node: targetOf(meta, text),
      record: next,
      addOutOfService: true,
    });
    expect(patch).toContainEqual({ op: 'test', path: RECORD_PATH, value: text });
    expect(JSON.stringify(patch)).not.toContain('resourceVersion');
    expect(JSON.stringify(patch)).not.toContain('"add","path":"/spec/taints');
  });

  it('tests each taint of an earlier fence that it keeps', () => {
    const target = targetOf(meta, text);
    const ofTaints = (taints: Parameters<typeof fenced>[0], outOfService: FenceRecord['outOfService']) => {
      const next = { ...record, fence: 'fence-2', outOfService };
      const patch = fencePatch(fenced(taints), { do: 'mark', node: target, record: next, addOutOfService: false });
      return patch === 'already' ? patch : patch.filter(({ path }) => path.startsWith('/spec/taints'));
    };
    expect(ofTaints([{ ...OUT, value: OWN_VALUE }, taint('a'), { ...QUARANTINE, value: 'fenced' }], 'ours')).toEqual([
      { op: 'test', path: '/spec/taints/2/key', value: QUARANTINE.key },
      { op: 'test', path: '/spec/taints/2/effect', value: 'NoSchedule' },
      { op: 'test', path: '/spec/taints/2/value', value: 'fenced' },
      { op: 'test', path: '/spec/taints/0/key', value: OUT.key },
      { op: 'test', path: '/spec/taints/0/effect', value: 'NoSchedule' },
      { op: 'test', path: '/spec/taints/0/value', value: OWN_VALUE },
    ]);
    expect(ofTaints([taint('a'), QUARANTINE], 'unsupported')).toEqual([
      { op: 'test', path: '/spec/taints/1/key', value: QUARANTINE.key },
      { op: 'test', path: '/spec/taints/1/effect', value: 'NoSchedule' },
    ]);
  });

  it('sets only the quarantine if the cluster does not know the out-of-service taint', () => {
    const patch = fencePatch(node([]), {
      do: 'mark',
      node: targetOf(meta),
      record: { ...record, outOfService: 'unsupported' },
      addOutOfService: false,
    });
    expect(patch).toContainEqual({ op: 'add', path: '/spec/taints', value: [{ ...QUARANTINE, value: 'fenced' }] });
  });

  it('sets its own quarantine next to a taint with the same key and another effect', () => {
    const other = taint('cloudfence.dev/quarantine', 'NoExecute');
    const standing = node([other], {}, {});
    const patch = fencePatch(standing, {
      do: 'mark',
      node: asRead(standing),
      record: { ...record, outOfService: 'unsupported' },
      addOutOfService: false,
    });
    expect(patch).toContainEqual({ op: 'add', path: '/spec/taints/-', value: { ...QUARANTINE, value: 'fenced' } });
  });
});

describe('the patch that marks a Node on which something is already there', () => {
  it('is not created if someone has changed the label meanwhile', () => {
    const labelled = node([], {}, { 'cloudfence.node-restriction.kubernetes.io/fenced': 'fence-0_removed_0' });
    expect(() => fencePatch(labelled, mark)).toThrow('someone else labelled Node n1');
    const tombstone = { fence: 'fence-1', boot: '0123456789abcd' };
    expect(() => fencePatch(labelled, { do: 'set-tombstone', node: mark.node, tombstone })).toThrow(
      'someone else labelled Node n1',
    );
    const note = { do: 'note-stopping', node: mark.node, stopping: null } as const;
    expect(
      fencePatch(
        { metadata: { ...labelled.metadata, labels: { ...labelled.metadata.labels, [STOPPING]: 'x' } } },
        note,
      ),
    ).toHaveLength(2);
    const seen = { ...mark, node: { ...mark.node, label: 'fence-0_removed_0' } };
    expect(fencePatch(labelled, seen)).toContainEqual({ op: 'test', path: LABEL_PATH, value: 'fence-0_removed_0' });
  });

  const STOPPING = 'cloudfence.node-restriction.kubernetes.io/stopping';
  const mark = { do: 'mark', node: targetOf(meta), record, addOutOfService: true } as const;

  it('does not claim someone else’s taint because our label is next to it', () => {
    const beside = node([{ ...OUT, value: 'nodeshutdown' }], {}, { [OWN_TAINT_LABEL]: OWN_VALUE });
    expect(() => fencePatch(beside, mark)).toThrow('got an out-of-service taint from someone else');
  });

  it('does not continue without a taint that someone has removed since the read', () => {
    const seen = { ...mark.node, quarantined: true };
    const step = { ...mark, node: seen, addOutOfService: false };
    expect(() => fencePatch(node([QUARANTINE], {}, {}), step)).toThrow('someone else removed a taint of Node n1');
    expect(fencePatch(node([QUARANTINE, { ...OUT, value: OWN_VALUE }], {}, {}), step)).not.toBe('already');
    const parked = { ...step, record: { ...record, released: '2026-11-21T10:05:00.000Z' } };
    const foreign = { ...step, record: { ...record, outOfService: 'unsupported' } } as const;
    for (const without of [parked, foreign])
      expect(fencePatch(node([QUARANTINE], {}, {}), without)).not.toBe('already');
  });

  it('does not restore a quarantine that someone has removed since the read', () => {
    const standing = node([taint('a')], {}, {});
    const target = { ...targetOf(meta), quarantined: true };
    expect(() => fencePatch(standing, { ...mark, node: target })).toThrow('someone else removed a taint of Node n1');
    expect(JSON.stringify(fencePatch(standing, mark))).toContain(QUARANTINE.key);
  });

  it('is not created if the Node got a quarantine since the read, although nothing else of that fence is left', () => {
    for (const step of [mark, { ...mark, addOutOfService: false }])
      expect(() => fencePatch(node([QUARANTINE], {}, {}), step)).toThrow('someone else fenced Node n1');
  });

  it('notes a stop only on the Node that was seen', () => {
    const stopping = { at: 0, boot: '0123456789abcd' };
    const step = { do: 'note-stopping', node: targetOf(meta), stopping } as const;
    expect(fencePatch(node([], {}, {}), step)).toContainEqual({ op: 'test', path: '/metadata/uid', value: 'u1' });
  });

  it('removes the note of a stop', () => {
    const path = `/metadata/labels/${STOPPING.replace('/', '~1')}`;
    expect(fencePatch(node([], {}, { [STOPPING]: 'since' }), mark)).toContainEqual({ op: 'remove', path });
    expect(JSON.stringify(fencePatch(node([], {}, { l: 'm' }), mark))).not.toContain('"remove"');
  });

  it('also tests the resourceVersion for a missing seal, and for each whole list or whole map that it adds', () => {
    const tests = (...written: Parameters<typeof node>) =>
      JSON.stringify(
        fencePatch(node(...written), {
          ...mark,
          node: { ...targetOf(meta, text), quarantined: false },
          record: { ...record, fence: 'fence-2' },
        }),
      ).split('resourceVersion').length - 1;
    const of = { 'cloudfence.dev/fence': text };
    const sealed = sealLabel(record);
    expect(tests([taint('a')], of, sealed)).toBe(0);
    expect(tests([], of, sealed)).toBe(1);
    expect(tests([taint('a')], of, { l: 'm' })).toBe(1);
    expect(tests([], of)).toBe(3);
  });
});

describe('a patch for another Node', () => {
  const other = { ...targetOf(meta, text), uid: 'u2' };
  it('is not created, even if everything on the Node is as the step wants it', () => {
    const marked = fenced([{ ...OUT, value: OWN_VALUE }, QUARANTINE]);
    for (const step of [
      { do: 'note', node: other, record },
      { do: 'release-node', node: { ...other, recordText: null }, record, tombstone: null },
      { do: 'lift-out-of-service', node: { ...other, recordText: null }, record: null },
    ] as const) {
      expect(() => fencePatch(step.do === 'note' ? marked : node([]), step)).toThrow(Refused);
      expect(() => fencePatch(step.do === 'note' ? marked : node([]), step)).toThrow('now belongs to another Node');
    }
  });
});

describe('the patch that parks', () => {
  const parked = { ...record, phase: 'fenced' } as const;
  const park = { do: 'park', node: targetOf(meta, text), record: parked } as const;

  it('removes our taint and its label, and sets the label of the fence again if someone removed it', () => {
    const standing = node(
      [taint(OUT.key, 'NoExecute'), { ...OUT, value: OWN_VALUE }, QUARANTINE],
      { 'cloudfence.dev/fence': text },
      { [OWN_TAINT_LABEL]: OWN_VALUE, ...sealLabel(record) },
    );
    expect(fencePatch(standing, { ...park, node: { ...park.node, label: null } })).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u1' },
      { op: 'test', path: RECORD_PATH, value: text },
      { op: 'test', path: SEAL_PATH, value: sealOf(record) },
      { op: 'test', path: '/status/nodeInfo/bootID', value: 'boot-1' },
      { op: 'test', path: '/spec/taints/2/key', value: QUARANTINE.key },
      { op: 'test', path: '/spec/taints/2/effect', value: 'NoSchedule' },
      { op: 'test', path: '/spec/taints/1/key', value: OUT.key },
      { op: 'test', path: '/spec/taints/1/effect', value: 'NoSchedule' },
      { op: 'test', path: '/spec/taints/1/value', value: OWN_VALUE },
      { op: 'remove', path: '/spec/taints/1' },
      { op: 'remove', path: TAINT_LABEL_PATH },
      { op: 'add', path: RECORD_PATH, value: JSON.stringify(parked) },
      { op: 'add', path: LABEL_PATH, value: 'fence-1' },
      { op: 'add', path: SEAL_PATH, value: sealOf(parked) },
    ]);
  });

  it('is not created twice', () => {
    const written = { 'cloudfence.dev/fence': JSON.stringify(parked) };
    expect(fencePatch(node([QUARANTINE], written, sealLabel(parked)), park)).toBe('already');
    // A kubelet wrote the same record before.
    expect(() => fencePatch(node([QUARANTINE], written), park)).toThrow(Refused);
  });

  it('tests the label that the step has seen, even if that is a tombstone by now', () => {
    const buried = node(
      [{ ...OUT, value: OWN_VALUE }, QUARANTINE],
      { 'cloudfence.dev/fence': text },
      { 'cloudfence.node-restriction.kubernetes.io/fenced': `${record.fence}_removed_0000000aaaaaaa` },
    );
    expect(fencePatch(buried, park)).toContainEqual({ op: 'test', path: LABEL_PATH, value: record.fence });
  });
});

describe('the patch that ends a mark', () => {
  const ends = (phase: 'fenced' | 'lifted' | 'releasing') =>
    ({
      do: phase === 'fenced' ? 'park' : 'lift-out-of-service',
      node: targetOf(meta, text),
      record: { ...record, phase },
    }) as const;

  it.each([
    ['tests', 'that a person ends in the boot that the Node showed', 'releasing', 'boot-1', 'boot-1', true],
    ['does not test', 'whose record names another boot', 'releasing', 'boot-0', 'boot-1', false],
    ['does not test', 'whose machine may write', 'lifted', 'boot-1', 'boot-1', false],
    ['does not test', 'whose record names no boot, of a Node that shows none', 'releasing', '', '', false],
  ] as const)('%s the boot for a fence %s', (_, _case, phase, recorded, shown, tested) => {
    const step = ends(phase);
    const patch = fencePatch(fenced([{ ...OUT, value: OWN_VALUE }, QUARANTINE]), {
      ...step,
      do: 'lift-out-of-service',
      node: { ...step.node, bootID: shown },
      record: { ...step.record, bootID: recorded },
    });
    const test = { op: 'test', path: '/status/nodeInfo/bootID', value: shown };
    expect(Array.isArray(patch) && patch.some((one) => JSON.stringify(one) === JSON.stringify(test))).toBe(tested);
  });

  it.each(['fenced', 'lifted'] as const)('is not created if someone else removed the taint meanwhile (%s)', (phase) => {
    expect(() => fencePatch(fenced([QUARANTINE]), ends(phase))).toThrow(Refused);
    expect(() => fencePatch(fenced([QUARANTINE]), ends(phase))).toThrow(
      'someone else removed the out-of-service taint',
    );
  });

  it('is created if the removed taint belonged to another fence, in an earlier boot', () => {
    const next = { ...ends('fenced'), record: { ...record, fence: 'run.9', phase: 'fenced' as const } };
    expect(fencePatch(fenced([QUARANTINE]), next)).not.toBe('already');
  });

  it('is created if the person who removed the taint releases the fence', () => {
    expect(fencePatch(fenced([QUARANTINE]), ends('releasing'))).not.toBe('already');
  });

  it('is created if someone else’s taint has replaced ours', () => {
    expect(fencePatch(fenced([taint(OUT.key, 'NoExecute'), QUARANTINE]), ends('fenced'))).not.toBe('already');
  });

  it.each([{ released: record.begun }, { outOfService: 'foreign' as const }])(
    'is created if Cloudfence had no taint there (%j)',
    (change) => {
      const written = JSON.stringify({ ...record, ...change });
      const standing = node([QUARANTINE], { 'cloudfence.dev/fence': written }, { l: 'm' });
      const target = { ...targetOf(meta, written), label: null };
      expect(fencePatch(standing, { ...ends('fenced'), node: target })).not.toBe('already');
    },
  );
});

describe('the patch that removes', () => {
  it('removes the record of a fence whose taints and labels someone removed', () => {
    const left = node([], { 'cloudfence.dev/fence': text }, {});
    const target = { ...targetOf(meta, text), label: null };
    expect(fencePatch(left, { do: 'release-node', node: target, record, tombstone: null })).toContainEqual({
      op: 'remove',
      path: RECORD_PATH,
    });
  });

  it('removes the label of a fence without a record, and no record', () => {
    const label = { 'cloudfence.node-restriction.kubernetes.io/fenced': 'fence-1_removed_0' };
    const standing = node([taint(QUARANTINE.key, 'NoExecute')], {}, label);
    const target = asRead(standing);
    expect(
      fencePatch(standing, {
        do: 'release-node',
        node: target,
        record,
        tombstone: null,
      }),
    ).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u1' },
      { op: 'test', path: LABEL_PATH, value: 'fence-1_removed_0' },
      { op: 'test', path: '/metadata/resourceVersion', value: '7' },
      { op: 'test', path: '/status/nodeInfo/bootID', value: 'boot-1' },
      { op: 'remove', path: LABEL_PATH },
    ]);
    expect(JSON.stringify(fencePatch(node([], {}, label), { do: 'note', node: target, record }))).toContain('"add"');
  });

  it('removes the quarantine by its index, with a test of it, and leaves every other taint', () => {
    const patch = fencePatch(fenced([OUT, taint('a'), QUARANTINE]), {
      do: 'release-node',
      node: targetOf(meta, text),
      record,
      tombstone: null,
    });
    expect(patch).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u1' },
      { op: 'test', path: LABEL_PATH, value: 'fence-1' },
      { op: 'test', path: RECORD_PATH, value: text },
      { op: 'test', path: SEAL_PATH, value: sealOf(record) },
      { op: 'test', path: '/status/nodeInfo/bootID', value: 'boot-1' },
      { op: 'test', path: '/spec/taints/2/key', value: QUARANTINE.key },
      { op: 'test', path: '/spec/taints/2/effect', value: 'NoSchedule' },
      { op: 'remove', path: '/spec/taints/2' },
      { op: 'remove', path: TAINT_LABEL_PATH },
      { op: 'remove', path: SEAL_PATH },
      { op: 'remove', path: LABEL_PATH },
      { op: 'remove', path: RECORD_PATH },
    ]);
  });

  it.each([
    ['theirs', OUT],
    ['ours', taint(OUT.key, 'NoExecute')],
  ])('does not remove a taint that is not its own: %s %j', (taintIs, standing) => {
    const patch = fencePatch(fenced([standing], taintIs), {
      do: 'lift-out-of-service',
      node: targetOf(meta, text),
      record: { ...record, phase: 'releasing' },
    });
    expect(JSON.stringify(patch)).not.toContain('/spec/taints');
  });

  it('without a new record tests the Node, its fence, and our taint, too', () => {
    const ours = { ...OUT, value: OWN_VALUE };
    const step = { do: 'lift-out-of-service', node: targetOf(meta, text), record } as const;
    expect(liftWithoutRecord(fenced([ours]), step)).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u1' },
      { op: 'test', path: LABEL_PATH, value: 'fence-1' },
      { op: 'test', path: RECORD_PATH, value: text },
      { op: 'test', path: SEAL_PATH, value: sealOf(record) },
      { op: 'test', path: '/spec/taints/0/key', value: OUT.key },
      { op: 'test', path: '/spec/taints/0/effect', value: OUT.effect },
      { op: 'test', path: '/spec/taints/0/value', value: OWN_VALUE },
      { op: 'remove', path: '/spec/taints/0' },
      { op: 'remove', path: TAINT_LABEL_PATH },
      { op: 'add', path: SEAL_PATH, value: Object.values(brokenSeal)[0] },
    ]);
  });

  it('is not created if no fence was read', () => {
    expect(() => fencePatch(node([OUT]), { do: 'park', node: targetOf(meta), record })).toThrow(Refused);
  });

  it('is created if only the quarantine is left', () => {
    const rest = node([QUARANTINE]);
    const step = { do: 'release-node', node: asRead(rest), record, tombstone: null } as const;
    expect(JSON.stringify(fencePatch(rest, step))).toContain('/spec/taints');
  });
});

describe('the owner of the out-of-service taint', () => {
  const labels = { 'cloudfence.node-restriction.kubernetes.io/fenced': 'fence-1' };
  const beside = { ...labels, 'cloudfence.node-restriction.kubernetes.io/out-of-service': OWN_VALUE };
  it.each<[string, string | undefined, Record<string, string>, boolean]>([
    ['Cloudfence, if the value is ours, even if someone removed our labels', OWN_VALUE, {}, true],
    ['someone else, if they replaced our value with the usual one', 'nodeshutdown', beside, false],
    ['someone else, if there is no value', undefined, beside, false],
    ['someone else, if they replaced our value with their own', 'by-hand', beside, false],
  ])('%s', (_, value, standing, own) => {
    const taints = [{ ...OUT, ...(value !== undefined && { value }) }, QUARANTINE];
    expect(hasOwnTaint(node(taints, { 'cloudfence.dev/fence': text }, standing))).toBe(own);
  });

  it('is tested when the taint is removed', () => {
    const patch = fencePatch(node([{ ...OUT, value: OWN_VALUE }], { 'cloudfence.dev/fence': text }, labels), {
      do: 'lift-out-of-service',
      node: targetOf(meta, text),
      record: { ...record, phase: 'lifted' },
    });
    expect(patch).toContainEqual({ op: 'test', path: '/spec/taints/0/value', value: OWN_VALUE });
    expect(patch).toContainEqual({ op: 'remove', path: '/spec/taints/0' });
  });

  it.each<[string, { key: string; effect: string; value?: string }[], boolean]>([
    ['if this patch adds the taint', [], true],
    ['if the taint is already there', [{ ...OUT, value: OWN_VALUE }], false],
  ])('is written in its value, and in a label: %s', (_, taints, addOutOfService) => {
    const standing = node(taints);
    const patch = fencePatch(standing, { do: 'mark', node: asRead(standing), record, addOutOfService });
    expect(JSON.stringify(patch)).toContain('out-of-service":"fence-1_in_');
  });

  it.each([
    ['NoSchedule', { ...OUT, value: 'nodeshutdown' }],
    ['NoExecute, as Azure’s cloud controller sets it', taint(OUT.key, 'NoExecute')],
  ])('is no longer written in the label if someone else’s taint has replaced ours: %s', (_, theirs) => {
    const standing = node([theirs], {}, beside);
    const patch = fencePatch(standing, {
      do: 'mark',
      node: asRead(standing),
      record,
      addOutOfService: false,
    });
    expect(patch).toContainEqual({ op: 'remove', path: TAINT_LABEL_PATH });
    expect(patch).not.toContainEqual(expect.objectContaining({ op: 'add', path: TAINT_LABEL_PATH }));
  });

  it('is not Cloudfence because of a label alone, once that boot is over', () => {
    const lone = node([], {}, { 'cloudfence.node-restriction.kubernetes.io/out-of-service': OWN_VALUE });
    expect(fencePatch(lone, { do: 'set-tombstone', node: asRead(lone), tombstone: null })).toContainEqual({
      op: 'remove',
      path: TAINT_LABEL_PATH,
    });
    expect(fencePatch(node([], {}, {}), { do: 'set-tombstone', node: targetOf(meta), tombstone: null })).toBe(
      'already',
    );
  });
});

describe('the facts about a fence on a Node', () => {
  const other = 'fence-2_in_1111111bbbbbbb';

  it('name the boot from the taint, and from the label only if the taint has none', () => {
    const labels = { 'cloudfence.node-restriction.kubernetes.io/out-of-service': other };
    const boot = (taints: { key: string; effect: string; value?: string }[]) =>
      nodeFacts(node(taints, {}, labels), []).taintedFor?.boot;
    expect(boot([{ ...OUT, value: OWN_VALUE }])).toBe('0000000aaaaaaa');
    expect(boot([OUT])).toBe('1111111bbbbbbb');
  });

  it('concern the Node that has the record, whatever name its kubelet writes', () => {
    const written = JSON.stringify({ ...record, node: 'another-node' });
    const labels = { 'cloudfence.node-restriction.kubernetes.io/fenced': record.fence };
    expect(nodeFacts(node([QUARANTINE], { 'cloudfence.dev/fence': written }, labels), []).record?.node).toBe('n1');
  });
});

describe('a patch that writes to a fence', () => {
  const target = targetOf(meta, text);
  const steps: readonly FenceStep[] = [
    { do: 'note', node: target, record: { ...record, begun: '2026-11-21T10:05:00.000Z' } },
    { do: 'lift-out-of-service', node: target, record: { ...record, phase: 'releasing' } },
    { do: 'set-tombstone', node: target, tombstone: { fence: 'fence-1', boot: 'boot-1' } },
  ];
  it.each(steps)('tests the record and the seal that were read: $do', (step) => {
    const patch = fencePatch(fenced([QUARANTINE]), step);
    expect(patch).toContainEqual({ op: 'test', path: RECORD_PATH, value: text });
    expect(patch).toContainEqual({ op: 'test', path: SEAL_PATH, value: sealOf(record) });
  });

  it('tests the version of a Node without a record', () => {
    const tombstone = { fence: 'fence-1', boot: 'boot-1' };
    expect(fencePatch(node([]), { do: 'set-tombstone', node: targetOf(meta), tombstone })).toContainEqual({
      op: 'test',
      path: '/metadata/resourceVersion',
      value: '7',
    });
  });
});

describe('a patch of a Node whose record is not the one that was read', () => {
  const marked = fenced([{ ...OUT, value: OWN_VALUE }, QUARANTINE]);
  const lifted = { ...record, phase: 'lifted', released: '2026-11-21T10:05:00.000Z' } as const;

  it('is not created for a step that was decided without a record', () => {
    const target = { ...targetOf(meta), label: record.fence };
    expect(() => fencePatch(marked, { do: 'note', node: target, record: lifted })).toThrow('changed the fence of Node');
  });

  it('tests the seal that had no record at the read', () => {
    const lost = node([{ ...OUT, value: OWN_VALUE }], {}, sealLabel(record));
    const seal = { op: 'test', path: SEAL_PATH, value: sealOf(record) };
    expect(fencePatch(lost, { do: 'lift-out-of-service', node: asRead(lost), record: null })).toContainEqual(seal);
    const marks = { do: 'mark', node: asRead(lost), record: lifted, addOutOfService: false } as const;
    expect(fencePatch(lost, marks)).toContainEqual({ op: 'test', path: '/metadata/resourceVersion', value: '7' });
  });

  it('is not created for a lift that writes the record', () => {
    const target = { ...asRead(marked), recordText: 'another' };
    const lift = { do: 'lift-out-of-service', node: target, record: lifted } as const;
    expect(() => fencePatch(marked, lift)).toThrow('changed the fence of Node');
    expect(fencePatch(marked, { ...lift, record: null })).toContainEqual({ op: 'remove', path: '/spec/taints/0' });
  });

  it('is created if only the seal is already that of the new record', () => {
    const later = { ...record, begun: '2026-11-21T10:05:00.000Z' };
    const sealed = {
      ...marked,
      metadata: { ...marked.metadata, labels: { ...marked.metadata.labels, ...sealLabel(later) } },
    };
    const patch = fencePatch(sealed, { do: 'note', node: targetOf(meta, text), record: later });
    expect(patch).toContainEqual({ op: 'add', path: RECORD_PATH, value: JSON.stringify(later) });
  });

  it('keeps the seal next to a tombstone as long as the record is there', () => {
    const sealed = {
      ...marked,
      metadata: { ...marked.metadata, labels: { ...marked.metadata.labels, ...sealLabel(record) } },
    };
    const tombstone = { fence: record.fence, boot: '0123456789abcd' };
    const patch = fencePatch(sealed, { do: 'set-tombstone', node: targetOf(meta, text), tombstone });
    expect(patch).not.toContainEqual({ op: 'remove', path: SEAL_PATH });
    expect(patch).toContainEqual({ op: 'add', path: LABEL_PATH, value: `${record.fence}_removed_0123456789abcd` });
  });

  it.each([null, { fence: record.fence, boot: 'another' }])(
    'loses its seal if it is gone (tombstone: %j)',
    (tombstone) => {
      const left = node(
        [],
        {},
        { 'cloudfence.node-restriction.kubernetes.io/fenced': record.fence, ...sealLabel(record) },
      );
      expect(fencePatch(left, { do: 'set-tombstone', node: asRead(left), tombstone })).toContainEqual({
        op: 'remove',
        path: SEAL_PATH,
      });
    },
  );

  it('goes with the tombstone if someone has changed it, but only as the last part of its fence', () => {
    const tombstone = { 'cloudfence.node-restriction.kubernetes.io/fenced': `${record.fence}_removed_0123456789abcd` };
    const patch = (taints: Parameters<typeof node>[0], sealed: FenceRecord, kept: typeof after | null = null) => {
      const standing = node(taints, { 'cloudfence.dev/fence': text }, { ...tombstone, ...sealLabel(sealed) });
      return fencePatch(standing, { do: 'set-tombstone', node: asRead(standing), tombstone: kept });
    };
    const after = { fence: record.fence, boot: 'another' };
    const another = { ...record, bootID: 'boot-2' };
    const removesBoth = [RECORD_PATH, SEAL_PATH].map((path) => ({ op: 'remove', path }));
    expect(patch([], another)).toEqual(expect.arrayContaining(removesBoth));
    const left = {
      'the record is the one that was sealed': patch([], record),
      'a tombstone stays': patch([], another, after),
      'the quarantine stays': patch([QUARANTINE], another),
      'our taint stays': patch([{ ...OUT, value: OWN_VALUE }], another),
    };
    for (const removal of removesBoth)
      expect(Object.entries(left).filter(([, ops]) => JSON.stringify(ops).includes(JSON.stringify(removal)))).toEqual(
        [],
      );
  });
});
