import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import type { ClusterFacts } from '../../fencing/model/cluster-facts.ts';
import type { Step } from '../../fencing/model/steps.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, optOut, pod, view, volume } from './view-builder.ts';

const stepOf = (given: View): Step | null => {
  const decision = decide(given);
  return decision.do === 'step' ? decision.step : null;
};

describe('the out-of-service taint stays only while it works', () => {
  const parked = (change: Partial<ClusterFacts>, recorded: Parameters<typeof marked>[0] = {}) =>
    view({
      cluster: cluster({
        node: marked({ phase: 'fenced', released: ago(1_000), ...recorded }),
        pods: [],
        volumes: [],
        ...change,
      }),
      machine: machine({ disks: [] }),
    });
  const cases: readonly [string, View, string][] = [
    [
      'it goes when everything is free',
      view({ cluster: cluster({ node: marked(), pods: [], volumes: [] }), machine: machine({ disks: [] }) }),
      'park',
    ],
    [
      'even if it is still on a parked Node',
      view({
        cluster: cluster({ node: marked({ phase: 'fenced' }), pods: [], volumes: [] }),
        machine: machine({ disks: [] }),
      }),
      'park',
    ],
    ['a parked Node is done', parked({}), 'fenced fenced'],
    ['a pod that was bound to it by name brings it back', parked({ pods: [pod({ uid: 'new', volumes: [] })] }), 'mark'],
    ['so does an attachment that no pod wants', parked({ volumes: [volume()] }), 'mark'],
    [
      'so does a tolerating pod that someone has begun to delete, because it would otherwise never go',
      parked({ pods: [pod({ tolerates: true, deleting: true })], volumes: [volume()] }),
      'mark',
    ],
    [
      'a tolerating pod that keeps its volume does not',
      parked({ pods: [pod({ tolerates: true })], volumes: [volume()] }),
      'fenced fenced',
    ],
    [
      'an opted-out pod that was bound to it refuses',
      parked({ pods: [pod({ uid: 'new', optOut: optOut('mine'), volumes: [] })] }),
      'refused opted-out',
    ],
    [
      'it comes back even if the first taint was someone else’s, so that the same guards are asked',
      parked({ pods: [pod({ uid: 'new', optOut: optOut('mine'), volumes: [] })] }, { outOfService: 'foreign' }),
      'refused opted-out',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it.each([
    ['ours if there is none', 'ours', { outOfService: false }, 'ours', true],
    ['ours if someone else’s has gone', 'foreign', { outOfService: false }, 'ours', true],
    ['someone else’s if they have set one since', 'ours', { outOfService: true }, 'foreign', false],
    ['absent if the cluster does not know the taint', 'unsupported', { outOfService: false }, 'unsupported', false],
  ] as const)('a mark that comes again is %s', (_, before, { outOfService }, whose, added) => {
    const given = parked({
      node: marked(
        { phase: 'fenced', released: ago(1_000), outOfService: before },
        { taints: { outOfService, ours: false, quarantine: true } },
      ),
      volumes: [volume()],
      taintSupported: before !== 'unsupported',
    });
    expect(stepOf(given)).toMatchObject({ do: 'mark', addOutOfService: added, record: { outOfService: whose } });
  });

  it('the same fence continues and keeps the volumes and pods that it named', () => {
    const step = stepOf(parked({ pods: [pod({ uid: 'new', name: 'late', volumes: [] })] }));
    expect(step).toMatchObject({
      do: 'mark',
      addOutOfService: true,
      record: { fence: 'run.1', phase: 'fencing', released: null, pods: [{ name: 'late' }, { name: 'db-0' }] },
    });
  });
});
