import { describe, expect, it } from 'vitest';
import type { DiskAttachment } from '../../fencing/model/machine.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { decide } from '../../fencing/rules/decide.ts';
import { failIfDeclined, listUntouched } from '../../fencing/rules/finish.ts';
import type { Memory, View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, attachment, cluster, machine, marked, PARKED, pod, view, volume } from './view-builder.ts';

/** What a fence leaves alone, and what its outcome says about it. */

const parked = { phase: 'fenced', released: ago(1_000) } as const;
const fencing = (change: Partial<View['cluster']> = {}, rest: Partial<View> = {}): View =>
  view({
    machine: machine({ disks: [] }),
    cluster: cluster({ node: marked(), pods: [], volumes: [], ...change }),
    ...rest,
  });
const remembering = (memory: Partial<Memory>) => ({ memory: { ...view().memory, ...memory } });

describe('what is left alone is listed with the reason', () => {
  const listed = (given: View) => listUntouched(given).map(({ what, why }) => `${what}: ${why}`);
  const late = pod({ name: 'late', uid: 'late', volumes: [] });
  const disk = (change: Partial<DiskAttachment>): Partial<View> => ({
    machine: machine({ disks: [{ disk: 'disk-1', state: 'attached', keep: null, ...change }] }),
  });
  const never = { policy: { ...defaultPolicy, detach: 'never' } } as const;
  const unresolved = pod({ kind: 'mirror', volumes: [], unresolved: ['default/data', 'default/more'] });
  const terminated = { machine: machine({ forGood: true, disks: [] }) };
  const unnamed = 'disk/disk-1: it belongs to no PersistentVolume of this Node';

  it.each<[string, View, readonly string[]]>([
    [
      'a mirror pod',
      fencing({ pods: [pod({ kind: 'mirror' })] }),
      ['pod/default/db-0: a mirror pod, which its kubelet owns'],
    ],
    ['not a pod that is to be deleted', fencing({ pods: [pod()] }), []],
    [
      'a pod that comes back after each deletion',
      fencing({ pods: [late] }, remembering({ deleted: new Map([['before', { origin: 'default/late', at: 0 }]]) })),
      ['pod/default/late: a controller recreates it after each deletion, and it uses no volume'],
    ],
    [
      'a pod that finalizers hold',
      fencing(
        { pods: [{ ...late, deleting: true, finalizers: true }] },
        remembering({
          deleted: new Map([['late', { origin: 'default/late', at: 0 }]]),
          declined: new Map([['fail-pod late', 'webhook']]),
        }),
      ),
      ['pod/default/late: it is deleted, but its finalizers keep it'],
    ],
    [
      'an attachment that a tolerating pod uses',
      fencing({ pods: [pod({ tolerates: true })], volumes: [volume()] }),
      [
        'pod/default/db-0: it tolerates the out-of-service taint',
        'volumeattachment/csi-1: pod default/db-0 still uses a-driver^disk-1',
      ],
    ],
    [
      'an attachment that an unresolved claim may mean',
      fencing({ pods: [unresolved], volumes: [volume()] }),
      [
        'pod/default/db-0: a mirror pod, which its kubelet owns',
        'volumeattachment/csi-1: pod default/db-0 may still use a-driver^disk-1: Cloudfence cannot read the volume behind default/data, default/more',
      ],
    ],
    ['not an attachment that is being deleted', fencing({ volumes: [volume()] }), []],
    ['the root disk', fencing({}, disk({ keep: 'it is the root disk' })), ['disk/disk-1: it is the root disk']],
    [
      'the root disk, even if a PersistentVolume names it',
      fencing({ volumes: [volume()] }, disk({ keep: 'it is the root disk' })),
      ['disk/disk-1: it is the root disk'],
    ],
    ['a disk that no volume names', fencing({}, disk({})), [unnamed]],
    [
      'a disk that only a volume of another Node names',
      fencing({ volumes: [volume({ handle: 'disk-2', key: 'a-driver^disk-2' })] }, disk({})),
      [unnamed],
    ],
    [
      'a disk without a PersistentVolume',
      fencing({ volumes: [volume({ persistentVolume: null })] }, disk({})),
      [unnamed],
    ],
    ['not a disk that is to be detached', fencing({ volumes: [volume()] }, disk({})), []],
    [
      'a disk that the policy does not allow to be detached',
      fencing({ volumes: [volume()] }, { ...disk({}), ...never }),
      ['disk/disk-1: the policy does not allow detaching disks'],
    ],
    [
      'the Node of a terminated machine that someone else holds',
      fencing({ node: marked(parked, { finalizers: ['someone/else', 'another/one'] }) }, terminated),
      ['node/node-a: it has a finalizer: someone/else, another/one'],
    ],
    ['not the Node of a terminated machine that is to be deleted', fencing({ node: marked(parked) }, terminated), []],
    [
      'not the Node of a stopped machine, which stays anyway',
      fencing({ node: marked(parked, { finalizers: ['someone/else'] }) }),
      [],
    ],
    ['not a Node that is gone', fencing({ node: null }, terminated), []],
  ])('%s', (_, given, expected) => expect(listed(given)).toEqual(expected));
});

