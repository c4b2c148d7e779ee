import { describe, expect, it } from 'vitest';
import { fenceInBoot } from '../../fencing/model/cluster-facts.ts';
import { decide } from '../../fencing/rules/decide.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import type { Step } from '../../fencing/model/steps.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, node, optOut, PARKED, view } from './view-builder.ts';

const stepOf = (given: View): Step | null => {
  const decision = decide(given);
  return decision.do === 'step' ? decision.step : null;
};

describe('the fence of an earlier boot, when its machine is off again', () => {
  const stale = (phase: FenceRecord['phase'], forGood = false, recorded: Parameters<typeof marked>[0] = {}) =>
    view({
      cluster: cluster({ node: marked({ phase, generation: 'boot-0', ...recorded }), pods: [], volumes: [] }),
      machine: machine({ forGood, disks: [] }),
    });
  it.each(['fencing', 'fenced', 'lifted', 'releasing'] as const)(
    'in phase %s: becomes a fence of this boot if nothing is left to free',
    (phase) => {
      expect(stepOf(stale(phase))).toMatchObject({
        do: 'park',
        record: { phase: 'fenced', generation: 'boot-1', bootID: 'boot-a' },
      });
    },
  );
  it.each(['fenced', 'lifted'] as const)(
    'in phase %s: gets its removed quarantine back under the new proof, and is not only parked',
    (phase) => {
      const bare = { outOfService: false, ours: false, quarantine: false };
      const given = view({
        ...stale(phase),
        cluster: cluster({
          node: marked({ phase, generation: 'boot-0', released: ago(1_000) }, { taints: bare }),
          pods: [],
          volumes: [],
        }),
      });
      expect(decide(given)).toMatchObject({
        step: {
          do: 'mark',
          addOutOfService: false,
          record: { phase: 'fenced', generation: 'boot-1', released: expect.any(String) },
        },
        because: { says: expect.stringContaining('quarantine') },
      });
    },
  );
  it.each([
    ['with its quarantine', PARKED],
    ['whose quarantine someone removed', { ...PARKED, quarantine: false }],
  ])('does not become one on a Node that someone has opted out since: %s', (_, taints) => {
    const parked = marked(
      { phase: 'fenced', generation: 'boot-0', released: ago(600_000) },
      { optOuts: [optOut('no')], taints, taintedFor: null },
    );
    const cases = [stale('fenced'), stale('fenced', true)];
    for (const given of cases)
      expect(said({ ...given, cluster: cluster({ node: parked, pods: [], volumes: [] }) })).toBe('refused opted-out');
  });
  it('without a record: our taint does not stay', () => {
    const lost = node({ label: 'run.0', taints: { outOfService: true, ours: true, quarantine: true } });
    expect(stepOf(view({ ...stale('fenced'), cluster: cluster({ node: lost, pods: [], volumes: [] }) }))).toMatchObject(
      { do: 'park', record: { phase: 'fenced' } },
    );
  });
  it.each([
    ['although its label is left', { label: 'run.0' }],
    ['although only its quarantine is left', {}],
  ])('without a record, %s: is parked again, so that it has a record when its machine returns', (_, change) => {
    const lost = node({ taints: PARKED, ...change });
    expect(stepOf(view({ ...stale('fenced'), cluster: cluster({ node: lost, pods: [], volumes: [] }) }))).toMatchObject(
      { do: 'park', record: { phase: 'fenced', bootID: 'boot-a' } },
    );
  });
  it('has no effect if someone has released it', () => {
    const buried = node({
      label: 'x',
      tombstone: fenceInBoot('run.0', { bootID: 'boot-0' }, { generation: 'boot-0' }),
    });
    expect(said(view({ ...stale('fenced'), cluster: cluster({ node: buried, pods: [], volumes: [] }) }))).toBe(
      'ignored nothing-to-free',
    );
  });
  it('is parked first, and then the Node of the terminated machine is deleted', () => {
    expect(
      said(
        view({
          ...stale('fencing', true),
          cluster: cluster({ node: marked({ phase: 'fenced', released: ago(0) }), pods: [], volumes: [] }),
        }),
      ),
    ).toBe('delete-node');
  });
  it('is needed: without any fence, a Node with nothing to free is ignored', () =>
    expect(said(view({ cluster: cluster({ pods: [], volumes: [] }), machine: machine({ disks: [] }) }))).toBe(
      'ignored nothing-to-free',
    ));
});

describe('our taint of an earlier boot, on a Node that someone opted out afterwards', () => {
  const optedOut = (recorded: Partial<FenceRecord>, change: Partial<View['memory']> = {}): View =>
    view({
      cluster: cluster({ node: marked({ generation: 'boot-0', ...recorded }, { optOuts: [optOut('mine', 'label')] }) }),
      memory: { ...view().memory, ...change },
    });
  const cases: readonly [string, View, string][] = [
    ['is lifted, because no fence of this boot will end that fence', optedOut({}), 'lift-out-of-service'],
    [
      'is lifted although the cloud did not know the boot of that fence',
      optedOut({ generation: null }),
      'lift-out-of-service',
    ],
    [
      'is not lifted because of a read that may be older than the mark',
      optedOut({}, { markIsNew: true }),
      'reread opted-out',
    ],
    [
      'stays if it is of this boot, because a fence of this boot continues to its end',
      optedOut({ generation: 'boot-1' }),
      'delete-pod',
    ],
    ['stays during a pause', { ...optedOut({}), policy: { ...view().policy, paused: 'wait' } }, 'refused paused'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it('is lifted with a record that says so, and the quarantine stays', () => {
    expect(decide(optedOut({}))).toMatchObject({
      step: { record: { phase: 'lifted', generation: 'boot-0' } },
      because: { code: 'opted-out', says: expect.stringContaining('of an earlier boot') },
    });
  });

  it('does not cause a new fence after it was lifted', () => {
    const lifted = marked(
      { generation: 'boot-0', phase: 'lifted', released: ago(1_000) },
      { taints: PARKED, optOuts: [optOut('mine', 'label')] },
    );
    expect(said(view({ cluster: cluster({ node: lifted }) }))).toBe('refused opted-out');
  });
});
