import { describe, expect, it } from 'vitest';
import { Refused } from '../../fencing/model/errors.ts';
import { fencePatch } from '../../kubernetes/fence-patch.ts';
import { hasOwnTaint } from '../../kubernetes/node-facts.ts';
import { recordFor, targetOf } from '../contract/cluster/stage.ts';

const meta = { name: 'n1', uid: 'u1', resourceVersion: '7' };
const record = recordFor(meta, 'i-1');
const text = JSON.stringify(record);
const taint = (key: string, effect = 'NoSchedule') => ({ key, effect });
const OUT = taint('node.kubernetes.io/out-of-service');
const QUARANTINE = taint('cloudfence.dev/quarantine');
const RECORD_PATH = '/metadata/annotations/cloudfence.dev~1fence';
const TAINT_LABEL_PATH = '/metadata/labels/cloudfence.node-restriction.kubernetes.io~1out-of-service';
const LABEL_PATH = '/metadata/labels/cloudfence.node-restriction.kubernetes.io~1fenced';

const node = (
  taints: { key: string; effect: string; value?: string }[],
  annotations?: Record<string, string>,
  labels?: Record<string, string>,
) => ({
  metadata: { ...meta, ...(annotations && { annotations }), ...(labels && { labels }) },
  spec: { taints },
});
const fenced = (taints: { key: string; effect: string }[], taintIs = 'ours') =>
  node(
    taints,
    { 'cloudfence.dev/fence': text },
    {
      'cloudfence.node-restriction.kubernetes.io/fenced': record.fence,
      ...(taintIs === 'ours' && {
        'cloudfence.node-restriction.kubernetes.io/out-of-service': 'fence-1_in_0000000aaaaaaa',
      }),
    },
  );

describe('the patch that marks', () => {
  it('tests what was seen and then adds to what is there', () => {
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
      { op: 'add', path: TAINT_LABEL_PATH, value: expect.stringMatching(/^fence-1_in_[0-9a-z]{14}$/) },
      {
        op: 'add',
        path: '/spec/taints/-',
        value: { ...OUT, value: expect.stringMatching(/^fence-1_in_[0-9a-z]{14}$/) },
      },
      { op: 'add', path: '/spec/taints/-', value: { ...QUARANTINE, value: 'fenced' } },
    ]);
  });

  it('over an older record tests its text instead of the resourceVersion', () => {
    const next = { ...record, fence: 'fence-2' };
    const patch = fencePatch(fenced([OUT, QUARANTINE]), {
      do: 'mark',
      node: targetOf(meta, text),
      record: next,
      addOutOfService: true,
    });
    expect(patch).toContainEqual({ op: 'test', path: RECORD_PATH, value: text });
    expect(JSON.stringify(patch)).not.toContain('resourceVersion');
    expect(JSON.stringify(patch)).not.toContain('/spec/taints');
  });

  it('sets the quarantine alone where the cluster does not know the out-of-service taint', () => {
    const patch = fencePatch(node([]), {
      do: 'mark',
      node: targetOf(meta),
      record: { ...record, outOfService: 'unsupported' },
      addOutOfService: false,
    });
    expect(patch).toContainEqual({ op: 'add', path: '/spec/taints', value: [{ ...QUARANTINE, value: 'fenced' }] });
  });

  it('sets its own quarantine beside one of another effect', () => {
    const other = taint('cloudfence.dev/quarantine', 'NoExecute');
    const patch = fencePatch(node([other], {}, {}), {
      do: 'mark',
      node: targetOf(meta),
      record,
      addOutOfService: false,
    });
    expect(patch).toContainEqual({ op: 'add', path: '/spec/taints/-', value: { ...QUARANTINE, value: 'fenced' } });
  });
});

describe('the patch that takes back', () => {
  it('removes the quarantine, tested at its place, and leaves every other taint', () => {
    const patch = fencePatch(fenced([OUT, taint('a'), QUARANTINE]), {
      do: 'readmit-pods',
      node: targetOf(meta, text),
      record,
      tombstone: null,
    });
    expect(patch).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u1' },
      { op: 'test', path: LABEL_PATH, value: 'fence-1' },
      { op: 'test', path: RECORD_PATH, value: text },
      { op: 'test', path: '/status/nodeInfo/bootID', value: 'boot-1' },
      { op: 'test', path: '/spec/taints/2/key', value: QUARANTINE.key },
      { op: 'test', path: '/spec/taints/2/effect', value: 'NoSchedule' },
      { op: 'remove', path: '/spec/taints/2' },
      { op: 'remove', path: TAINT_LABEL_PATH },
      { op: 'remove', path: LABEL_PATH },
      { op: 'remove', path: RECORD_PATH },
    ]);
  });

  it.each([
    ['theirs', OUT],
    ['ours', taint(OUT.key, 'NoExecute')],
  ])('leaves a taint alone that is not its own: %s %j', (taintIs, standing) => {
    const patch = fencePatch(fenced([standing], taintIs), {
      do: 'readmit-volumes',
      node: targetOf(meta, text),
      record: { ...record, phase: 'releasing' },
    });
    expect(JSON.stringify(patch)).not.toContain('/spec/taints');
  });

  it('is refused where no fence was read', () => {
    expect(() =>
      fencePatch(node([QUARANTINE]), { do: 'readmit-pods', node: targetOf(meta), record, tombstone: null }),
    ).toThrow(Refused);
  });
});

describe('whose the out-of-service taint is', () => {
  const labels = { 'cloudfence.node-restriction.kubernetes.io/fenced': 'fence-1' };
  const beside = { ...labels, 'cloudfence.node-restriction.kubernetes.io/out-of-service': 'fence-1_in_0000000aaaaaaa' };
  it.each<[string, string | undefined, Record<string, string>, boolean]>([
    ['ours, as its own value says, whoever removed our labels', 'fence-1_in_0000000aaaaaaa', {}, true],
    ['ours, as the label beside it says: earlier versions wrote what everybody writes', 'nodeshutdown', beside, true],
    ['ours, as the label beside it says, without any value', undefined, beside, true],
    ["somebody else's without either", 'nodeshutdown', labels, false],
    ["somebody else's, where they have put a value of theirs in the place of ours", 'by-hand', beside, false],
  ])('%s', (_, value, standing, own) => {
    const taints = [{ ...OUT, ...(value !== undefined && { value }) }, QUARANTINE];
    expect(hasOwnTaint(node(taints, { 'cloudfence.dev/fence': text }, standing))).toBe(own);
  });

  it('is tested when it is taken off', () => {
    const value = 'fence-1_in_0000000aaaaaaa';
    const patch = fencePatch(node([{ ...OUT, value }], { 'cloudfence.dev/fence': text }, labels), {
      do: 'readmit-volumes',
      node: targetOf(meta, text),
      record: { ...record, phase: 'lifted' },
    });
    expect(patch).toContainEqual({ op: 'test', path: '/spec/taints/0/value', value });
    expect(patch).toContainEqual({ op: 'remove', path: '/spec/taints/0' });
  });
});

describe('a fence that an earlier version began', () => {
  const begunBefore = (released: string | null) =>
    node(
      [OUT, QUARANTINE],
      { 'cloudfence.dev/fence': JSON.stringify({ ...record, outOfService: 'ours', released }) },
      { 'cloudfence.node-restriction.kubernetes.io/fenced': 'true' },
    );

  it.each([
    ['is its own', null, true],
    ["is somebody else's once it has taken its own off", '2026-01-01T12:00:00.000Z', false],
  ])('the taint that stands %s', (_, released, own) => {
    expect(hasOwnTaint(begunBefore(released))).toBe(own);
  });
});
