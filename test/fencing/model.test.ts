import { describe, expect, it } from 'vitest';
import { fenceInBoot, isObjectName, isOfThisBoot, ownMark, shortHash } from '../../fencing/model/cluster-facts.ts';
import {
  asCloudfenceError,
  ClusterUnavailable,
  InvalidConfiguration,
  InvalidInput,
  PermissionDenied,
  ProofExpired,
  Refused,
  Unavailable,
  Unexpected,
} from '../../fencing/model/errors.ts';
import { parseJsonOrNull, parseJsonOrText } from '../../fencing/model/json-text.ts';
import { emptyMachineFacts, machineOfProviderID } from '../../fencing/model/machine.ts';
import { isSimulated, outcomeJson, type StepReport } from '../../fencing/model/outcome.ts';
import { because, listSome, longWaits, onOneLine, pluralize } from '../../fencing/model/reason.ts';
import { parseRecord } from '../../fencing/model/record.ts';
import { describeTarget, stepKey, stepProperties, isOnlyCleanup, type Step } from '../../fencing/model/steps.ts';
import { outcomeOf } from '../../fencing/loop/ending.ts';
import { targetNode } from '../../fencing/rules/mark.ts';
import { begun } from './ports.ts';
import { ago, machineOf, node, NOW, record } from './view-builder.ts';

describe('the boot of a fence', () => {
  const boot = { bootID: 'boot-a' };
  const fence = fenceInBoot('run.1', boot, { generation: 'boot-1' });
  const isOf = (bootID: string, generation: string | null, generationDrifts = false) =>
    isOfThisBoot(fence, { bootID }, { generation, ...(generationDrifts && { generationDrifts }) });

  it('is that of the Node and of the cloud', () => {
    expect(isOf('boot-a', 'boot-1')).toBe(true);
    expect(isOf('boot-b', 'boot-1')).toBe(false);
    expect(isOf('boot-a', 'boot-2')).toBe(false);
  });

  it('is that of the Node alone if the cloud does not know the boot, did not know it, or drifts', () => {
    expect(isOf('boot-a', null)).toBe(true);
    expect(isOf('boot-b', null)).toBe(false);
    expect(isOf('boot-a', 'boot-2', true)).toBe(true);
    expect(isOf('boot-b', 'boot-1', true)).toBe(false);
    const unknown = fenceInBoot('run.1', boot, { generation: null });
    expect(isOfThisBoot(unknown, boot, { generation: 'boot-2' })).toBe(true);
    expect(isOfThisBoot(unknown, { bootID: 'boot-b' }, { generation: 'boot-2' })).toBe(false);
  });

  it('is another one although its names begin alike, as two times of the same day do', () => {
    const generation = '2026-01-01T12:00:00.000Z';
    const long = { bootID: '2d1c1c2e-0000-4000-8000-000000000001' };
    const known = fenceInBoot('run.1', long, { generation });
    expect(isOfThisBoot(known, long, { generation })).toBe(true);
    expect(isOfThisBoot(known, long, { generation: '2026-01-01T12:00:00.001Z' })).toBe(false);
    const later = { bootID: '2d1c1c2e-0000-4000-8000-000000000002' };
    expect(isOfThisBoot(known, later, { generation })).toBe(false);
    expect(isOfThisBoot(known, later, { generation: null })).toBe(false);
  });

  it('has a short name of fixed length, which is the same in each version', () => {
    expect(shortHash('')).toBe('0ztntfp');
    expect(fence.boot).toMatch(/^[0-9a-z]{14}$/);
    expect(Array.from({ length: 200 }, (_, at) => shortHash(`${at}`)).every((hash) => hash.length === 7)).toBe(true);
    expect(new Set(Array.from({ length: 200 }, (_, at) => shortHash(`${at}`))).size).toBe(200);
    expect(fenceInBoot('run.1', boot, { generation: null }).boot).toBe(`${shortHash('boot-a')}${shortHash('')}`);
  });
});

describe('a mark', () => {
  const taints = { outOfService: true, ours: true, quarantine: true };
  const textOf = (change: Partial<Parameters<typeof ownMark>[0]>) =>
    ownMark({ taints, taintedFor: { fence: 'run.1', boot: 'boot' }, label: 'run.1', ...change });

  it('is another one if a later fence keeps the taint of an earlier one', () => {
    expect(textOf({})).toBe('run.1 in boot');
    expect(textOf({ label: null })).toBe('run.1 in boot');
    expect(textOf({ label: 'run.2' })).toBe('run.1 in boot, kept by run.2');
  });

  it('has no name if nothing names it, and does not exist without our taint', () => {
    expect(textOf({ taintedFor: null })).toBe('of an unknown fence');
    expect(textOf({ taints: { ...taints, ours: false } })).toBeNull();
  });
});