describe('a parked Node', () => {
  const record = (given: View) => {
    const decision = decide(given);
    return decision.do === 'step' && decision.step.do === 'park' ? decision.step.record : decision.do;
  };
  it('needs nothing more if its fence has ended, its taint is removed, and its label is set', () => {
    const standing = (change: Parameters<typeof marked>[0], rest: Parameters<typeof marked>[1] = {}) =>
      said(fencing({ node: marked({ ...parked, ...change }, { taints: PARKED, ...rest }) }));
    expect(standing({})).toBe('fenced fenced');
    expect(standing({ phase: 'fencing' })).toBe('park');
    expect(standing({}, { label: null })).toBe('park');
    expect(standing({}, { taints: { ...PARKED, outOfService: true, ours: true } })).toBe('park');
  });

  it('has a record with the generation that the cloud gives now, or with the last one that it gave', () => {
    const drifted = { generation: 'boot-2', generationDrifts: true, disks: [] };
    expect(record(fencing({}, { machine: machine(drifted) }))).toMatchObject({ generation: 'boot-2' });
    const forgotten = machine({ power: 'missing', generation: null, disks: [] });
    const witnessed = { ...view().memory, witness: 'released', leaseSince: -19_000 } as const;
    expect(
      record(
        fencing(
          { lease: ago(90_000), node: marked({ lease: ago(90_000) }) },
          { machine: forgotten, memory: witnessed, policy: { ...defaultPolicy, deleteNode: 'never' } },
        ),
      ),
    ).toMatchObject({ generation: 'boot-1' });
  });
});

describe('the end of a fence', () => {
  const says = (given: View) => decide(given).because.says;
  it('names only what belongs to this machine', () => {
    const ofAnother = attachment({ source: { source: 'volumeAttachment', driver: 'a-driver', value: 'm-2' } });
    const kept = (own: Parameters<typeof volume>[0]) =>
      says(fencing({ node: marked(parked), pods: [pod({ tolerates: true })], volumes: [volume(own)] }));
    expect(kept({})).toMatch(/ keeps only a-driver\^disk-1 for pod default\/db-0,/);
    expect(kept({ attachment: ofAnother })).toBe('m-1 is off and Node node-a holds no volume any more');
    expect(kept({ attachment: null })).toBe('m-1 is off and Node node-a holds no volume any more');
  });

  it('is a refusal if another machine has the Node name and an attachment of this machine is left', () => {
    const ofAnother = attachment({ source: { source: 'volumeAttachment', driver: 'a-driver', value: 'm-2' } });
    const under = (own: Parameters<typeof volume>[0]) =>
      said(fencing({ node: null, nameTaken: true, volumes: [volume({ nameTaken: true, ...own })] }));
    expect(under({})).toBe('refused name-reused');
    expect(under({ attachment: ofAnother })).toBe('fenced fenced');
    expect(under({ attachment: null })).toBe('fenced fenced');
  });

  it('says that nothing is held, even if the Node is gone', () => {
    const given = fencing({ node: null, pods: [pod({ tolerates: true })], volumes: [volume()] });
    expect(says(given)).toMatch(/^m-1 is off; it keeps only a-driver\^disk-1 for pod/);
    expect(says(fencing({ node: null, volumes: [volume({ attachment: null })] }))).toBe(
      'm-1 is off and holds nothing any more',
    );
  });

  it.each([
    ['the deletion of an attachment', 'delete-attachment va-uid', volume()],
    ['a nudge of the old attachment', 'nudge va-uid on', volume()],
    ['the removal of a nudge of the old attachment', 'nudge va-uid off', volume()],
    [
      'a nudge of the new attachment',
      'nudge new on',
      volume({ attachment: null, successor: attachment({ uid: 'new' }) }),
    ],
    [
      'the removal of a nudge of the new attachment',
      'nudge new off',
      volume({ attachment: null, successor: attachment({ uid: 'new' }) }),
    ],
  ])('fails if the API server declined %s', (_, key, of) => {
    const given = fencing({ volumes: [of] }, remembering({ declined: new Map([[key, 'webhook']]) }));
    expect(failIfDeclined(given)).toMatchObject({ outcome: 'failed', because: { says: 'declined: webhook' } });
    expect(failIfDeclined({ ...given, cluster: { ...given.cluster, volumes: [] } })).toBeNull();
  });
});
