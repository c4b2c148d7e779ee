import { describe, expect, it } from 'vitest';
import type { AttachmentFacts, NodeFacts, VolumeFacts } from '../../fencing/model/cluster-facts.ts';
import type { IdentitySource, MachineFacts } from '../../fencing/model/machine.ts';
import { defaultPolicy, timing } from '../../fencing/model/policy.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import { decide } from '../../fencing/rules/decide.ts';
import { listUntouched } from '../../fencing/rules/finish.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import {
  ago,
  attachment,
  cluster,
  machine,
  marked,
  node,
  NOW,
  PARKED,
  pod,
  record,
  view,
  volume,
} from './view-builder.ts';

/** Each condition of the rules that doubt a proof, one by one. */

const silent = ago(60_000);

/** The cloud does not know the machine, and its kubelet has been silent for a minute. */
const missing = (change: Partial<View['cluster']> = {}, memory: Partial<View['memory']> = {}): View =>
  view({
    machine: machine({ power: 'missing', generation: null, disks: [] }),
    cluster: cluster({ lease: silent, ...change }),
    memory: { ...view().memory, firstLease: silent, lease: silent, leaseSince: -19_000, ...memory },
  });

describe('the Lease of a machine that the cloud does not know', () => {
  const known = (ms: number, change: Partial<View['cluster']> = {}): View =>
    missing(change, { witness: 'released', leaseSince: view().now.mono - ms });
  it.each<[string, View, string]>([
    [
      'is watched for 20 s of our own clock, because another clock may make the Lease of a living kubelet look old',
      known(19_999),
      'wait kubelet-not-silent',
    ],
    ['is watched for 20 s if the Node is gone, too', known(19_999, { node: null }), 'wait kubelet-not-silent'],
    ['is watched for no longer than that', known(20_000), 'mark'],
    [
      'need not be watched if the control plane has lost the kubelet',
      known(0, { node: node({ ready: 'Unknown' }) }),
      'mark',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('an account or region that is not served', () => {
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
      'refuses a "not found" if any identity source of the machine names it',
      served(two, 'nodeIdAnnotation'),
      'refused scope-not-served',
    ],
    [
      'is irrelevant if the source that names it names no machine of this cloud',
      served([from('providerID', 'm-1'), from('csiNode', 'elsewhere')], 'csiNode'),
      'witness missing-without-witness',
    ],
    [
      'is irrelevant if a person vouches for the machine',
      served(two, 'nodeIdAnnotation', {
        request: { ...view().request, vouched: 'pulled the plug' },
        policy: { ...defaultPolicy, vouching: 'accepted' },
      }),
      'mark',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('the disks that may confirm a "not found"', () => {
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
      'are not searched for if the Node is gone, because all attachments are known then',
      missing({ node: null, volumes: [volume({ attachment: null })] }, { searched: false }),
      'refused missing-without-witness',
    ],
    [
      'are not asked if the PersistentVolumes of all disks are gone',
      fenced([left('disk-1', null), left('disk-2', null)]),
      'delete-node',
    ],
    [
      'are asked if the PersistentVolume of one disk is still there',
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
    [
      'do not include a disk that the fence may have freed while the cloud knew the machine',
      known({ ...free, pods: [pod()] }),
    ],
    [
      'do not include a disk that the fence may have freed, if the mark was lifted',
      known(free, { phase: 'lifted', generation: null, released: ago(1_000) }),
    ],
    [
      'do not include a disk that the fence may have freed, if the fence is being released',
      known(free, { phase: 'releasing', generation: null, released: ago(1_000) }),
    ],
  ])('%s', (_, given) => expect(said(given)).toBe('refused missing-without-witness'));

  const quarantined = { taints: PARKED };
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
    [
      'include a disk that Kubernetes still holds attached, after the mark was lifted',
      lifted(),
      'witness missing-without-witness',
    ],
    [
      'include a disk that Kubernetes still holds attached, while our taint is on the Node',
      known({ volumes: [volume()] }),
      'witness missing-without-witness',
    ],
    ['prove that the machine is gone if all of them confirm it', lifted({}, 'released'), 'mark'],
    [
      'are asked again if an attachment was created after their answer',
      lifted({ uid: 'later' }, 'released'),
      'witness missing-without-witness',
    ],
    [
      'do not include a disk that Kubernetes is detaching',
      lifted({ deletingSince: NOW }),
      'refused missing-without-witness',
    ],
    [
      'do not count any more if Kubernetes began to detach them after their answer',
      lifted({ deletingSince: NOW - 1_000 }, 'released'),
      'refused missing-without-witness',
    ],
    [
      'do not include a disk that Kubernetes never saw attached',
      lifted({ attached: false }),
      'refused missing-without-witness',
    ],
    [
      'do not include a disk whose attachment names another machine',
      lifted({ source: { ...byName, value: 'm-2' } }),
      'refused missing-without-witness',
    ],
    [
      'do not include a disk whose attachment names no machine',
      lifted({ source: null }),
      'refused missing-without-witness',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it('prove nothing while a new attachment exists whose disk was not asked', () => {
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

  it('are not needed to end a fence that has freed everything, but then its Node is not deleted', () => {
    const parked = { phase: 'fenced', released: ago(1_000) } as const;
    const quarantine = { taints: PARKED };
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

it('a disk that belongs to the machine itself, such as its root disk, causes no search for its volume', () => {
  const root = { disk: 'root-disk', state: 'attached', keep: 'root' } as const;
  const given = (keep: string | null) => view({ machine: machine({ disks: [...machine().disks, { ...root, keep }] }) });
  expect(said(given('root'))).toBe('mark');
  expect(said(given(null))).toBe('search disks-going');
});

it('the refusal of a doubtful power state quotes the cloud', () => {
  const evidence = { state: 'stopped', reason: 'hibernation' };
  const says = (power: MachineFacts['power']) => decide(view({ machine: machine({ power, evidence }) }));
  const quoted = { because: { says: expect.stringMatching(/\(state stopped, reason hibernation\)$/) } };
  expect(says('suspended')).toMatchObject(quoted);
  expect(says('unknown')).toMatchObject(quoted);
});

describe('a Lease that the kubelet renews during a fence', () => {
  const renewed = (lease: string, change: Partial<FenceRecord>): View =>
    view({ cluster: cluster({ node: marked({ lease: ago(900_000), ...change }), lease }) });

  it('is written into the record, with the time at which Cloudfence saw it', () => {
    expect(decide(renewed(ago(1), {}))).toMatchObject({
      step: { do: 'note', record: { ...record(), lease: ago(900_000), renewed: { lease: ago(1), seen: ago(0) } } },
      because: { code: 'lease-renewed-after-off' },
    });
  });

  it('contradicts the fence even if the fence began without a Lease and this run has seen only the renewed one', () => {
    const given = renewed(ago(1), { lease: null });
    const read = { lease: ago(1), firstLease: ago(1), leaseSince: 0 };
    expect(said({ ...given, memory: { ...given.memory, ...read } })).toBe('note');
  });

  it('stops the fence once the record contains it', () => {
    expect(decide(renewed(ago(1), { renewed: { lease: ago(1), seen: ago(0) } }))).toMatchObject({
      outcome: 'refused',
      because: { code: 'lease-renewed-after-off', says: expect.stringMatching(/has been silent for 10 minutes$/) },
    });
  });

  it('becomes the Lease of the record after a long silence', () => {
    const seen = ago(timing.silence);
    expect(decide(renewed(ago(700_000), { renewed: { lease: ago(700_000), seen } }))).toMatchObject({
      step: { do: 'note', record: { ...record(), lease: ago(700_000), renewed: null } },
      because: { code: 'silent-again' },
    });
  });
});

describe('a new boot on the Node of a machine that the cloud no longer knows', () => {
  const forgotten = (phase: FenceRecord['phase'], power: MachineFacts['power'] = 'missing'): View => {
    const released = phase === 'fencing' ? null : ago(1_000);
    const given = missing(
      { node: marked({ phase, generation: null, lease: silent, released }, { bootID: 'boot-b' }) },
      { witness: 'released', testified: ['va-uid'] },
    );
    return { ...given, machine: { ...given.machine, power } };
  };
  const cases: readonly [string, View, string][] = [
    ['belongs to another machine if the fence is under way', forgotten('fencing'), 'refused identity-contradicted'],
    ['belongs to another machine if the fence has ended', forgotten('fenced'), 'refused identity-contradicted'],
    ['may belong to the machine if Cloudfence lifted the mark because the machine ran', forgotten('lifted'), 'mark'],
    ['may belong to the machine if a person released the fence', forgotten('releasing'), 'mark'],
    [
      'may belong to the machine if a person vouches for it and the cloud gives no power state',
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
    ['belongs to another machine while it is Ready', used({}), contradicted],
    [
      'belongs to another machine if it became NotReady long after the termination',
      used({}, { ready: 'False', readySince: terminated + LONG + 1 }),
      contradicted,
    ],
    [
      'belongs to the terminated machine if it became NotReady soon after the termination',
      used({}, { ready: 'False', readySince: terminated + LONG }),
      'mark',
    ],
    [
      'belongs to the terminated machine if its Lease ended with the machine',
      used({}, {}, new Date(terminated + LONG).toISOString()),
      'mark',
    ],
    ['belongs to the terminated machine if it has no Lease', used({}, {}, null), 'mark'],
    ['belongs to its machine if that machine is only stopped', used({ forGood: false }), 'mark'],
    ['belongs to the terminated machine if the cloud gives no time of termination', used({ since: null }), 'mark'],
    ['does not stop a fence that has begun', used({}, marked({ lease: ago(30_000) })), 'delete-pod'],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
  it('does not matter once it is gone: what it left behind is freed', () => {
    const given = used({});
    const behind = { ...given.cluster, node: null, pods: [pod()], volumes: [volume({ attachment: attachment() })] };
    expect(said({ ...given, cluster: behind })).toBe('delete-pod');
  });
});