describe('an error', () => {
  it.each([
    [new InvalidInput('x'), false],
    [new InvalidConfiguration(['x']), false],
    [new Unavailable('x'), true],
    [new ClusterUnavailable('x'), true],
    [new PermissionDenied('x'), true],
    [new Refused('x'), true],
    [new ProofExpired('x'), true],
    [new Unexpected('x'), true],
  ])('%s says whether the same call may succeed later', (error, retry) => {
    expect(error.retry).toBe(retry);
    expect(error.name).toBe(error.constructor.name);
  });

  it('has a bounded message', () => {
    expect(new Refused('x'.repeat(10_000)).message).toBe('x'.repeat(10_000));
    expect(new Refused('x'.repeat(10_001)).message).toBe(`${'x'.repeat(9_999)}…`);
  });

  it('of a configuration lists a limited number of faults, each up to a length', () => {
    const few = new InvalidConfiguration(['a', 'b']);
    expect(few.message).toBe('the configuration is not valid:\n  - a\n  - b');
    expect(few.faults).toEqual(['a', 'b']);
    const fifty = Array.from({ length: 50 }, (_, at) => `${at}`);
    expect(new InvalidConfiguration(fifty).faults).toEqual(fifty);
    expect(new InvalidConfiguration([...fifty, 'more', 'and more']).faults).toEqual([...fifty, '2 more faults']);
    expect(new InvalidConfiguration(['x'.repeat(1_001)]).faults).toEqual([`${'x'.repeat(999)}…`]);
  });

  it('is the error that was caught, or one that quotes it in one line', () => {
    const known = new Refused('x');
    expect(asCloudfenceError(known)).toBe(known);
    const fault = new TypeError(`${'y'.repeat(300)}\nsecond line`);
    expect(asCloudfenceError(fault)).toMatchObject({ name: 'Unexpected', cause: fault });
    expect(asCloudfenceError(fault).message).toBe(`Cloudfence failed unexpectedly: TypeError: ${'y'.repeat(188)}…`);
    expect(asCloudfenceError(new TypeError('one\ntwo')).message).toBe('Cloudfence failed unexpectedly: TypeError: one');
    expect(asCloudfenceError({ token: 'secret' }).message).toBe('Cloudfence failed unexpectedly: object');
  });
});

describe('JSON in a text', () => {
  it('is read, or is none', () => {
    expect(parseJsonOrNull('{"a":1}')).toEqual({ a: 1 });
    expect(parseJsonOrNull('{')).toBeNull();
    expect(parseJsonOrNull(7)).toBeNull();
    expect(parseJsonOrText('[1]')).toEqual([1]);
    expect(parseJsonOrText('{')).toBe('{');
  });
});

describe('a record', () => {
  const read = (change: object) => parseRecord(JSON.stringify({ ...record(), ...change }));
  it('is read as it was written', () => expect(read({})).toEqual(record()));
  it('of an earlier version has defaults for what was not recorded then', () => {
    const { renewed: _, vouched: __, recurring: ___, ...earlier } = record();
    expect(parseRecord(JSON.stringify(earlier))).toEqual({ ...earlier, renewed: null, vouched: null, recurring: [] });
  });
  it.each([{ fence: '' }, { machine: '' }, { version: 2 }, { phase: 'other' }, { begun: 'yesterday' }])(
    'is unreadable with %j',
    (change) => expect(read(change)).toBeNull(),
  );
  it('is unreadable if it is not JSON', () => expect(parseRecord('{')).toBeNull());
});

describe('a machine', () => {
  it('of which nothing is known is not terminated, and has no name, cluster, or disk', () => {
    expect(emptyMachineFacts('m-1')).toEqual({
      machine: 'm-1',
      incarnation: null,
      forGood: false,
      generation: null,
      since: null,
      nodeNames: [],
      clusters: [],
      zone: null,
      disks: [],
    });
  });

  it('is named by the first providerID that names one', () => {
    const of = (...values: string[]) =>
      machineOfProviderID(
        [
          { source: 'csiNode', driver: null, value: 'm-9' },
          ...values.map((value) => ({ source: 'providerID' as const, driver: null, value })),
        ],
        machineOf,
      );
    expect(of('x', 'm-1')).toBe('m-1');
    expect(of('x')).toBeNull();
    expect(of()).toBeNull();
  });
});

