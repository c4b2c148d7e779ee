import { describe, expect, it } from 'vitest';
import type { PodFacts } from '../../fencing/model/cluster-facts.ts';
import { timing } from '../../fencing/model/policy.ts';
import { decide } from '../../fencing/rules/decide.ts';
import { stepKey } from '../../fencing/model/steps.ts';
import { isHeldByFinalizer, podsWanting } from '../../fencing/rules/pods.ts';
import type { Memory, View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, pod, record, view, volume } from './view-builder.ts';

/** Each condition of the rules about pods, one by one. */

const given = (pods: readonly PodFacts[], memory: Partial<Memory> = {}, change: Partial<View['cluster']> = {}): View =>
  view({
    machine: machine({ disks: [] }),
    cluster: cluster({ node: marked(), pods, volumes: [], ...change }),
    memory: { ...view().memory, ...memory },
  });
const firstOf = (...pods: readonly PodFacts[]) => {
  const decision = decide(given(pods));
  return decision.do === 'step' && decision.step.do === 'delete-pod' ? decision.step.pod.name : decision.do;
};
const named = (name: string, change: Partial<PodFacts> = {}) => pod({ name, uid: name, volumes: [], ...change });
const held = { volumes: ['a-driver^disk-1'] };

describe('the pod that is deleted first', () => {
  it.each([
    ['is the one with a volume', named('z', held), named('a')],
    ['is the one with the first name, if neither has a volume', named('a'), named('b')],
    [
      'is the one with the first name, if both have a volume',
      named('a', held),
      named('b', { volumes: ['one', 'two'] }),
    ],
    ['is the one in the first namespace', named('z', { namespace: 'a' }), named('a', { namespace: 'b' })],
    ['is the one with the higher priority, whatever it holds', named('z', { priority: 9 }), named('a', held)],
  ])('%s', (_, first, second) => {
    expect([firstOf(first, second), firstOf(second, first)]).toEqual([first.name, first.name]);
  });
});

describe('pods that are deleted at the same time', () => {
  const stepsOf = (pods: readonly PodFacts[], memory: Partial<Memory> = {}): readonly string[] => {
    const decision = decide(given(pods, memory));
    return decision.do === 'step' ? [decision, ...decision.alongside].map(({ step }) => stepKey(step)) : [];
  };
  it('have the same priority, and pods with a higher one go before them', () => {
    const [a, b, c] = [named('a', { priority: 5 }), named('b'), named('c', { priority: 5 })];
    expect(stepsOf([a, b, c])).toEqual(['delete-pod a', 'delete-pod c']);
    const sinceLook = new Set(['delete-pod a', 'delete-pod c']);
    expect(stepsOf([a, b, c], { sinceLook })).toEqual(['delete-pod b']);
  });

  it('are either all failed first, or none of them is', () => {
    const pods = [named('a', { kind: 'job' }), named('b'), named('c', { kind: 'job' })];
    expect(stepsOf(pods)).toEqual(['fail-pod a', 'fail-pod c']);
    const sinceLook = new Set(['fail-pod a', 'fail-pod c']);
    expect(stepsOf(pods, { sinceLook })).toEqual(['delete-pod a', 'delete-pod b', 'delete-pod c']);
  });

  it('are at most 24', () => {
    expect(stepsOf(Array.from({ length: 40 }, (_, nth) => named(`pod-${nth}`))).length).toBe(24);
  });

  it('do not include a pod whose delete was declined since the last look', () => {
    const memory = { sinceLook: new Set(['delete-pod b']), failedSinceLook: new Set(['delete-pod a']) };
    expect(stepsOf([named('a'), named('b'), named('c')], memory)).toEqual(['delete-pod c']);
    const failed = { failedSinceLook: new Set(['fail-pod a']) };
    expect(stepsOf([named('a', { kind: 'job' }), named('c')], failed)).toEqual(['delete-pod c']);
  });
});

