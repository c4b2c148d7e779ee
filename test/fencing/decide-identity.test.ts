import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { attachment, cluster, machine, marked, node, NOW, view, volume } from './view-builder.ts';

describe('the identity of a machine', () => {
  const named = (...values: string[]) =>
    node({ identitySources: values.map((value) => ({ source: 'providerID' as const, driver: null, value })) });
  const cases: readonly [string, View, string][] = [
    [
      'is proven by one identity source that names it',
      view({ cluster: cluster({ node: named('m-1', 'something of another driver') }) }),
      'mark',
    ],
    [
      'is contradicted by one identity source that names another machine',
      view({ cluster: cluster({ node: named('m-1', 'm-2') }) }),
      'refused identity-contradicted',
    ],
    ['is unproven without a source', view({ cluster: cluster({ node: named() }) }), 'refused identity-unproven'],
    [
      'is contradicted by a record of another machine',
      view({ cluster: cluster({ node: marked({ machine: 'm-2' }) }) }),
      'refused record-of-another-machine',
    ],
    [
      'is unproven if the record cannot be read',
      view({ cluster: cluster({ node: node({ recordText: '{', label: 'run.1' }) }) }),
      'refused record-unreadable',
    ],
    [
      'does not depend on an unreadable record if nothing else of ours is there, because a kubelet may have written it',
      view({ cluster: cluster({ node: node({ recordText: '{' }) }) }),
      'mark',
    ],
    [
      'is irrelevant if there is no Node, and no remains of one',
      view({ cluster: cluster({ node: null, pods: [], volumes: [] }) }),
      'ignored no-node',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('the identity of a machine whose name the cloud uses again', () => {
  const born = (made: number | null) => machine({ incarnation: { id: 'first-owner', made } });
  const saying = (uuid: string | null, created = NOW) =>
    node({
      created,
      identitySources: [
        { source: 'providerID', driver: null, value: 'm-1' },
        ...(uuid === null ? [] : [{ source: 'systemUUID' as const, driver: null, value: uuid }]),
      ],
    });
  const at = (facts: ReturnType<typeof machine>, standing: ReturnType<typeof node>) =>
    view({ machine: facts, cluster: cluster({ node: standing }) });
  const cases: readonly [string, View, string][] = [
    ['is proven by a source with the immutable ID', at(born(NOW), saying('first-owner', NOW - 1)), 'mark'],
    [
      'is proven by a source with the immutable ID, even if that ID can be read in another way',
      at(machine({ incarnation: { id: 'first-owner-swapped', made: null } }), saying('first-owner')),
      'mark',
    ],
    [
      'is contradicted by a source with the ID of another machine of that name, however young the Node',
      at(born(NOW - 1), saying('second-owner')),
      'refused identity-contradicted',
    ],
    [
      'is proven by a Node created after the machine, if no source has the immutable ID',
      at(born(NOW), saying(null)),
      'mark',
    ],
    [
      'is not proven by a Node created before the machine',
      at(born(NOW), saying(null, NOW - 1)),
      'refused identity-unproven',
    ],
    [
      'is not proven by any Node if the cloud does not say when the machine was created',
      at(born(null), saying(null)),
      'refused identity-unproven',
    ],
    [
      'is not proven by a source with only the immutable ID, which does not name the machine',
      at(born(NOW - 1), node({ identitySources: [{ source: 'systemUUID', driver: null, value: 'first-owner' }] })),
      'refused identity-unproven',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it('is refused with the machine that is meant, and with what the Node says instead', () => {
    const says = (facts: ReturnType<typeof machine>, standing: ReturnType<typeof node>) => {
      const decision = decide(at(facts, standing));
      return decision.do === 'end' ? decision.because.says : decision.do;
    };
    const csi = { source: 'csiNode', driver: 'a-driver', value: 'm-2' } as const;
    const two = { ...saying('second-owner'), identitySources: [...saying('second-owner').identitySources, csi] };
    expect(says(born(NOW), two)).toBe(
      'Node node-a names other machines besides m-1 (first-owner): providerID: m-1, systemUUID: second-owner, csiNode (a-driver): m-2',
    );
    expect(says(machine(), two)).toMatch(/besides m-1: providerID/);
    expect(says(born(null), saying(null))).toMatch(/^nothing on Node node-a names m-1 \(first-owner\);/);
  });

  it('is part of a detach: the detach is for the machine that was looked at', () => {
    const stuck = volume({ attachment: attachment({ deletingSince: NOW - 99_000 }) });
    const given = view({
      machine: born(NOW),
      cluster: cluster({
        node: { ...marked(), identitySources: saying('first-owner').identitySources },
        pods: [],
        volumes: [stuck],
      }),
    });
    expect(decide(given)).toMatchObject({
      step: { do: 'detach-disk', from: { machine: 'm-1', incarnation: 'first-owner' } },
    });
  });
});