describe('an outcome', () => {
  const outcome = outcomeOf(begun(), { wall: NOW, mono: 0 });
  const report = (change: Partial<StepReport> = {}): StepReport => ({
    step: 'mark',
    target: 'node/n',
    at: NOW,
    ms: 7,
    result: 'done',
    message: null,
    because: because('off-proven', 'off'),
    ...change,
  });
  const planned = report({ result: 'dry-run' });

  it.each([
    [{}, false],
    [{ dryRun: true }, true],
    [{ outcome: 'would-fence' as const }, true],
    [{ outcome: 'would-release' as const }, true],
    [{ shadow: true }, true],
    [{ shadow: true, steps: [planned] }, true],
    [{ shadow: true, steps: [planned, report()] }, false],
    [{ steps: [planned] }, false],
  ])('with %j is imagined: %s', (change, imagined) => {
    expect(isSimulated({ ...outcome, steps: [report()].slice(1), ...change })).toBe(imagined);
  });

  it('is printed in the form that docs/cli.md describes', () => {
    const steps = [report(), report({ result: 'refused', message: 'no' })];
    const json = outcomeJson({ ...outcome, node: 'n', cluster: 'c', evidence: { state: 'off' }, steps });
    expect(json).toEqual({
      outcome: outcome.outcome,
      reason: `${outcome.reason.code}: ${outcome.reason.says}`,
      cluster: 'c',
      node: 'n',
      instance: 'm-1',
      mode: outcome.mode,
      dryRun: false,
      evidence: { state: 'off' },
      steps: [
        { step: 'mark', target: 'node/n', at: '2026-01-01T12:00:00.000Z', ms: 7, result: 'done' },
        { step: 'mark', target: 'node/n', at: '2026-01-01T12:00:00.000Z', ms: 7, result: 'refused: no' },
      ],
      left: [],
    });
  });
});

describe('texts', () => {
  it('name a few of many', () => {
    expect(listSome(['a', 'b', 'c', 'd', 'e'])).toBe('a, b, c, d, e');
    expect(listSome(['a', 'b', 'c', 'd', 'e', 'f', 'g'])).toBe('a, b, c, d, e and 2 more');
  });
  it('count', () => {
    expect([pluralize(0, 'pod'), pluralize(1, 'pod'), pluralize(2, 'pod')]).toEqual(['0 pods', '1 pod', '2 pods']);
    expect(pluralize(2, 'pod is', 'pods are')).toBe('2 pods are');
    expect(because('off-proven', 'x')).toEqual({ code: 'off-proven', says: 'x' });
  });
  it('have no character that controls a terminal or begins a line', () => {
    expect(onOneLine('a\u0007b\u2028c\u2029d\ne, é')).toBe('a b c d e, é');
  });
  it.each([
    ['db-0', true],
    ['a.b-c', true],
    ['a'.repeat(253), true],
    ['a'.repeat(254), false],
    ['-db', false],
    ['../db', false],
    ['db-', false],
    ['db/..', false],
    ['', false],
  ])('may be the name of an object: %j: %s', (text, expected) => expect(isObjectName(text)).toBe(expected));
  it('say which waits a run of a sweep does not sit out', () => {
    expect([...longWaits].toSorted()).toEqual([
      'cluster-unreachable',
      'controllers-settling',
      'delayed-by-policy',
      'return-unproven',
      'stopping',
      'stopping-too-long',
    ]);
  });
});

const target = targetNode(node());
const attachment = { name: 'csi-1', uid: 'va-uid' };
const pod = { namespace: 'ns', name: 'db-0', uid: 'pod-uid' };
const machine = { machine: 'm-1', incarnation: null };
const fence = { fence: 'run.1', boot: 'b' };

