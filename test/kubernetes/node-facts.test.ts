import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { describe, expect, it } from 'vitest';
import {
  hasFenceTraces,
  hasOwnLabel,
  hasOwnTaint,
  nodeFacts,
  stoppingText,
  taintText,
  tombstoneText,
} from '../../kubernetes/node-facts.ts';
import { recordFor } from '../contract/cluster/harness.ts';

/** What a Node says about its fence. A kubelet or a person may write anything that looks like ours. */

const FENCED = 'cloudfence.node-restriction.kubernetes.io/fenced';
const MARKED = 'cloudfence.node-restriction.kubernetes.io/out-of-service';
const STOPPING = 'cloudfence.node-restriction.kubernetes.io/stopping';
const RECORD = 'cloudfence.dev/fence';
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const BOOT = '0000000aaaaaaa';

const meta = { name: 'n1', uid: 'u1', resourceVersion: '7' };

interface Said {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly taints?: { key: string; effect: string; value?: string }[];
}

const nodeWith = ({ labels, annotations, taints }: Said = {}): V1Node => ({
  metadata: { ...meta, ...(labels && { labels }), ...(annotations && { annotations }) },
  ...(taints && { spec: { taints } }),
});
const factsOf = (said: Said) => nodeFacts(nodeWith(said), []);
const markedBy = (value: string | undefined, effect = 'NoSchedule') => ({
  key: OUT_OF_SERVICE,
  effect,
  ...(value !== undefined && { value }),
});

it('a Node whose deletion was requested says so', () => {
  expect(nodeFacts({ metadata: { deletionTimestamp: new Date(0) } }, []).deleting).toBe(true);
});

describe('an empty Node', () => {
  it('has no fence, and nothing is known about it', () => {
    expect(nodeFacts({}, [])).toEqual({
      name: '',
      uid: '',
      resourceVersion: '',
      created: 0,
      bootID: '',
      ready: 'Unknown',
      readySince: 0,
      deleting: false,
      zone: null,
      untaint: expect.stringContaining('kubectl taint node'),
      dropRecord: expect.stringContaining('kubectl annotate node'),
      controlPlane: false,
      identitySources: [],
      taints: { outOfService: false, ours: false, quarantine: false },
      label: null,
      taintedFor: null,
      tombstone: null,
      stopping: null,
      recordText: null,
      record: null,
      strayRecord: null,
      finalizers: [],
      owners: [],
      optOuts: [],
    });
  });

  it('bears nothing of ours', () => {
    expect([hasOwnTaint({}), hasFenceTraces({}), hasOwnLabel({})]).toEqual([false, false, false]);
  });
});

describe('a Node', () => {
  const born = new Date(Date.UTC(2026, 10, 21, 8));
  const since = new Date(Date.UTC(2026, 10, 21, 9));

  it.each([
    ['True', 'True'],
    ['False', 'False'],
    ['Unknown', 'Unknown'],
    ['Perhaps', 'Unknown'],
  ] as const)('is ready as its condition says: %s', (status, ready) => {
    const conditions = [
      { type: 'DiskPressure', status: 'True', lastTransitionTime: born },
      { type: 'Ready', status, lastTransitionTime: since },
    ];
    const node = { metadata: { ...meta, creationTimestamp: born }, status: { conditions } };
    expect(nodeFacts(node, [])).toMatchObject({ ready, readySince: since.getTime(), created: born.getTime() });
  });

  it('is not ready since its creation if no condition says so', () => {
    const node = { metadata: { ...meta, creationTimestamp: born }, status: { conditions: [] } };
    expect(nodeFacts(node, [])).toMatchObject({ ready: 'Unknown', readySince: born.getTime() });
  });

  it.each([
    [{ 'node-role.kubernetes.io/control-plane': '' }, true],
    [{ 'node-role.kubernetes.io/master': 'true' }, true],
    [{ 'node-role.kubernetes.io/worker': '' }, false],
  ])('belongs to the control plane by its label: %j', (labels, controlPlane) => {
    expect(factsOf({ labels }).controlPlane).toBe(controlPlane);
  });

  it('has the commands that end what a person may have to end', () => {
    const { untaint, dropRecord } = factsOf({});
    expect([untaint, dropRecord]).toEqual([
      `kubectl taint node n1 ${OUT_OF_SERVICE}-`,
      `kubectl annotate node n1 ${RECORD}-`,
    ]);
  });
});

