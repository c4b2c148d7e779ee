import { describe, expect, it } from 'vitest';
import { endingAtDeadline, eventFor, eventsAtEnd, outcomeOf, waitingEnd } from '../../fencing/loop/ending.ts';
import { applySimulatedStep, hasSimulatedSteps, simulatedEnding } from '../../fencing/loop/apply-step.ts';
import { type Ending, type RunState, startRun } from '../../fencing/loop/state.ts';
import { withClusterRead, withMachineRead } from '../../fencing/loop/reads.ts';
import { fenceInBoot, type NodeFacts } from '../../fencing/model/cluster-facts.ts';
import type { OutcomeKind, StepReport } from '../../fencing/model/outcome.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { because, type ReasonCode } from '../../fencing/model/reason.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { targetNode } from '../../fencing/rules/mark.ts';
import { attachment, cluster, machine, marked, node, NOW, PARKED, pod, record, view, volume } from './view-builder.ts';

/** How a run ends, and what a run that only imagines its steps makes of them. */

const now = { wall: NOW, mono: 1_000 };
const { request, identityRules } = view();
const begun = startRun({ request, policy: defaultPolicy, identityRules, runId: 'run', deadline: 60_000 });
const seen = { requestedAt: now, receivedAt: now.mono };
const read = withClusterRead(
  withMachineRead(begun, { value: machine(), ...seen }, now),
  { value: cluster(), ...seen },
  now,
);
const remembering = (known: RunState, memory: Partial<RunState['memory']>): RunState => ({
  ...known,
  memory: { ...known.memory, ...memory },
});
const stepped = (step: StepReport['step'], result: StepReport['result'] = 'done'): StepReport => ({
  step,
  target: 'x',
  because: because('off-proven', ''),
  at: NOW,
  ms: 1,
  result,
  message: null,
});

describe('a run whose wait is longer than its time', () => {
  const reason = because('pods-going', 'pods go');
  const declined = new Map([['delete-pod pod-uid', 'pod/default/db-0: no']]);
  const waits = { outcome: 'waiting', reason, lookAgainIn: 500, retry: false };
  const fails = {
    outcome: 'failed',
    reason: { code: 'step-refused', says: 'declined: pod/default/db-0: no. The run also waits: pods go' },
    lookAgainIn: 500,
    retry: true,
  };
  it.each([
    ['waits on', read, waits],
    ['fails if a step was declined', remembering(read, { declined }), fails],
    [
      'does not fail if a step was declined whose target is gone by now',
      remembering({ ...read, cluster: { value: cluster({ pods: [] }), ...seen } }, { declined }),
      waits,
    ],
    [
      'does not fail if a step was declined but the machine is not off',
      remembering(read, { declined, firstOff: null }),
      waits,
    ],
    [
      'fails if a step was declined and the cluster was not read afterwards',
      remembering({ ...read, cluster: null }, { declined }),
      fails,
    ],
    [
      'fails if a step was declined and the machine was not read afterwards',
      remembering({ ...read, machine: null }, { declined }),
      fails,
    ],
  ])('%s', (_, known, expected) => expect(waitingEnd(known, reason, 500)).toEqual(expected));

  it('says at its deadline what it waited for', () => {
    const pending = { outcome: 'waiting', reason, ms: 500 } as const;
    expect(endingAtDeadline({ ...read, pending })).toEqual(waits);
    expect(endingAtDeadline({ ...read, pending: { ...pending, outcome: 'failed' } })).toEqual({
      outcome: 'failed',
      reason,
      lookAgainIn: null,
      retry: true,
    });
    expect(endingAtDeadline(begun)).toMatchObject({
      outcome: 'waiting',
      reason: { code: 'not-fenced' },
      lookAgainIn: 1_000,
    });
  });
});