/** Each step, with its object, its key, and whether it only takes back what is ours, with our taint and without it. */
const steps: readonly (readonly [Step, string, string, boolean, boolean])[] = [
  [{ do: 'mark', node: target, record: record(), addOutOfService: true }, 'node/node-a', 'mark node-uid', false, false],
  [{ do: 'note', node: target, record: record() }, 'node/node-a', 'note node-uid', false, false],
  [{ do: 'fail-pod', pod }, 'pod/ns/db-0', 'fail-pod pod-uid', false, false],
  [{ do: 'delete-pod', pod }, 'pod/ns/db-0', 'delete-pod pod-uid', false, false],
  [{ do: 'delete-attachment', attachment }, 'volumeattachment/csi-1', 'delete-attachment va-uid', false, false],
  [{ do: 'nudge', attachment, on: true }, 'volumeattachment/csi-1', 'nudge va-uid on', false, false],
  [{ do: 'nudge', attachment, on: false }, 'volumeattachment/csi-1', 'nudge va-uid off', true, true],
  [{ do: 'delete-node', node: target }, 'node/node-a', 'delete-node node-uid', false, false],
  [{ do: 'park', node: target, record: record() }, 'node/node-a', 'park node-uid', true, false],
  [
    { do: 'lift-out-of-service', node: target, record: null },
    'node/node-a',
    'lift-out-of-service node-uid',
    true,
    true,
  ],
  [
    { do: 'release-node', node: target, record: record(), tombstone: null },
    'node/node-a',
    'release-node node-uid',
    true,
    true,
  ],
  [{ do: 'set-tombstone', node: target, tombstone: fence }, 'node/node-a', 'set-tombstone node-uid', false, false],
  [{ do: 'set-tombstone', node: target, tombstone: null }, 'node/node-a', 'set-tombstone node-uid', true, true],
  [
    { do: 'note-stopping', node: target, stopping: { at: 1, boot: 'b' } },
    'node/node-a',
    'note-stopping node-uid',
    false,
    false,
  ],
  [{ do: 'note-stopping', node: target, stopping: null }, 'node/node-a', 'note-stopping node-uid', true, true],
  [
    { do: 'detach-disk', from: machine, disk: 'disk-1', mode: 'plain' },
    'disk/disk-1',
    'detach-disk m-1 disk-1 plain',
    false,
    false,
  ],
  [{ do: 'power-off', target: machine }, 'machine/m-1', 'power-off m-1', false, false],
];

describe('a step', () => {
  it.each(steps)('%j is about one object, and has one key', (step, about, key, withTaint, without) => {
    expect(describeTarget(step)).toBe(about);
    expect(stepKey(step)).toBe(key);
    const tainted = node({ record: record(), taints: { ...node().taints, ours: true } });
    const untainted = node({ record: record() });
    expect([isOnlyCleanup(step, tainted), isOnlyCleanup(step, untainted)]).toEqual([withTaint, without]);
  });

  it('is a cleanup if it corrects the time at which Cloudfence removed its taint', () => {
    const note: Step = { do: 'note', node: target, record: record({ released: ago(0) }) };
    expect(isOnlyCleanup(note, node({ record: record({ released: ago(-3_600_000) }) }))).toBe(true);
    expect(isOnlyCleanup(note, node({ record: record({ released: ago(0), lease: ago(5_000) }) }))).toBe(false);
    expect(isOnlyCleanup(note, node())).toBe(true);
    expect(isOnlyCleanup({ ...note, record: record({ released: null }) }, null)).toBe(false);
  });

  it('has these properties', () => {
    const those = (holds: (of: (typeof stepProperties)['mark']) => boolean) =>
      Object.entries(stepProperties).flatMap(([name, of]) => (holds(of) ? [name] : []));
    expect(those(({ destructive }) => destructive)).toEqual([
      'mark',
      'fail-pod',
      'delete-pod',
      'delete-attachment',
      'delete-node',
      'detach-disk',
      'power-off',
    ]);
    expect(those(({ perObject }) => perObject)).toEqual([
      'fail-pod',
      'delete-pod',
      'delete-attachment',
      'nudge',
      'detach-disk',
    ]);
    expect(those(({ makesStale }) => makesStale === 'everything')).toEqual(['detach-disk', 'power-off']);
    expect(those(({ makesStale }) => makesStale === 'nothing')).toEqual(['fail-pod', 'delete-pod']);
    expect(those((of) => of.record === 'is written')).toEqual(['mark', 'note', 'park', 'lift-out-of-service']);
    expect(those((of) => of.record === 'is gone')).toEqual(['release-node']);
    expect(those(({ ends }) => ends === 'fenced')).toEqual(['delete-node']);
    expect(those(({ ends }) => ends === 'released')).toEqual(['release-node']);
    expect(those(({ releases }) => releases)).toEqual(['lift-out-of-service', 'release-node']);
  });
});