describe('whether a pod is held by its finalizers', () => {
  const going = pod({ deleting: true, finalizers: true });
  const deleted: Memory['deleted'] = new Map([['pod-uid', { origin: 'default/db-0', at: 0 }]]);
  const failed = { deleted, takenAt: new Map([['fail-pod pod-uid', 0]]) };
  it.each([
    ['yes, if this run has failed and deleted the pod', going, failed, true],
    [
      'yes, if this run has deleted the pod and the API server declined to fail it',
      going,
      { deleted, declined: new Map([['fail-pod pod-uid', 'no']]) },
      true,
    ],
    ['no, if the pod was not failed yet', going, { deleted }, false],
    ['no, if this run has not deleted the pod', going, { ...failed, deleted: new Map() }, false],
    ['no, if the pod is not being deleted any more', { ...going, deleting: false }, failed, false],
    ['no, if the pod has no finalizer', { ...going, finalizers: false }, failed, false],
  ] as const)('%s', (_, of, memory, expected) => {
    expect(isHeldByFinalizer({ memory: { ...view().memory, ...memory } }, of)).toBe(expected);
  });
});

describe('a pod that the API server declined to fail', () => {
  const job = pod({ kind: 'job', volumes: [] });
  /** The out-of-service taint is already removed. */
  const retired = { node: marked({ released: ago(1_000) }) };
  const memory = { declined: new Map([['fail-pod pod-uid', 'webhook']]), sinceLook: new Set(['delete-pod pod-uid']) };
  it.each([
    ['is waited for after its deletion', job],
    ['is waited for while it is being deleted and has no finalizer', { ...job, deleting: true }],
    ['is waited for while it is not being deleted, even if it has a finalizer', { ...job, finalizers: true }],
  ])('%s', (_, of) => expect(said(given([of], memory, retired))).toBe('wait pods-going'));
  it('is not waited for if it is being deleted and a finalizer holds it', () => {
    expect(said(given([{ ...job, deleting: true, finalizers: true }], memory, retired))).toBe('failed step-refused');
  });
});

describe('the volumes that a pod wants', () => {
  const volumes = [
    volume({ key: 'first', pvc: 'default/first' }),
    volume({ key: 'second', pvc: 'default/second' }),
    volume({ key: 'of no claim', pvc: null }),
  ];
  const wanted = (of: PodFacts) =>
    volumes.filter(({ key }) => podsWanting(given([of], {}, { volumes }), key).length > 0).map(({ key }) => key);
  it.each([
    ['are those that it uses', pod({ volumes: ['first'] }), ['first']],
    [
      'are those that an unresolved claim of it may mean',
      pod({ volumes: [], unresolved: ['default/x', 'default/second'] }),
      ['second', 'of no claim'],
    ],
    ['are none if it uses none', pod({ volumes: [] }), []],
    ['are none if it has finished', pod({ volumes: ['first'], finished: true }), []],
  ])('%s', (_, of, expected) => expect(wanted(of)).toEqual(expected));
});

describe('pods that come back after their deletion', () => {
  const chased = (many: number): Partial<Memory> => ({
    deleted: new Map(Array.from({ length: many }, (_, n) => [`web-${n}`, { origin: `default/web-${n}`, at: 0 }])),
  });
  const late = named('late');
  it('are no longer deleted after fifty of them, whatever their names', () => {
    expect([said(given([late], chased(49))), said(given([late], chased(50)))]).toEqual(['delete-pod', 'park']);
  });

  it('are deleted again, after a while, if they have a volume', () => {
    const again = (ago: number) =>
      said(
        given([{ ...late, ...held }], { deleted: new Map([['before', { origin: 'default/late', at: 1_000 - ago }]]) }),
      );
    expect(again(timing.pollLongest)).toBe('delete-pod');
    expect(again(timing.pollLongest - 1)).toBe('wait pods-going');
  });

  it('are none if the record of the fence also names the first one', () => {
    const fence = { pods: [...record().pods, { namespace: 'default', name: 'late', uid: 'late' }] };
    const before = { deleted: new Map([['before', { origin: 'default/late', at: 0 }]]) };
    expect(said(given([late], before, { node: marked(fence) }))).toBe('delete-pod');
    expect(said(given([late], before))).toBe('park');
  });

  it('are written into the record, and other pods are not', () => {
    const stays = named('stays');
    const memory: Partial<Memory> = {
      deleted: new Map([['before', { origin: 'default/late', at: 0 }]]),
      declined: new Map([['delete-pod stays', 'webhook']]),
    };
    expect(decide(given([stays, late], memory))).toMatchObject({
      step: { do: 'park', record: { phase: 'fencing', recurring: ['default/late'] } },
    });
  });
});