describe('the out-of-service taint', () => {
  const OURS = taintText({ fence: 'fence-1', boot: BOOT });

  it.each([
    ['ours, by its value', OURS, 'NoSchedule', true],
    ['another one’s without a value', undefined, 'NoSchedule', false],
    ['another one’s, as people set it', 'nodeshutdown', 'NoSchedule', false],
    ['another one’s with our value and another effect', OURS, 'NoExecute', false],
    ['another one’s with a boot of another length', `fence-1_in_${BOOT}0`, 'NoSchedule', false],
    ['another one’s without a fence', `_in_${BOOT}`, 'NoSchedule', false],
    ['another one’s with more behind the boot', `${OURS}\n`, 'NoSchedule', false],
    ['another one’s with a boot in capitals', `fence-1_in_${'A'.repeat(14)}`, 'NoSchedule', false],
  ])('is %s', (_whose, value, effect, ours) => {
    const taints = [markedBy(value, effect)];
    expect(factsOf({ taints }).taints).toEqual({ outOfService: true, ours, quarantine: false });
    expect(hasOwnTaint(nodeWith({ taints }))).toBe(ours);
    expect(hasFenceTraces(nodeWith({ taints }))).toBe(ours);
  });

  it('is not ours with our value under another key', () => {
    const taints = [{ key: 'example.com/x', effect: 'NoSchedule', value: OURS }];
    expect(factsOf({ taints }).taints).toEqual({ outOfService: false, ours: false, quarantine: false });
  });

  it('names the fence and the boot, whatever its label says, and the label does if the taint is gone', () => {
    const labels = { [MARKED]: taintText({ fence: 'fence-2', boot: BOOT }) };
    expect(factsOf({ taints: [markedBy(OURS)], labels }).taintedFor).toEqual({ fence: 'fence-1', boot: BOOT });
    expect(factsOf({ taints: [markedBy('nodeshutdown')], labels }).taintedFor).toEqual({
      fence: 'fence-2',
      boot: BOOT,
    });
    expect(factsOf({ labels }).taintedFor).toEqual({ fence: 'fence-2', boot: BOOT });
    expect(factsOf({ labels: { [MARKED]: 'nodeshutdown' } }).taintedFor).toBeNull();
    expect(factsOf({ taints: [markedBy(undefined)] }).taintedFor).toBeNull();
  });
});

describe('the label of a fence', () => {
  const GONE = tombstoneText({ fence: 'fence-1', boot: BOOT });

  it('is a fence, or a tombstone', () => {
    expect(factsOf({ labels: { [FENCED]: 'fence-1' } })).toMatchObject({ label: 'fence-1', tombstone: null });
    expect(factsOf({ labels: { [FENCED]: GONE } })).toMatchObject({
      label: GONE,
      tombstone: { fence: 'fence-1', boot: BOOT },
    });
  });

  it.each([`_removed_${BOOT}`, 'fence-1_removed_', 'fence-1_removed_A', `${GONE}\n`])(
    'is no tombstone of ours: %j',
    (label) => {
      expect(factsOf({ labels: { [FENCED]: label } }).tombstone).toBeNull();
    },
  );

  it.each([
    [{ [FENCED]: 'fence-1' }, [], true],
    [{ [FENCED]: GONE }, [], false],
    [{ [MARKED]: 'fence-1' }, [], false],
    [{}, [{ key: 'cloudfence.dev/quarantine', effect: 'NoSchedule' }], true],
  ])('is the trace of a fence, as a taint is, unless it is a tombstone: %j %j', (labels, taints, traces) => {
    expect(hasFenceTraces(nodeWith({ labels, taints }))).toBe(traces);
  });

  it.each([
    [FENCED, true],
    [MARKED, true],
    [STOPPING, true],
    [RECORD, false],
  ])('is one of those that only we write: %s', (key, own) => {
    expect(hasOwnLabel(nodeWith({ labels: { [key]: 'x' } }))).toBe(own);
    expect(hasOwnLabel(nodeWith({ annotations: { [key]: 'x' } }))).toBe(false);
  });
});

