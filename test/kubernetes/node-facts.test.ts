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

/** What a Node says about its fence. A kubelet or a person may write something that looks like ours. */

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

it('a Node says so if its deletion was requested', () => {
  expect(nodeFacts({ metadata: { deletionTimestamp: new Date(0) } }, []).deleting).toBe(true);
});

describe('an empty Node', () => {
  it('has no fence, and has no facts', () => {
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
      unmatchedSeal: null,
      record: null,
      strayRecord: null,
      finalizers: [],
      owners: [],
      optOuts: [],
    });
  });

  it('has nothing of Cloudfence on it', () => {
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
  ] as const)('is Ready according to its condition: %s', (status, ready) => {
    const conditions = [
      { type: 'DiskPressure', status: 'True', lastTransitionTime: born },
      { type: 'Ready', status, lastTransitionTime: since, lastHeartbeatTime: born },
    ];
    const node = { metadata: { ...meta, creationTimestamp: born }, status: { conditions } };
    expect(nodeFacts(node, [])).toMatchObject({ ready, readySince: since.getTime(), created: born.getTime() });
  });

  it('counts as not Ready since its creation if it has no condition', () => {
    const node = { metadata: { ...meta, creationTimestamp: born }, status: { conditions: [] } };
    expect(nodeFacts(node, [])).toMatchObject({ ready: 'Unknown', readySince: born.getTime() });
  });

  it.each([
    [{ 'node-role.kubernetes.io/control-plane': '' }, true],
    [{ 'node-role.kubernetes.io/master': 'true' }, true],
    [{ 'node-role.kubernetes.io/worker': '' }, false],
  ])('belongs to the control plane according to its label: %j', (labels, controlPlane) => {
    expect(factsOf({ labels }).controlPlane).toBe(controlPlane);
  });

  it('has the commands with which a person removes what Cloudfence wrote', () => {
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
    ['ours, because of its value', OURS, 'NoSchedule', true],
    ['not ours without a value', undefined, 'NoSchedule', false],
    ['not ours with the usual value', 'nodeshutdown', 'NoSchedule', false],
    ['not ours with our value and another effect', OURS, 'NoExecute', false],
    ['not ours if the boot has another length', `fence-1_in_${BOOT}0`, 'NoSchedule', false],
    ['not ours without a fence', `_in_${BOOT}`, 'NoSchedule', false],
    ['not ours with text after the boot', `${OURS}\n`, 'NoSchedule', false],
    ['not ours with a boot in capital letters', `fence-1_in_${'A'.repeat(14)}`, 'NoSchedule', false],
  ])('is %s', (_whose, value, effect, ours) => {
    const taints = [markedBy(value, effect)];
    expect(factsOf({ taints }).taints).toEqual({ outOfService: true, ours, quarantine: false });
    expect(hasOwnTaint(nodeWith({ taints }))).toBe(ours);
    expect(hasFenceTraces(nodeWith({ taints }))).toBe(ours);
  });

  it('is not there if another key has our value', () => {
    const taints = [{ key: 'example.com/x', effect: 'NoSchedule', value: OURS }];
    expect(factsOf({ taints }).taints).toEqual({ outOfService: false, ours: false, quarantine: false });
  });

  it('names the fence and the boot in its value, and the label names them if our taint is gone', () => {
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

  it('contains a fence, or a tombstone', () => {
    expect(factsOf({ labels: { [FENCED]: 'fence-1' } })).toMatchObject({ label: 'fence-1', tombstone: null });
    expect(factsOf({ labels: { [FENCED]: GONE } })).toMatchObject({
      label: GONE,
      tombstone: { fence: 'fence-1', boot: BOOT },
    });
  });

  it.each([`_removed_${BOOT}`, 'fence-1_removed_', 'fence-1_removed_A', `${GONE}\n`])(
    'contains no tombstone of ours: %j',
    (label) => {
      expect(factsOf({ labels: { [FENCED]: label } }).tombstone).toBeNull();
    },
  );

  it.each([
    [{ [FENCED]: 'fence-1' }, [], true],
    [{ [FENCED]: GONE }, [], false],
    [{ [MARKED]: 'fence-1' }, [], false],
    [{}, [{ key: 'cloudfence.dev/quarantine', effect: 'NoSchedule' }], true],
  ])('is a trace of a fence, as a taint is, unless it is a tombstone: %j %j', (labels, taints, traces) => {
    expect(hasFenceTraces(nodeWith({ labels, taints }))).toBe(traces);
  });

  it.each([
    [FENCED, true],
    [MARKED, true],
    [STOPPING, true],
    [RECORD, false],
  ])('is a label that only Cloudfence writes: %s', (key, own) => {
    expect(hasOwnLabel(nodeWith({ labels: { [key]: 'x' } }))).toBe(own);
    expect(hasOwnLabel(nodeWith({ annotations: { [key]: 'x' } }))).toBe(false);
  });
});

describe('the note of a stop', () => {
  const at = Date.UTC(2026, 10, 21, 9, 0, 8);

  it('can be read again, and never seems older than it is', () => {
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
  ])('is not readable: %j', (label) => {
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
    ['the out-of-service taint is someone else’s', {}, [markedBy('nodeshutdown')]],
    ['only the label of a mark is there', { [MARKED]: taintText({ fence: 'fence-1', boot: BOOT }) }, []],
  ])('is stray if %s', (_case, labels, taints) => {
    expect(factsOf({ annotations, labels, taints })).toMatchObject({ record: null, strayRecord: record });
  });

  it.each([
    ['fence', { [FENCED]: 'fence-2' }],
    ['tombstone', { [FENCED]: tombstoneText({ fence: 'fence-2', boot: BOOT }) }],
  ])('does not count next to another %s, and is not stray', (_case, labels) => {
    expect(factsOf({ annotations, labels })).toMatchObject({ record: null, strayRecord: null });
  });

  it('concerns the Node that has it, whatever its kubelet writes', () => {
    const lies = { [RECORD]: JSON.stringify({ ...record, node: 'another' }) };
    expect(factsOf({ annotations: lies, labels: { [FENCED]: 'fence-1' } }).record?.node).toBe('n1');
    expect(factsOf({ annotations: lies }).strayRecord?.node).toBe('n1');
  });

  it('is only a text if it cannot be read', () => {
    expect(factsOf({ annotations: { [RECORD]: 'garbled' }, labels: { [FENCED]: 'fence-1' } })).toMatchObject({
      recordText: 'garbled',
      record: null,
      strayRecord: null,
    });
  });
});
