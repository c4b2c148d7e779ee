import { describe, expect, it } from 'vitest';
import type { AttachmentFacts, NodeFacts, VolumeFacts } from '../../fencing/model/cluster-facts.ts';
import type { IdentitySource, MachineFacts } from '../../fencing/model/machine.ts';
import { defaultPolicy, timing } from '../../fencing/model/policy.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import { decide } from '../../fencing/rules/decide.ts';
import { listUntouched } from '../../fencing/rules/finish.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, attachment, cluster, machine, marked, node, NOW, pod, record, view, volume } from './view-builder.ts';

/** Each condition of the rules that doubt a proof, one by one. */

const silent = ago(60_000);

/** The cloud does not know the machine, and its kubelet has been silent for a minute. */
const missing = (change: Partial<View['cluster']> = {}, memory: Partial<View['memory']> = {}): View =>
  view({
    machine: machine({ power: 'missing', generation: null, disks: [] }),
    cluster: cluster({ lease: silent, ...change }),
    memory: { ...view().memory, firstLease: silent, lease: silent, ...memory },
  });

describe('a place that is not served', () => {
  const from = (source: IdentitySource['source'], value: string): IdentitySource => ({ source, driver: null, value });
  const served = (sources: readonly IdentitySource[], unserved: string, change: Partial<View> = {}): View => ({
    ...missing({ node: node({ identitySources: sources }) }),
    identityRules: {
      ...view().identityRules,
      unservedScope: ({ source }) => (source === unserved ? { scope: 'far-away-1', remedy: 'add it' } : null),
    },
    ...change,
  });
  const two = [from('providerID', 'm-1'), from('nodeIdAnnotation', 'm-1')];

  it.each([
    [
      'counts if any identity source of the machine names it',
      served(two, 'nodeIdAnnotation'),
      'refused scope-not-served',
    ],
    [
      'does not count if the source names no machine of this cloud',
      served([from('providerID', 'm-1'), from('csiNode', 'elsewhere')], 'csiNode'),
      'witness missing-without-witness',
    ],
    [
      'does not count if a person vouches',
      served(two, 'nodeIdAnnotation', {
        request: { ...view().request, vouched: 'pulled the plug' },
        policy: { ...defaultPolicy, vouching: 'accepted' },
      }),
      'mark',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('the witnesses', () => {
  const noted = (name: string, attached: boolean): FenceRecord['volumes'][number] => ({
    driver: 'a-driver',
    handle: name,
    persistentVolume: name,
    attachment: name,
    attached,
  });
  const left = (name: string, persistentVolume: string | null): VolumeFacts =>
    volume({ handle: name, key: `a-driver^${name}`, attachmentName: name, attachment: null, persistentVolume });
  const fenced = (volumes: readonly VolumeFacts[]): View =>
    missing({
      node: marked({ generation: null, lease: silent, volumes: [noted('disk-1', true), noted('disk-2', false)] }),
      pods: [],
      volumes,
    });

  it.each([
    ['are asked at once if they are known', missing({}, { searched: false }), 'witness missing-without-witness'],
    [
      'are not searched for without a Node, because all attachments are known then',
      missing({ node: null, volumes: [volume({ attachment: null })] }, { searched: false }),
      'refused missing-without-witness',
    ],
    ['are gone with their volumes', fenced([left('disk-1', null), left('disk-2', null)]), 'delete-node'],
    [
      '... but only if all of them are',
      fenced([left('disk-1', 'pv-1'), left('disk-2', null)]),
      'witness missing-without-witness',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  const known = (
    change: Partial<View['cluster']>,
    recorded: Partial<FenceRecord> = {},
    rest: Partial<View> = {},
  ): View => ({
    ...missing(
      { node: marked({ lease: silent, volumes: [noted('disk-1', true)], ...recorded }), pods: [], ...change },
      { searched: true },
    ),
    ...rest,
  });
  const free = { volumes: [left('disk-1', 'pv-1')] };
  const vouched = {
    request: { ...view().request, vouched: 'pulled the plug' },
    policy: { ...defaultPolicy, vouching: 'accepted' },
  } as const;
  it.each([
    ['are none that the fence of a machine that was there may have freed', known({ ...free, pods: [pod()] })],
    ['... nor if the mark was lifted', known(free, { phase: 'lifted', generation: null, released: ago(1_000) })],
    ['... nor if the fence is being released', known(free, { phase: 'releasing', generation: null })],
  ])('%s', (_, given) => expect(said(given)).toBe('refused missing-without-witness'));

  const quarantined = { taints: { outOfService: false, ours: false, quarantine: true } };
  const lifted = (change: Partial<AttachmentFacts> = {}, witness: View['memory']['witness'] = null): View => {
    const given = known({
      node: marked({ phase: 'lifted', released: ago(60_000), lease: silent }, quarantined),
      pods: [pod()],
      volumes: [volume({ attachment: attachment(change) })],
    });
    return { ...given, memory: { ...given.memory, witness, testified: ['va-uid'] } };
  };
  const byName = { source: 'volumeAttachment', driver: 'a-driver' } as const;
  it.each([
    ['are those that Kubernetes has not let go', lifted(), 'witness missing-without-witness'],
    ['... even while our taint is on the Node', known({ volumes: [volume()] }), 'witness missing-without-witness'],
    ['... which are enough if they confirm it', lifted({}, 'released'), 'mark'],
    [
      '... but not an attachment that came later',
      lifted({ uid: 'later' }, 'released'),
      'witness missing-without-witness',
    ],
    ['... but not if Kubernetes lets them go', lifted({ deletingSince: NOW }), 'refused missing-without-witness'],
    [
      '... even after they have confirmed it',
      lifted({ deletingSince: NOW - 1_000 }, 'released'),
      'refused missing-without-witness',
    ],
    ['... nor if it never saw them attached', lifted({ attached: false }), 'refused missing-without-witness'],
    [
      '... nor if the attachment names another machine',
      lifted({ source: { ...byName, value: 'm-2' } }),
      'refused missing-without-witness',
    ],
    ['... nor if it names no machine', lifted({ source: null }), 'refused missing-without-witness'],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it('have to be there still, each of them, and another may have come meanwhile', () => {
    const given = lifted({}, 'released');
    const later = volume({
      key: 'a-driver^disk-2',
      handle: 'disk-2',
      attachmentName: 'csi-2',
      attachment: attachment({ name: 'csi-2', uid: 'later' }),
    });
    const both = { ...given, cluster: { ...given.cluster, volumes: [volume(), later] } };
    expect(said(both)).toBe('witness missing-without-witness');
    expect(said({ ...both, memory: { ...both.memory, testified: ['va-uid', 'later'] } })).toBe('mark');
  });

  it('are not needed to end a fence that has freed everything, but its Node stays', () => {
    const parked = { phase: 'fenced', released: ago(1_000) } as const;
    const quarantine = { taints: { outOfService: false, ours: false, quarantine: true } };
    const ended = { ...free, node: marked({ ...parked, lease: silent, volumes: [] }, quarantine) };
    expect(said(known(free))).toBe('park');
    expect(said(known(ended))).toBe('fenced fenced');
    expect(listUntouched(known(ended))).toEqual([
      { what: 'node/node-a', why: expect.stringMatching(/knew m-1 when the fence began, .* delete the Node yourself/) },
    ]);
    const always = { policy: { ...defaultPolicy, deleteNode: 'always' } } as const;
    expect(said(known(ended, {}, always))).toBe('fenced fenced');
    expect(said(known(ended, {}, vouched))).toBe('delete-node');
  });
});

it('a disk of the machine itself, such as its root disk, needs no volume that explains it', () => {
  const root = { disk: 'root-disk', state: 'attached', keep: 'root' } as const;
  const given = (keep: string | null) => view({ machine: machine({ disks: [...machine().disks, { ...root, keep }] }) });
  expect(said(given('root'))).toBe('mark');
  expect(said(given(null))).toBe('search disks-going');
});

it('a refusal for a doubtful power state quotes the cloud', () => {
  const evidence = { state: 'stopped', reason: 'hibernation' };
  const says = (power: MachineFacts['power']) => decide(view({ machine: machine({ power, evidence }) }));
  const quoted = { because: { says: expect.stringMatching(/\(state stopped, reason hibernation\)$/) } };
  expect(says('suspended')).toMatchObject(quoted);
  expect(says('unknown')).toMatchObject(quoted);
});

describe('a Lease that is renewed during a fence', () => {
  const renewed = (lease: string, change: Partial<FenceRecord>): View =>
    view({ cluster: cluster({ node: marked({ lease: ago(900_000), ...change }), lease }) });

  it('is noted with the time at which Cloudfence saw it', () => {
    expect(decide(renewed(ago(1), {}))).toMatchObject({
      step: { do: 'note', record: { ...record(), lease: ago(900_000), renewed: { lease: ago(1), seen: ago(0) } } },
      because: { code: 'lease-renewed-after-off' },
    });
  });

  it('contradicts a fence that began without a Lease, too, although a later run reads no other one', () => {
    const given = renewed(ago(1), { lease: null });
    const read = { lease: ago(1), firstLease: ago(1), leaseSince: 0 };
    expect(said({ ...given, memory: { ...given.memory, ...read } })).toBe('note');
  });

  it('is refused from the moment at which it was noted', () => {
    expect(said(renewed(ago(1), { renewed: { lease: ago(1), seen: ago(0) } }))).toBe('refused lease-renewed-after-off');
  });

  it('is the Lease of the fence after a long silence', () => {
    const seen = ago(timing.silence);
    expect(decide(renewed(ago(700_000), { renewed: { lease: ago(700_000), seen } }))).toMatchObject({
      step: { do: 'note', record: { ...record(), lease: ago(700_000), renewed: null } },
      because: { code: 'silent-again' },
    });
  });
});

describe('another boot on the Node of a machine that the cloud has forgotten', () => {
  const forgotten = (phase: FenceRecord['phase'], power: MachineFacts['power'] = 'missing'): View => {
    const released = phase === 'fencing' ? null : ago(1_000);
    const given = missing(
      { node: marked({ phase, generation: null, lease: silent, released }, { bootID: 'boot-b' }) },
      { witness: 'released', testified: ['va-uid'] },
    );
    return { ...given, machine: { ...given.machine, power } };
  };
  const cases: readonly [string, View, string][] = [
    ['is another machine’s if its fence is under way', forgotten('fencing'), 'refused identity-contradicted'],
    ['... or has ended', forgotten('fenced'), 'refused identity-contradicted'],
    ['may be the machine’s own if Cloudfence saw it run', forgotten('lifted'), 'mark'],
    ['... or if a person released the fence', forgotten('releasing'), 'mark'],
    [
      '... and if a person vouches for a machine without a power state',
      {
        ...forgotten('fencing', 'unknown'),
        request: { ...view().request, vouched: 'pulled the plug' },
        policy: { ...defaultPolicy, vouching: 'accepted' },
      },
      'mark',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a Node that was in use long after its machine was terminated', () => {
  const LONG = timing.stopping;
  const terminated = NOW - 3_600_000;
  const used = (
    facts: Partial<MachineFacts>,
    change: Partial<NodeFacts> = {},
    lease: string | null = ago(30_000),
  ): View => {
    const given = view();
    return {
      ...given,
      machine: machine({ forGood: true, since: terminated, ...facts }),
      cluster: cluster({ node: node(change), lease }),
      memory: {
        ...given.memory,
        firstOff: { wall: NOW - 30_000, mono: -29_000, generation: 'boot-1' },
        leaseSince: -29_000,
        lease,
      },
    };
  };
  const contradicted = 'refused identity-contradicted';
  it.each([
    ['is another machine’s while it is Ready', used({}), contradicted],
    [
      '... and if it became NotReady long after the end',
      used({}, { ready: 'False', readySince: terminated + LONG + 1 }),
      contradicted,
    ],
    ['... and not if it did so before', used({}, { ready: 'False', readySince: terminated + LONG }), 'mark'],
    [
      'and is its own if its Lease ended with the machine',
      used({}, {}, new Date(terminated + LONG).toISOString()),
      'mark',
    ],
    ['and is its own if it has no Lease', used({}, {}, null), 'mark'],
    ['and is its own if the machine is only stopped', used({ forGood: false }), 'mark'],
    ['and is its own if the cloud gives no time of the end', used({ since: null }), 'mark'],
    ['does not stop a fence that has begun', used({}, marked({ lease: ago(30_000) })), 'delete-pod'],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
  it('and what a Node left behind is freed', () => {
    const given = used({});
    const behind = { ...given.cluster, node: null, pods: [pod()], volumes: [volume({ attachment: attachment() })] };
    expect(said({ ...given, cluster: behind })).toBe('delete-pod');
  });
});
