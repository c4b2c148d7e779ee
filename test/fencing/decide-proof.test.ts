import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import { defaultPolicy, timing } from '../../fencing/model/policy.ts';
import type { AttachmentFacts, ClusterFacts, NodeFacts, VolumeFacts } from '../../fencing/model/cluster-facts.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, attachment, cluster, machine, marked, node, NOW, view, volume } from './view-builder.ts';

const seenOff = (mono: number, witness: View['memory']['witness'] = null) => ({
  memory: { ...view().memory, firstOff: { wall: NOW - 1_000, mono, generation: 'boot-1' }, leaseSince: mono, witness },
});

describe('a power state', () => {
  const cases: readonly [string, View, string][] = [
    ['off is a proof', view(), 'mark'],
    [
      'stopping is no proof, because the guest may still write',
      view({ machine: machine({ power: 'stopping' }) }),
      'wait stopping',
    ],
    ['running is no proof', view({ machine: machine({ power: 'running' }) }), 'ignored machine-running'],
    ['starting is no proof', view({ machine: machine({ power: 'starting' }) }), 'ignored machine-starting'],
    [
      'suspended is no proof, because the memory resumes and writes',
      view({ machine: machine({ power: 'suspended' }) }),
      'refused suspended',
    ],
    ['unknown is no proof', view({ machine: machine({ power: 'unknown' }) }), 'refused power-unknown'],
    [
      'off without a boot generation is no proof',
      view({ machine: machine({ generation: null }) }),
      'refused generation-unknown',
    ],
    [
      'off that counts only if it is repeated is no proof at first',
      view({ machine: machine({ power: 'off-if-repeated' }), ...seenOff(-8_999) }),
      'wait second-read',
    ],
    [
      'off that counts only if it is repeated is a proof ten seconds later',
      view({ machine: machine({ power: 'off-if-repeated' }), ...seenOff(-9_000) }),
      'mark',
    ],
    [
      'off that counts only if it is repeated is read again if the second read was requested too early',
      view({ machine: machine({ power: 'off-if-repeated' }), ...seenOff(-9_000), machineRequestedAt: 999 }),
      'reread second-read',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

/** When a run must have seen the Lease first (monotonic ms), to have seen the same Lease for 20 s. */
const SAME_LEASE = view().now.mono - timing.lateLease;

describe('a machine that the cloud does not find', () => {
  const missing = machine({ power: 'missing', generation: null, forGood: false });
  const silent = ago(60_000);
  const gone = (change: Partial<ClusterFacts> = {}, witness: View['memory']['witness'] = null, mono = 900) =>
    view({
      machine: missing,
      cluster: cluster({ lease: silent, ...change }),
      memory: {
        ...view().memory,
        firstOff: { wall: NOW - 1_000, mono, generation: null },
        leaseSince: Math.min(mono, SAME_LEASE),
        firstLease: silent,
        lease: silent,
        witness,
        searched: true,
      },
    });
  const volumeAt = (change: Partial<AttachmentFacts>, more: Partial<VolumeFacts> = {}) =>
    gone({ volumes: [volume({ attachment: attachment(change), ...more })] });
  const noted = (value: string) => ({ source: { source: 'volumeAttachment' as const, driver: 'a-driver', value } });
  const known = (attachment: string, attached: boolean) => ({
    driver: 'a-driver',
    handle: 'disk-1',
    persistentVolume: 'pv-1',
    attachment,
    ...(attached && { attached }),
  });
  const withRecord = (volumes: FenceRecord['volumes'], change: Partial<NodeFacts> = {}) =>
    gone({
      node: marked({ generation: null, lease: silent, volumes }, change),
      volumes: [volume({ attachment: null })],
    });
  const inRecord = (attached: boolean, change: Partial<NodeFacts> = {}) =>
    withRecord([known('csi-1', attached)], change);
  const unasked = 'refused missing-without-witness';
  const cases: readonly [string, View, string][] = [
    ['is proven by its disks only after they were asked', gone(), 'witness missing-without-witness'],
    ['is proven off if all disks are found and none names it', gone({}, 'released'), 'mark'],
    [
      'is not proven off while a disk names it: all are asked again',
      gone({}, 'held', -58_999),
      'wait missing-but-disk-held',
    ],
    ['is refused if a disk still names it a minute later', gone({}, 'held', -59_000), 'refused missing-but-disk-held'],
    ['is refused if a disk cannot be found', gone({}, 'none'), unasked],
    ['is not proven by a disk that a pod merely wants', gone({ volumes: [volume({ attachment: null })] }), unasked],
    [
      'causes a search for attachments that the status of the Node does not name',
      { ...gone({ volumes: [] }), memory: { ...gone().memory, searched: false } },
      'search missing-without-witness',
    ],
    ['is not proven by a disk whose attach was planned and never happened', volumeAt({ attached: false }), unasked],
    [
      'is not proven by a disk that was never attached, even if the status of the Node names it',
      volumeAt({ attached: false }, { reported: true }),
      unasked,
    ],
    ['is not proven by a disk that was attached to another machine', volumeAt(noted('m-2')), unasked],
    [
      'is not proven by a disk of another machine, even if the status of the Node names it',
      volumeAt(noted('m-2'), { reported: true }),
      unasked,
    ],
    ['is not proven by a disk whose attachment does not say where it was', volumeAt({ source: null }), unasked],
    [
      'is not proven by a disk whose attachment does not say where it was, even if the Node reports it',
      volumeAt({ source: null }, { reported: true }),
      unasked,
    ],
    [
      'is not proven by a disk whose attachment is being deleted, because it may have been detached before a start',
      volumeAt({ deletingSince: NOW - 60_000 }),
      unasked,
    ],
    [
      'may be proven by a disk whose attachment names the Node',
      volumeAt(noted('node-a')),
      'witness missing-without-witness',
    ],
    [
      'is not proven by a disk whose attachment is older than the Node that it names',
      volumeAt({ ...noted('node-a'), created: NOW - 90_000_000 }),
      unasked,
    ],
    [
      'is not proven by a disk whose attachment is older than the Node, because a former machine may have had its id',
      volumeAt({ created: NOW - 90_000_000 }),
      unasked,
    ],
    [
      'is not proven by such a disk after a fence that may have freed it, even if its record saw it attached',
      gone({
        node: marked({ generation: 'boot-1', lease: silent, volumes: [known('csi-1', true)] }),
        volumes: [volume({ attachment: attachment({ created: NOW - 90_000_000 }) })],
      }),
      unasked,
    ],
    [
      'may be proven by a disk whose attachment was created in the same second as the Node',
      volumeAt({ ...noted('node-a'), created: node().created }),
      'witness missing-without-witness',
    ],
    ['is not proven by a disk whose attachment names another Node', volumeAt(noted('node-b')), unasked],
    [
      'is not proven by a disk that only the status of the Node reports',
      gone({ volumes: [volume({ attachment: null, reported: true })] }),
      unasked,
    ],
    [
      'may be proven by an attached disk, even if its PersistentVolume is gone',
      volumeAt({}, { persistentVolume: null }),
      'witness missing-without-witness',
    ],
    ['may be proven by a disk that the record saw attached', inRecord(true), 'witness missing-without-witness'],
    [
      'may be proven by a disk that the record of its fence saw attached, even if that was before the Node',
      gone({
        node: marked({ generation: null, lease: silent, volumes: [known('csi-1', true)] }),
        volumes: [volume({ attachment: attachment({ created: NOW - 90_000_000 }) })],
      }),
      'witness missing-without-witness',
    ],
    [
      'may be proven by a disk that the record saw attached, beside other disks of the record',
      withRecord([known('csi-2', false), known('csi-1', true)]),
      'witness missing-without-witness',
    ],
    [
      'is not proven by a disk only because the record saw another one attached',
      withRecord([known('csi-1', false), known('csi-2', true)]),
      unasked,
    ],
    ['is not proven by a disk that the record only names', inRecord(false), unasked],
    [
      'is proven off if the record saw all disks attached and Kubernetes has deleted them all',
      {
        ...inRecord(true),
        cluster: {
          ...inRecord(true).cluster,
          pods: [],
          volumes: [volume({ attachment: null, persistentVolume: null })],
        },
      },
      'delete-node',
    ],
    [
      'is not proven off if Kubernetes has deleted all disks of the record and one was never attached',
      {
        ...inRecord(false),
        cluster: {
          ...inRecord(false).cluster,
          pods: [],
          volumes: [volume({ attachment: null, persistentVolume: null })],
        },
      },
      'lift-out-of-service',
    ],
    ['is not proven by a record without our label', inRecord(true, { label: null }), unasked],
    ['may be proven by attachments of a Node that is gone', gone({ node: null }), 'witness missing-without-witness'],
    [
      'may be proven by the attachments of a Node that is gone, if they name only that Node',
      gone({ node: null, volumes: [volume({ attachment: attachment(noted('node-a')) })] }),
      'witness missing-without-witness',
    ],
    [
      'is not proven by attachments of a Node that is gone if they were never attached',
      gone({ node: null, volumes: [volume({ attachment: attachment({ attached: false }) })] }),
      unasked,
    ],
    [
      'is refused if the kubelet has renewed its Lease',
      gone({ lease: ago(20_000) }, 'released'),
      'refused lease-renewed-after-off',
    ],
    [
      'is waited for until the kubelet has been silent for a minute',
      view({
        ...gone({ lease: ago(59_999) }, 'released'),
        memory: { ...gone({}, 'released').memory, lease: ago(59_999) },
      }),
      'wait kubelet-not-silent',
    ],
    [
      'is proven by a minute of our own clock if the clock of the kubelet is fast',
      view({
        ...gone({ lease: ago(-1e12) }, 'released', -59_000),
        memory: { ...gone({}, 'released', -59_000).memory, lease: ago(-1e12) },
      }),
      'mark',
    ],
    [
      'counts as silent if its Node has no Lease',
      view({ ...gone({ lease: null }, 'released'), memory: { ...gone({}, 'released').memory, lease: null } }),
      'mark',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it('causes a question to all disks that were attached, and to no others', () => {
    const another = (handle: string, change: Partial<AttachmentFacts>) =>
      volume({ handle, key: `a-driver^${handle}`, attachmentName: `csi-${handle}`, attachment: attachment(change) });
    const volumes = [
      volume(),
      another('disk-2', { attached: false }),
      another('disk-3', {}),
      another('disk-4', noted('m-2')),
      another('disk-5', { created: NOW - 90_000_000 }),
      another('not of this cloud', {}),
    ];
    expect(decide(gone({ volumes }))).toMatchObject({ do: 'witness', disks: ['disk-1', 'disk-3', 'disk-5'] });
  });

  it('is fenced with a record that names the disks that were attached', () => {
    const decision = decide(
      gone(
        { volumes: [volume(), volume({ handle: 'disk-2', attachmentName: 'csi-2', attachment: null })] },
        'released',
      ),
    );
    expect(decision.do === 'step' && decision.step.do === 'mark' && decision.step.record.volumes).toMatchObject([
      { handle: 'disk-1', attached: true },
      { handle: 'disk-2' },
    ]);
  });

  it('is not proven off if the Node names an account or region that is not served', () => {
    const reading = { ...view().identityRules, unservedScope: () => ({ scope: 'far-away-1', remedy: 'add it' }) };
    expect(said({ ...gone({}, 'released'), identityRules: reading })).toBe('refused scope-not-served');
    expect(said({ ...gone({ node: null }, 'released'), identityRules: reading })).toBe('refused scope-not-served');
    expect(said({ ...gone(), machine: machine({ power: 'unknown' }), identityRules: reading })).toBe(
      'refused scope-not-served',
    );
    expect(said({ ...gone(), machine: machine({ power: 'off' }), identityRules: reading })).toBe('mark');
    expect(decide({ ...gone(), identityRules: reading })).toMatchObject({
      because: { says: expect.stringMatching(/far-away-1.*add it/) },
    });
  });
});

describe('a person who vouches for a machine that no cloud can prove off', () => {
  const suspended = { power: 'suspended' } as const;
  const drifting = { power: 'suspended', generationDrifts: true } as const;
  const forgotten = { power: 'missing', generation: null } as const;
  const vouching = (power: Parameters<typeof machine>[0], change: Partial<View> = {}) =>
    view({
      machine: machine(power),
      request: { ...view().request, vouched: 'pulled the plug' },
      policy: { ...defaultPolicy, vouching: 'accepted' },
      ...change,
    });
  const began = (memory: Partial<View['memory']>, power: Parameters<typeof machine>[0] = suspended, change = {}) =>
    vouching(power, { memory: { ...view().memory, ...memory }, ...change });
  const recorded = { cluster: cluster({ node: marked({ vouched: 'pulled the plug' }) }) };
  const cases: readonly [string, View, string][] = [
    ['starts a fence if the machine is suspended', vouching(suspended), 'mark'],
    ['starts a fence if the cloud gives no power state', vouching({ power: 'unknown', generation: null }), 'mark'],
    [
      'starts a fence if the cloud does not know the machine',
      began({ leaseSince: SAME_LEASE }, forgotten, { cluster: cluster({ lease: ago(60_000) }) }),
      'mark',
    ],
    ['starts no fence before the kubelet is silent', vouching(forgotten), 'wait kubelet-not-silent'],
    [
      'lets a later run continue the fence',
      vouching(suspended, { request: view().request, ...recorded }),
      'delete-pod',
    ],
    ['means the boot that the Node showed when the command began', began({ firstBoot: 'boot-a' }), 'mark'],
    ['does not mean another boot of the Node', began({ firstBoot: 'boot-0' }), 'refused another-boot'],
    [
      'means nothing if the Node did not exist when the command began',
      began({ firstBoot: null }),
      'refused another-boot',
    ],
    [
      'lets a later run continue the fence, whichever boot that run saw first',
      began({ firstBoot: 'boot-0' }, suspended, { request: view().request, ...recorded }),
      'delete-pod',
    ],
    ['means the boot that the cloud named when the command began', began({ firstGeneration: 'boot-1' }), 'mark'],
    [
      'does not mean another generation, although a machine that resumes keeps its bootID',
      began({ firstGeneration: 'boot-0' }),
      'refused another-boot',
    ],
    [
      'cannot keep our taint on a machine of another generation, because that machine may resume',
      began({ firstGeneration: 'boot-0' }, suspended, { cluster: cluster({ node: marked() }) }),
      'lift-out-of-service',
    ],
    [
      'does not lift our taint if the record holds another statement, about the present generation',
      began({ firstGeneration: 'boot-0' }, suspended, recorded),
      'refused another-boot',
    ],
    [
      'does not mean another generation of a machine without a Node',
      began({ firstGeneration: 'boot-0' }, suspended, { cluster: cluster({ node: null }) }),
      'refused another-boot',
    ],
    [
      'means the machine even if the cloud has forgotten it since then',
      began({ firstGeneration: 'boot-0', leaseSince: SAME_LEASE }, forgotten, {
        cluster: cluster({ lease: ago(60_000) }),
      }),
      'mark',
    ],
    [
      'means nothing if the cloud named no boot when the command began',
      began({ firstGeneration: null }),
      'refused another-boot',
    ],
    [
      'means a machine whose generation changes with each operation, if its Lease has not changed since then',
      began({ firstGeneration: 'boot-0', firstLease: cluster().lease }, drifting),
      'mark',
    ],
    [
      'does not mean a machine whose generation changes with each operation, if its Lease has changed since then',
      began({ firstGeneration: 'boot-0', firstLease: ago(90_000) }, drifting),
      'refused another-boot',
    ],
    [
      'is not needed, whatever the first generation, if the cloud itself proves the machine off',
      view({ memory: { ...view().memory, firstGeneration: 'boot-0' } }),
      'mark',
    ],
    ['starts no fence if the machine runs', vouching({ power: 'running' }), 'ignored machine-running'],
    ['starts no fence while the machine is stopping', vouching({ power: 'stopping' }), 'wait stopping'],
    [
      'starts no fence if the configuration forbids it',
      vouching({ power: 'suspended' }, { policy: defaultPolicy }),
      'refused vouching-refused',
    ],
    [
      'starts no fence if the kubelet renews its Lease',
      began({ lease: ago(90_000) }),
      'refused lease-renewed-after-off',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  describe('after the configuration stopped to accept the statement in the record', () => {
    const continued = (power: Parameters<typeof machine>[0], recorded: Partial<FenceRecord> = {}, change = {}): View =>
      view({
        machine: machine(power),
        cluster: cluster({ node: marked({ vouched: 'pulled the plug', ...recorded }), ...change }),
      });
    const silent = { lease: ago(60_000) };
    const freed = { ...silent, volumes: [volume({ attachment: null })] };
    const attached = {
      volumes: [
        { driver: 'a-driver', handle: 'disk-1', persistentVolume: 'pv-1', attachment: 'csi-1', attached: true },
      ],
    };
    it.each<[string, View, string]>([
      ['cannot stop the fence if the cloud says off by now', continued({}), 'delete-pod'],
      ['cannot keep our taint on a machine that may resume', continued({ power: 'suspended' }), 'lift-out-of-service'],
      [
        'cannot continue the fence if the cloud gives no power state',
        continued({ power: 'unknown', generation: null }, { generation: null }),
        'refused power-unknown',
      ],
      [
        'cannot make a witness of a disk that the fence may have freed',
        continued(forgotten, { ...silent, ...attached, generation: null }, freed),
        'refused missing-without-witness',
      ],
      [
        'cannot make a witness of volumes that are gone',
        continued(
          forgotten,
          { ...silent, ...attached, generation: null },
          { ...silent, volumes: [volume({ attachment: null, persistentVolume: null })] },
        ),
        'refused missing-without-witness',
      ],
    ])('%s', (_, given, expected) =>
      expect(said({ ...given, memory: { ...given.memory, searched: true } })).toBe(expected),
    );
  });

  it('is named in the record', () => {
    const decision = decide(vouching({ power: 'suspended' }));
    expect(decision.do === 'step' && decision.step.do === 'mark' && decision.step.record.vouched).toBe(
      'pulled the plug',
    );
  });
});

describe('a Lease', () => {
  const renewed = (seen: string) =>
    view({
      cluster: cluster({
        node: marked({ lease: ago(700_000), renewed: { lease: ago(690_000), seen } }),
        lease: ago(690_000),
      }),
    });
  const withLease = (lease: string | null, known?: string | null) =>
    view({ cluster: cluster({ lease }), memory: { ...view().memory, lease: known } });
  const datedAfter = (ms: number, since: number | null = NOW - 200_000) =>
    view({ machine: machine({ since }), cluster: cluster({ lease: ago(200_000 - ms) }) });
  const late = { firstOff: { wall: NOW - 1_000, mono: 0, generation: 'boot-1' }, leaseSince: 0 };
  const untimed = (lease: string, change: Partial<NodeFacts> = {}, mono = 0) =>
    view({
      machine: machine({ since: null }),
      cluster: cluster({ node: node(change), lease }),
      memory: { ...view().memory, lease, firstOff: { wall: NOW, mono: 0, generation: 'boot-1' }, leaseSince: 0 },
      now: { wall: NOW, mono },
    });
  const unwatched = (given: View): View => ({
    ...given,
    memory: { ...given.memory, lease: undefined, leaseSince: null },
  });
  it('that begins the count of silence is read again soon', () => {
    const soon = { do: 'wait', ms: timing.pollShortest };
    expect(decide(unwatched(untimed(ago(0), {}, 20_000)))).toMatchObject(soon);
    expect(decide(unwatched(view({ cluster: cluster({ lease: ago(0) }) })))).toMatchObject(soon);
  });
  it('is read again when the kubelet has been silent for long enough', () => {
    expect(decide(untimed(ago(0), {}, 5_000))).toMatchObject({ do: 'wait', ms: 15_000 });
  });
  const cases: readonly [string, View, string][] = [
    ['does not contradict if it has not changed since the machine was off', withLease(ago(5_000), ago(5_000)), 'mark'],
    [
      'contradicts if it was renewed since the machine was seen off',
      withLease(ago(1), ago(5_000)),
      'refused lease-renewed-after-off',
    ],
    ['does not contradict if it is gone', withLease(null, ago(5_000)), 'mark'],
    ['dated after the power-off is read again', view({ cluster: cluster({ lease: ago(0) }) }), 'wait lease-looks-late'],
    [
      'dated after the power-off means a fast clock if it has not changed 20 s later',
      view({
        cluster: cluster({ lease: ago(0) }),
        memory: { ...view().memory, ...late },
        now: { wall: NOW, mono: 20_000 },
      }),
      'mark',
    ],
    [
      'dated after the power-off does not yet mean a fast clock if it was first read only now',
      unwatched(
        view({
          cluster: cluster({ lease: ago(0) }),
          memory: { ...view().memory, ...late },
          now: { wall: NOW, mono: 20_000 },
        }),
      ),
      'wait lease-looks-late',
    ],
    [
      'dated more than a minute after the time of the power-off is read again',
      datedAfter(60_001),
      'wait lease-looks-late',
    ],
    ['dated within the minute in which its machine was stopping does not contradict', datedAfter(60_000), 'mark'],
    ['dated after the power-off does not contradict if the cloud gives no time', datedAfter(60_001, null), 'mark'],
    ['has to be 20 s old if the cloud gives no time', untimed(ago(19_999)), 'wait kubelet-not-silent'],
    ['of exactly 20 s is old enough if the cloud gives no time', untimed(ago(20_000)), 'mark'],
    [
      'that has not changed for 20 s of our own clock is old enough, whatever its date',
      untimed(ago(0), {}, 20_000),
      'mark',
    ],
    [
      'counts by our own clock only from when it was first read, because it may have been renewed after the power-off',
      unwatched(untimed(ago(0), {}, 20_000)),
      'wait kubelet-not-silent',
    ],
    [
      'has to be 20 s old even if the kubelet has just said that it is not ready',
      untimed(ago(0), { ready: 'False' }),
      'wait kubelet-not-silent',
    ],
    [
      'need not be 20 s old if the control plane has not seen the kubelet for a while',
      untimed(ago(0), { ready: 'Unknown' }),
      'mark',
    ],
    ['need not be 20 s old once the mark is set', untimed(ago(20_000), marked({ lease: ago(20_000) })), 'delete-pod'],
    [
      'that was renewed during a fence is written into the record for a later run',
      view({ cluster: cluster({ node: marked({ lease: ago(20_000) }), lease: ago(1) }) }),
      'note',
    ],
    ['that was renewed during a fence stops it', renewed(ago(60_000)), 'refused lease-renewed-after-off'],
    [
      'that was renewed during a fence stops it until ten minutes of silence by our own clock have passed',
      renewed(ago(599_000)),
      'refused lease-renewed-after-off',
    ],
    ['that was renewed during a fence no longer stops it after those ten minutes', renewed(ago(600_000)), 'note'],
    [
      'does not stop a fence forever, whatever a kubelet writes into the record',
      renewed('9999-01-01T00:00:00.000Z'),
      'note',
    ],
    [
      'that is renewed again begins the ten minutes again',
      view({
        cluster: cluster({
          node: marked({ lease: ago(20_000), renewed: { lease: ago(700_000), seen: ago(650_000) } }),
          lease: ago(1),
        }),
      }),
      'note',
    ],
    [
      'that the previous boot renewed does not contradict',
      view({ cluster: cluster({ node: marked({ generation: 'boot-0' }), lease: ago(9_000) }) }),
      'mark',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('another boot on the Node of a machine', () => {
  const shows = (recorded: Partial<FenceRecord>, facts: Partial<MachineFacts> = {}) =>
    view({ machine: machine(facts), cluster: cluster({ node: marked(recorded, { bootID: 'boot-b' }) }) });
  const cases: readonly [string, View, string][] = [
    [
      'belongs to another machine if the machine was off all the time: the Node is not fenced',
      shows({}),
      'refused identity-contradicted',
    ],
    [
      'belongs to another machine even if the mark was lifted in between',
      shows({ phase: 'lifted' }),
      'refused identity-contradicted',
    ],
    [
      'belongs to another machine even if a person is releasing the fence',
      shows({ phase: 'releasing' }),
      'refused identity-contradicted',
    ],
    ['belongs to the machine if it was started since then', shows({ generation: 'boot-0' }), 'mark'],
    [
      'may belong to the machine if each detach changes its generation',
      shows({ generation: 'boot-0' }, { generationDrifts: true }),
      'mark',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});
