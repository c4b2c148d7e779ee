import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import {
  ago,
  back,
  BEFORE,
  cluster,
  machine,
  marked,
  node,
  NOW,
  PARKED,
  record,
  returned,
  view,
} from './view-builder.ts';

/** A person requests a release, with or without a statement. */

describe('a release by hand', () => {
  const seen = (firstFence: string | null, fence = 'other.1'): View =>
    view({ cluster: cluster({ node: marked({ fence }) }), memory: { ...view().memory, firstFence } });
  const release = (given: View, accepted: string | null = null): View => ({
    ...given,
    request: { ...given.request, intent: 'release', accepted },
  });
  /** A release for a person that has taken its first step. */
  const begun = (given: View): View => ({
    ...release(given, 'checked'),
    memory: { ...given.memory, takenAt: new Map([['lift-out-of-service node-uid', 0]]) },
  });
  /** The taint is gone for so long (ms): according to the record, and for this run. */
  const lifted = (recorded: number, seen: number | null = null, phase: 'lifted' | 'releasing' = 'lifted'): View => {
    const given = returned({ node: back({}, { phase, released: ago(recorded) }) });
    const untainted = seen === null ? null : { since: given.now.mono - seen, released: null };
    return { ...given, memory: { ...given.memory, untainted } };
  };
  const cases: readonly [string, View, string][] = [
    ['requires the same proof', release(lifted(630_000)), 'release-node'],
    [
      'trusts no time that another process wrote ten minutes ago',
      release(lifted(629_999)),
      'wait controllers-settling',
    ],
    ['trusts an older time of another process', release(lifted(630_000)), 'release-node'],
    ['waits for 30 s itself instead', release(lifted(0, 29_999)), 'wait controllers-settling'],
    ['needs no longer than these 30 s', release(lifted(0, 30_000)), 'release-node'],
    ['waits for 30 s itself if another clock is far ahead', release(lifted(-700_000, 0)), 'wait controllers-settling'],
    ['needs no longer if another clock is far ahead', release(lifted(-700_000, 30_000)), 'release-node'],
    ['leaves a Node whose taint a function removed to the functions', lifted(90_000), 'release-node'],
    [
      'leaves no time of its own clock to the functions',
      lifted(629_999, null, 'releasing'),
      'wait controllers-settling',
    ],
    ['leaves the end to the functions after ten minutes', lifted(630_000, null, 'releasing'), 'release-node'],
    ['never fences', release(view()), 'released released'],
    [
      'is refused while the machine is off',
      release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }) }) })),
      'refused still-off',
    ],
    [
      'is granted to a person who confirms it',
      release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }) }) }), 'checked the console'),
      'lift-out-of-service',
    ],
    [
      'is granted before this run has read the name of a fence',
      release(view({ cluster: cluster({ node: marked({ fence: 'other.1' }) }) }), 'checked'),
      'lift-out-of-service',
    ],
    ['is granted for the fence that the person saw', release(seen('other.1'), 'checked'), 'lift-out-of-service'],
    ['is refused for a fence that has begun since', release(seen('run.1'), 'checked'), 'refused another-fence'],
    [
      'is refused for a fence that has begun since, even if the one before had no name',
      release(seen(null), 'checked'),
      'refused another-fence',
    ],
    ['is granted if this run itself named the fence', release(seen(null, 'run.2'), 'checked'), 'lift-out-of-service'],
    [
      'takes two steps even if a person confirms it',
      begun(returned({ node: back({}, { phase: 'releasing', released: new Date(NOW).toISOString() }) })),
      'wait controllers-settling',
    ],
    [
      'writes that a person ends the fence even if this run has just removed our taint from a machine that runs',
      begun(returned({ node: back({}, { phase: 'lifted', released: ago(1_000) }) })),
      'lift-out-of-service',
    ],
    [
      'first writes to which boot the person’s statement applies, whatever an earlier command wrote',
      release(returned({ node: back({}, { phase: 'releasing', released: ago(630_000) }) }), 'checked'),
      'lift-out-of-service',
    ],
    [
      'is granted if a person confirms it, whatever the identity sources say',
      release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }, { identitySources: [] }) }) }), 'checked'),
      'lift-out-of-service',
    ],
    [
      'is granted if a person confirms it, although the record cannot be read',
      release(
        returned({
          node: node({ label: 'run.1', recordText: '{', taints: { outOfService: true, ours: true, quarantine: true } }),
        }),
        'checked',
      ),
      'lift-out-of-service',
    ],
    [
      'is refused without a person’s word if the record is lost',
      release(returned({ node: node({ label: 'run.1', taints: PARKED }) })),
      'refused record-lost',
    ],
    [
      'is granted with a person’s word if the record is lost, and writes what it knows of that fence',
      release(returned({ node: node({ label: 'run.1', taints: PARKED }) }), 'checked'),
      'lift-out-of-service',
    ],
    [
      'keeps a record without anything else of ours if nobody confirms it',
      release(view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record() }) }) })),
      'released released',
    ],
    [
      'removes a record without anything else of ours if a person confirms it',
      release(view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record() }) }) }), 'checked'),
      'lift-out-of-service',
    ],
    ['has nothing to do on a Node without a fence', release(returned({ node: node() })), 'released released'],
    [
      'has nothing to do on a Node without a fence, even if a person confirms it',
      release(returned({ node: node() }), 'checked'),
      'released released',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it.each([
    ['is off', machine(), 'boot-a', { bootID: 'boot-a', generation: 'boot-1' }],
    [
      'is off, and its Node shows a later boot',
      machine({ generation: 'boot-2' }),
      'boot-b',
      { bootID: 'boot-b', generation: 'boot-2' },
    ],
    ['runs, so that boot has ended', machine({ power: 'running' }), 'boot-a', { bootID: '', generation: 'boot-1' }],
    [
      'starts, and its Node may already show the new boot',
      machine({ power: 'starting' }),
      'boot-b',
      { bootID: '', generation: 'boot-1' },
    ],
    [
      'stops in another boot, so it has been started since',
      machine({ power: 'stopping', generation: 'boot-2' }),
      'boot-a',
      { bootID: '', generation: 'boot-1' },
    ],
    [
      'stops, and its generation may also change during an operation',
      machine({ power: 'stopping', generationDrifts: true }),
      'boot-a',
      { bootID: '' },
    ],
    [
      'was stopped, and is deallocated or deleted',
      machine({ power: 'stopping' }),
      'boot-a',
      { bootID: 'boot-a', generation: 'boot-1' },
    ],
    [
      'is off, and a disk is detached from it',
      machine({ power: 'stopping', offUnderOperation: true }),
      'boot-a',
      { bootID: 'boot-a', generation: 'boot-1' },
    ],
  ])('first writes the boot to which the statement applies: the machine %s', (_, found, bootID, boot) => {
    const node = marked({ phase: 'fenced', released: ago(630_000) }, { taints: PARKED, bootID });
    expect(decide(release(view({ machine: found, cluster: cluster({ node }) }), 'checked'))).toMatchObject({
      step: {
        do: 'lift-out-of-service',
        record: { fence: 'run.1', phase: 'releasing', ...boot, released: new Date(NOW).toISOString() },
      },
      because: { code: 'accepted-by-a-person', says: 'checked' },
    });
  });

  it('names no boot of a machine that stops if the cloud did not name one before either', () => {
    const node = marked({ phase: 'fenced', generation: null, released: ago(630_000) }, { taints: PARKED });
    const found = machine({ power: 'stopping', generation: null });
    expect(decide(release(view({ machine: found, cluster: cluster({ node }) }), 'checked'))).toMatchObject({
      step: { record: { phase: 'releasing', bootID: '' } },
    });
  });

  it.each([
    ['leaves a tombstone for the boot in which it began', 'boot-a', machine(), BEFORE],
    [
      'leaves a tombstone for that boot even if the machine has been started and stopped since',
      'boot-a',
      machine({ generation: 'boot-2' }),
      BEFORE,
    ],
    ['leaves no tombstone if the machine has started since', 'boot-a', machine({ power: 'running' }), null],
    [
      'leaves no tombstone if the machine stops again',
      'boot-a',
      machine({ power: 'stopping', generation: 'boot-2' }),
      null,
    ],
    ['leaves a tombstone if the stopped machine is deallocated', 'boot-a', machine({ power: 'stopping' }), BEFORE],
    ['leaves no tombstone if that boot had ended when it began', '', machine({ power: 'running' }), null],
    ['leaves no tombstone even if the machine is off again', '', machine({ generation: 'boot-2' }), null],
  ])('%s', (_, bootID, found, tombstone) => {
    const node = marked({ phase: 'releasing', bootID, released: ago(630_000) }, { taints: PARKED });
    expect(decide(begun(view({ machine: found, cluster: cluster({ node }) })))).toMatchObject({
      step: { do: 'release-node', tombstone },
    });
  });
});