describe('the outcome', () => {
  const ending: Ending = { outcome: 'fenced', reason: because('fenced', 'done'), lookAgainIn: null, retry: false };
  const of = (change: Partial<RunState> = {}) => outcomeOf({ ...read, ending, ...change }, now);
  it('says what the run knows', () => {
    expect(of({ location: { cluster: 'a', node: 'x' }, steps: [stepped('mark')] })).toMatchObject({
      ...ending,
      node: 'node-a',
      nodeUid: 'node-uid',
      machine: 'm-1',
      cluster: 'a',
      mode: 'taint',
      evidence: { state: 'off' },
      generation: 'boot-1',
      provenAt: NOW,
      steps: [{ step: 'mark' }],
    });
    expect(of({ steps: [stepped('mark'), stepped('delete-node')] }).mode).toBe('delete');
    expect(outcomeOf(begun, now)).toMatchObject({
      outcome: 'waiting',
      node: null,
      nodeUid: null,
      cluster: null,
      evidence: {},
      generation: null,
      provenAt: null,
    });
  });

  it('names the Node from the last source that still knows it', () => {
    const gone = (nodeName: string | null) => ({ cluster: { value: cluster({ node: null, nodeName }), ...seen } });
    const fenced = { record: record() };
    expect(of({ ...gone('left'), ...fenced })).toMatchObject({ node: 'left', nodeUid: 'node-uid' });
    expect(of({ ...gone(null), ...fenced, location: { cluster: 'a', node: 'there' } }).node).toBe('there');
    expect(of({ ...gone(null), ...fenced, location: { cluster: 'a', node: null } }).node).toBe('node-a');
    expect(of(gone(null))).toMatchObject({ node: null, nodeUid: null });
  });

  it('lists what was left alone if the machine is off, and only then', () => {
    const mirror = { cluster: { value: cluster({ pods: [pod({ kind: 'mirror' })] }), ...seen } };
    expect(of(mirror).left).toContainEqual({ what: 'pod/default/db-0', why: expect.stringContaining('mirror') });
    expect(of({ ...mirror, memory: { ...read.memory, firstOff: null } }).left).toEqual([]);
    expect(of({ cluster: null }).left).toEqual([]);
  });
});

describe('the Event on the Node', () => {
  const eventOfOutcome = (outcome: OutcomeKind, code: ReasonCode, change: Partial<RunState> = {}) =>
    eventFor(
      outcomeOf(
        {
          ...read,
          steps: [stepped('mark')],
          ending: { outcome, reason: because(code, 'says'), lookAgainIn: null, retry: false },
          ...change,
        },
        now,
      ),
    );
  it.each([
    ['fenced', 'fenced', 'Warning MachineFenced'],
    ['released', 'settled', 'Normal NodeReleased'],
    ['refused', 'opted-out', 'Warning FencingRefused'],
    ['failed', 'denied', 'Warning FencingFailed'],
    ['waiting', 'stopping-too-long', 'Warning MachineStoppingTooLong'],
    ['waiting', 'pods-going', null],
    ['ignored', 'no-node', null],
    ['would-fence', 'would-fence', null],
    ['would-release', 'would-release', null],
  ] as const)('%s %s: %s', (outcome, code, expected) => {
    const event = eventOfOutcome(outcome, code);
    expect(event && `${event.type} ${event.reason}`).toBe(expected);
    if (event) expect(event.message).toBe('says');
  });

  it('does not mention what another run did', () => {
    expect([
      eventOfOutcome('fenced', 'fenced', { steps: [] }),
      eventOfOutcome('released', 'settled', { steps: [] }),
    ]).toEqual([null, null]);
    expect(eventOfOutcome('refused', 'opted-out', { steps: [] })).not.toBeNull();
  });

  it('needs a Node, and does not mention imagined steps', () => {
    expect(eventOfOutcome('refused', 'opted-out', { cluster: null })).toBeNull();
    expect(eventOfOutcome('refused', 'opted-out', { policy: { ...defaultPolicy, dryRun: true } })).toBeNull();
  });
});