describe('the note of a stop', () => {
  const at = Date.UTC(2026, 10, 21, 9, 0, 8);

  it('is read as it was written, and never seems older than it is', () => {
    const read = (ms: number) => factsOf({ labels: { [STOPPING]: stoppingText({ at: ms, boot: 'b00t' }) } }).stopping;
    expect(stoppingText({ at, boot: 'b00t' })).toBe('2026-11-21T09-00-08Z_in_b00t');
    expect([read(at), read(at - 999), read(at + 1)].map((note) => note?.at)).toEqual([at, at, at + 1_000]);
    expect(read(at)).toEqual({ at, boot: 'b00t' });
  });

  it.each([
    'soon',
    '2026-11-21T09-00-08Z',
    '2026-11-21T09-00-08Z_in_',
    '2026-11-21T09-00-08Z_in_B',
    'x2026-11-21T09-00-08Z_in_b00t',
    '2026-11-21T09-00-08Z_in_b00t\n',
    '2026-13-21T09-00-08Z_in_b00t',
  ])('is no note of ours: %j', (label) => {
    expect(factsOf({ labels: { [STOPPING]: label } }).stopping).toBeNull();
  });
});

describe('the record on a Node', () => {
  const record = recordFor(meta, 'i-1');
  const annotations = { [RECORD]: JSON.stringify(record) };
  const QUARANTINE = { key: 'cloudfence.dev/quarantine', effect: 'NoSchedule' };

  it.each([
    ['with its label', { [FENCED]: 'fence-1' }, []],
    ['with its tombstone', { [FENCED]: tombstoneText({ fence: 'fence-1', boot: BOOT }) }, []],
    ['with our quarantine alone', {}, [QUARANTINE]],
    ['with our mark alone', {}, [markedBy(taintText({ fence: 'fence-1', boot: BOOT }))]],
  ])('counts %s', (_case, labels, taints) => {
    expect(factsOf({ annotations, labels, taints })).toMatchObject({ record, strayRecord: null });
  });

  it.each([
    ['nothing else of ours is there', {}, []],
    ['the out-of-service taint is another one’s', {}, [markedBy('nodeshutdown')]],
    ['only the trace of a mark is there', { [MARKED]: taintText({ fence: 'fence-1', boot: BOOT }) }, []],
  ])('is a stray one if %s', (_case, labels, taints) => {
    expect(factsOf({ annotations, labels, taints })).toMatchObject({ record: null, strayRecord: record });
  });

  it.each([
    ['fence', { [FENCED]: 'fence-2' }],
    ['tombstone', { [FENCED]: tombstoneText({ fence: 'fence-2', boot: BOOT }) }],
  ])('does not count beside another %s, and is no stray one', (_case, labels) => {
    expect(factsOf({ annotations, labels })).toMatchObject({ record: null, strayRecord: null });
  });

  it('is about the Node that has it, whatever its kubelet writes', () => {
    const lies = { [RECORD]: JSON.stringify({ ...record, node: 'another' }) };
    expect(factsOf({ annotations: lies, labels: { [FENCED]: 'fence-1' } }).record?.node).toBe('n1');
    expect(factsOf({ annotations: lies }).strayRecord?.node).toBe('n1');
  });

  it('is only a text if nobody can read it', () => {
    expect(factsOf({ annotations: { [RECORD]: 'garbled' }, labels: { [FENCED]: 'fence-1' } })).toMatchObject({
      recordText: 'garbled',
      record: null,
      strayRecord: null,
    });
  });
});