describe('the Events on pods', () => {
  const gone = (name: string, hasVolume: boolean): StepReport => ({
    ...stepped('delete-pod'),
    pod: { namespace: 'prod', name, uid: `${name}-uid`, hasVolume },
  });
  const ended = (steps: readonly StepReport[], change: Partial<RunState> = {}) =>
    eventsAtEnd(
      outcomeOf(
        {
          ...read,
          record: record(),
          steps,
          ending: { outcome: 'waiting', reason: because('pods-going', 'x'), lookAgainIn: null, retry: false },
          ...change,
        },
        now,
      ),
    );

  it('say on each pod why it is gone, however the run ends', () => {
    expect(ended([stepped('mark'), gone('db-0', true)])).toEqual([
      {
        about: { kind: 'Pod', namespace: 'prod', name: 'db-0', uid: 'db-0-uid' },
        event: {
          type: 'Normal',
          reason: 'ForceDeleted',
          message: expect.stringMatching(/the machine \S+ of Node \S+ is off \(fence \S+\)$/),
        },
      },
    ]);
    expect(ended([stepped('mark'), stepped('delete-pod', 'already')])).toEqual([]);
  });

  it('are at most four, pods with volumes first, beside the one on the Node', () => {
    const steps = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => gone(name, name > 'c'));
    const fenced = { outcome: 'fenced', reason: because('fenced', 'x'), lookAgainIn: null, retry: false } as const;
    expect(ended(steps, { ending: fenced }).map(({ about }) => `${about.kind} ${about.name}`)).toEqual([
      expect.stringMatching(/^Node /),
      'Pod d',
      'Pod e',
      'Pod f',
      'Pod a',
    ]);
  });
});

describe('an imagined step', () => {
  const target = targetNode(node());
  const act = (step: Step) => ({ step, because: because('off-proven', 'off') });
  const imagined = (step: Step, known = read) => applySimulatedStep(known, act(step), now);
  const facts = (step: Step, standing: NodeFacts = node()) =>
    imagined(step, { ...read, cluster: { value: cluster({ node: standing }), ...seen } }).cluster?.value;
  const mark = (addOutOfService: boolean): Step => ({ do: 'mark', node: target, record: record(), addOutOfService });
  const park = (phase: 'fencing' | 'fenced'): Step => ({ do: 'park', node: target, record: record({ phase }) });

  it('is listed, and is not imagined again', () => {
    const after = imagined(mark(true), { ...read, steps: [stepped('note')] });
    expect(after.steps).toMatchObject([{ step: 'note' }, { step: 'mark', result: 'dry-run' }]);
    expect(after.memory).toMatchObject({
      sinceLook: new Set(['mark node-uid']),
      takenAt: new Map([['mark node-uid', 1_000]]),
    });
    expect([
      hasSimulatedSteps(read),
      hasSimulatedSteps({ ...read, steps: [stepped('note')] }),
      hasSimulatedSteps(after),
    ]).toEqual([false, false, true]);
    expect(imagined(mark(true), { ...read, cluster: null }).cluster).toBeNull();
  });

  const buried = fenceInBoot('run.1', node(), machine());
  it('changes the Node in memory as the real step would', () => {
    const standing = node({ taintedFor: buried, tombstone: buried, stopping: { at: NOW, boot: 'x' } });
    expect(facts(mark(true), standing)?.node).toMatchObject({
      label: 'run.1',
      record: record(),
      recordText: JSON.stringify(record()),
      taintedFor: { fence: 'run.1' },
      tombstone: null,
      stopping: null,
      taints: { outOfService: true, ours: true, quarantine: true },
    });
    expect(facts(mark(false))?.node?.taintedFor).toBeNull();
    const earlier = { ...buried, fence: 'run.0' };
    expect(facts(mark(false), marked({}, { taintedFor: earlier }))?.node?.taintedFor).toEqual(earlier);
    expect(facts(mark(false))?.node?.taints).toEqual(PARKED);
    expect(facts(mark(false), marked())?.node?.taints).toEqual({ outOfService: true, ours: true, quarantine: true });
    const taints = { outOfService: true, ours: false, quarantine: true };
    expect(facts(park('fenced'), marked())?.node).toMatchObject({
      label: 'run.1',
      record: { phase: 'fenced' },
      recordText: JSON.stringify(record({ phase: 'fenced' })),
      taints: PARKED,
    });
    expect(facts(park('fenced'), marked({}, { taints }))?.node?.taints).toEqual(taints);
    expect(facts({ do: 'note', node: target, record: record() })?.node).toMatchObject({
      record: record(),
      recordText: JSON.stringify(record()),
      label: null,
    });
    expect(facts({ do: 'note-stopping', node: target, stopping: null }, standing)?.node?.stopping).toBeNull();
  });

  it('changes the trace of a fence in memory as the real step would', () => {
    const entomb: Step = { do: 'set-tombstone', node: target, tombstone: buried };
    expect(facts(entomb, node({ taintedFor: buried }))?.node).toMatchObject({ tombstone: buried, taintedFor: null });
    expect(facts(entomb, marked({}, { taintedFor: buried }))?.node).toMatchObject({
      tombstone: buried,
      taintedFor: buried,
    });
  });

  it.each([
    mark(true),
    park('fenced'),
    { do: 'note', node: target, record: record() },
    { do: 'note-stopping', node: target, stopping: null },
    { do: 'set-tombstone', node: target, tombstone: null },
  ] as const)('invents no Node if there is none: $do', (step) => {
    const gone = { ...read, cluster: { value: cluster({ node: null }), ...seen } };
    expect(imagined(step, gone).cluster?.value.node).toBeNull();
  });

  it('removes the pod or the attachment from memory, and no other', () => {
    const two = (step: Step) => {
      const value = cluster({
        pods: [pod(), pod({ uid: 'other' })],
        volumes: [volume(), volume({ attachment: attachment({ uid: 'other' }) }), volume({ attachment: null })],
      });
      const after = imagined(step, { ...read, cluster: { value, ...seen } }).cluster?.value;
      return [after?.pods.map(({ uid }) => uid), after?.volumes.map((one) => one.attachment?.uid)];
    };
    expect(two({ do: 'delete-pod', pod: { namespace: 'default', name: 'db-0', uid: 'pod-uid' } })).toEqual([
      ['other'],
      ['va-uid', 'other', undefined],
    ]);
    expect(two({ do: 'delete-attachment', attachment: { name: 'csi-1', uid: 'va-uid' } })).toEqual([
      ['pod-uid', 'other'],
      [undefined, 'other', undefined],
    ]);
    expect(two({ do: 'fail-pod', pod: { namespace: 'default', name: 'db-0', uid: 'pod-uid' } })).toEqual([
      ['pod-uid', 'other'],
      ['va-uid', 'other', undefined],
    ]);
  });

  it.each<[Step, OutcomeKind | null]>([
    [park('fenced'), 'would-fence'],
    [park('fencing'), null],
    [mark(true), null],
    [{ do: 'power-off', target: { machine: 'm-1', incarnation: null } }, 'would-fence'],
    [{ do: 'detach-disk', from: { machine: 'm-1', incarnation: null }, disk: 'disk-1', mode: 'plain' }, 'would-fence'],
    [{ do: 'delete-node', node: target }, 'would-fence'],
    [{ do: 'lift-out-of-service', node: target, record: null }, 'would-release'],
    [{ do: 'release-node', node: target, record: record(), tombstone: null }, 'would-release'],
    [{ do: 'note-stopping', node: target, stopping: null }, null],
  ])('may be the last one: $0.do', (step, expected) => expect(imagined(step).ending?.outcome ?? null).toBe(expected));

  it('is counted in the outcome, which says that nothing has happened', () => {
    const dryRun = { policy: { ...defaultPolicy, dryRun: true } };
    const steps = [stepped('note'), stepped('mark', 'dry-run'), stepped('delete-pod', 'dry-run')];
    expect(simulatedEnding({ ...read, ...dryRun, steps })).toEqual({
      outcome: 'would-fence',
      reason: because('would-fence', 'dry run: Cloudfence would take 2 steps'),
      lookAgainIn: null,
      retry: false,
    });
    expect(simulatedEnding({ ...read, steps: steps.slice(0, 2) }, ', and waits').reason.says).toBe(
      'shadow mode: Cloudfence would take 1 step, and waits',
    );
    expect(imagined(park('fenced'), { ...read, steps }).ending?.reason.says).toMatch(/ 3 steps$/);
  });
});
