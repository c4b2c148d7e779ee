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

describe('a fence begins only with proof', () => {
  const cases: readonly [string, View, string][] = [
    ['off is proof', view(), 'mark'],
    ['stopping is not: the guest may still write', view({ machine: machine({ power: 'stopping' }) }), 'wait stopping'],
    ['running is not', view({ machine: machine({ power: 'running' }) }), 'ignored machine-running'],
    ['starting is not', view({ machine: machine({ power: 'starting' }) }), 'ignored machine-starting'],
    [
      'suspended is not: memory resumes and writes',
      view({ machine: machine({ power: 'suspended' }) }),
      'refused suspended',
    ],
    ['no power state is not', view({ machine: machine({ power: 'unknown' }) }), 'refused power-unknown'],
    [
      'off without a boot generation is not',
      view({ machine: machine({ generation: null }) }),
      'refused generation-unknown',
    ],
    [
      'a state that is proof only when repeated is not proof at first',
      view({ machine: machine({ power: 'off-if-repeated' }), ...seenOff(900) }),
      'wait second-read',
    ],
    [
      '... and is proof five seconds later',
      view({ machine: machine({ power: 'off-if-repeated' }), ...seenOff(-4_000) }),
      'mark',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('not found is proof only if the disks that were attached confirm it', () => {
  const missing = machine({ power: 'missing', generation: null, forGood: false });
  const silent = ago(60_000);
  const gone = (change: Partial<ClusterFacts> = {}, witness: View['memory']['witness'] = null, mono = 900) =>
    view({
      machine: missing,
      cluster: cluster({ lease: silent, ...change }),
      memory: {
        ...view().memory,
        firstOff: { wall: NOW - 1_000, mono, generation: null },
        leaseSince: mono,
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
    ['the disks are asked first', gone(), 'witness missing-without-witness'],
    ['it is proof if all are found and none names the machine', gone({}, 'released'), 'mark'],
    [
      'it is not proof while one names the machine: the disks are asked again',
      gone({}, 'held'),
      'wait missing-but-disk-held',
    ],
    ['... and not a minute later', gone({}, 'held', -59_000), 'refused missing-but-disk-held'],
    ['and not if one cannot be found', gone({}, 'none'), unasked],
    ['a disk that a pod merely wants is not a witness', gone({ volumes: [volume({ attachment: null })] }), unasked],
    [
      '... and attachments that no status names are searched for',
      { ...gone({ volumes: [] }), memory: { ...gone().memory, searched: false } },
      'search missing-without-witness',
    ],
    ['and not a disk that was to be attached but never was', volumeAt({ attached: false }), unasked],
    ['... whatever the Node says', volumeAt({ attached: false }, { reported: true }), unasked],
    ['and not a disk that was attached to another machine', volumeAt(noted('m-2')), unasked],
    ['... whatever the Node says', volumeAt(noted('m-2'), { reported: true }), unasked],
    ['and not a disk whose place was never noted', volumeAt({ source: null }), unasked],
    ['... unless the Node names it', volumeAt({ source: null }, { reported: true }), 'witness missing-without-witness'],
    [
      'a disk noted under the name of the Node is a witness',
      volumeAt(noted('node-a')),
      'witness missing-without-witness',
    ],
    ['... but not if it is older than the Node', volumeAt({ ...noted('node-a'), created: NOW - 90_000_000 }), unasked],
    [
      '... and it is if both were created in the same second',
      volumeAt({ ...noted('node-a'), created: node().created }),
      'witness missing-without-witness',
    ],
    ['... and not under another name', volumeAt(noted('node-b')), unasked],
    [
      'a disk that the Node reports is a witness',
      gone({ volumes: [volume({ attachment: null, reported: true })] }),
      'witness missing-without-witness',
    ],
    [
      '... but not once Kubernetes has deleted it',
      gone({ volumes: [volume({ attachment: null, reported: true, persistentVolume: null })] }),
      unasked,
    ],
    [
      'an attached disk is a witness even if its PersistentVolume is gone',
      volumeAt({}, { persistentVolume: null }),
      'witness missing-without-witness',
    ],
    ['a disk that our record saw there is a witness', inRecord(true), 'witness missing-without-witness'],
    [
      '... among others that the record names',
      withRecord([known('csi-2', false), known('csi-1', true)]),
      'witness missing-without-witness',
    ],
    [
      '... but not because it saw another one there',
      withRecord([known('csi-1', false), known('csi-2', true)]),
      unasked,
    ],
    ['... but not one that the record merely names', inRecord(false), unasked],
    [
      '... which counts even after Kubernetes has deleted all of them',
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
      '... but not if one was never there',
      {
        ...inRecord(false),
        cluster: {
          ...inRecord(false).cluster,
          pods: [],
          volumes: [volume({ attachment: null, persistentVolume: null })],
        },
      },
      unasked,
    ],
    ['... and not in a record without our label', inRecord(true, { label: null }), unasked],
    ['the attachments of a Node that is gone are witnesses', gone({ node: null }), 'witness missing-without-witness'],
    [
      '... including those under its name',
      gone({ node: null, volumes: [volume({ attachment: attachment(noted('node-a')) })] }),
      'witness missing-without-witness',
    ],
    [
      '... but not those that never were attached',
      gone({ node: null, volumes: [volume({ attachment: attachment({ attached: false }) })] }),
      unasked,
    ],
    [
      'a kubelet has to be silent for a minute',
      gone({ lease: ago(20_000) }, 'released'),
      'refused lease-renewed-after-off',
    ],
    [
      '... and is waited for',
      view({
        ...gone({ lease: ago(20_000) }, 'released'),
        memory: { ...gone({}, 'released').memory, lease: ago(20_000) },
      }),
      'wait kubelet-not-silent',
    ],
    [
      '... by our own clock if its clock is fast',
      view({
        ...gone({ lease: ago(-1e12) }, 'released', -59_000),
        memory: { ...gone({}, 'released', -59_000).memory, lease: ago(-1e12) },
      }),
      'mark',
    ],
    [
      'a Node without a Lease is silent',
      view({ ...gone({ lease: null }, 'released'), memory: { ...gone({}, 'released').memory, lease: null } }),
      'mark',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it('all disks that were attached are asked, and no others', () => {
    const another = (handle: string, change: Partial<AttachmentFacts>) =>
      volume({ handle, key: `a-driver^${handle}`, attachmentName: `csi-${handle}`, attachment: attachment(change) });
    const volumes = [
      volume(),
      another('disk-2', { attached: false }),
      another('disk-3', {}),
      another('disk-4', noted('m-2')),
      another('not of this cloud', {}),
    ];
    expect(decide(gone({ volumes }))).toMatchObject({ do: 'witness', disks: ['disk-1', 'disk-3'] });
  });

  it('the disks that were attached are written into the record', () => {
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

  it('not found is no proof either if the place that the Node names is not served', () => {
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

describe('a person may vouch for a machine that no cloud can prove off', () => {
  const vouching = (power: Parameters<typeof machine>[0], change: Partial<View> = {}) =>
    view({
      machine: machine(power),
      request: { ...view().request, vouched: 'pulled the plug' },
      policy: { ...defaultPolicy, vouching: 'accepted' },
      ...change,
    });
  const cases: readonly [string, View, string][] = [
    ['if it is suspended', vouching({ power: 'suspended' }), 'mark'],
    ['if the cloud gives no state', vouching({ power: 'unknown', generation: null }), 'mark'],
    [
      'if the cloud does not know it',
      vouching({ power: 'missing', generation: null }, { cluster: cluster({ lease: ago(60_000) }) }),
      'mark',
    ],
    [
      '... but not before its kubelet is silent',
      vouching({ power: 'missing', generation: null }),
      'wait kubelet-not-silent',
    ],
    [
      'also in a later run that continues the fence',
      vouching(
        { power: 'suspended' },
        { request: view().request, cluster: cluster({ node: marked({ vouched: 'pulled the plug' }) }) },
      ),
      'delete-pod',
    ],
    [
      'in the boot that the Node showed when the command began',
      vouching({ power: 'suspended' }, { memory: { ...view().memory, firstBoot: 'boot-a' } }),
      'mark',
    ],
    [
      'but not in another boot',
      vouching({ power: 'suspended' }, { memory: { ...view().memory, firstBoot: 'boot-0' } }),
      'refused another-boot',
    ],
    [
      '... nor if the Node was not there',
      vouching({ power: 'suspended' }, { memory: { ...view().memory, firstBoot: null } }),
      'refused another-boot',
    ],
    [
      '... which is no matter for a fence that goes on without the person',
      vouching(
        { power: 'suspended' },
        {
          request: view().request,
          cluster: cluster({ node: marked({ vouched: 'pulled the plug' }) }),
          memory: { ...view().memory, firstBoot: 'boot-0' },
        },
      ),
      'delete-pod',
    ],
    [
      'in the boot that the cloud named when the command began',
      vouching({ power: 'suspended' }, { memory: { ...view().memory, firstGeneration: 'boot-1' } }),
      'mark',
    ],
    [
      'but not in another one: a machine that resumes keeps its bootID',
      vouching({ power: 'suspended' }, { memory: { ...view().memory, firstGeneration: 'boot-0' } }),
      'refused another-boot',
    ],
    [
      '... and our taint goes from a machine that may resume',
      vouching(
        { power: 'suspended' },
        { cluster: cluster({ node: marked() }), memory: { ...view().memory, firstGeneration: 'boot-0' } },
      ),
      'lift-out-of-service',
    ],
    [
      '... unless another statement about this boot stands in the record',
      vouching(
        { power: 'suspended' },
        {
          cluster: cluster({ node: marked({ vouched: 'pulled the plug' }) }),
          memory: { ...view().memory, firstGeneration: 'boot-0' },
        },
      ),
      'refused another-boot',
    ],
    [
      '... nor without a Node',
      vouching(
        { power: 'suspended' },
        { cluster: cluster({ node: null }), memory: { ...view().memory, firstGeneration: 'boot-0' } },
      ),
      'refused another-boot',
    ],
    [
      '... which a machine that the cloud has forgotten since has not',
      vouching(
        { power: 'missing', generation: null },
        {
          cluster: cluster({ lease: ago(60_000) }),
          memory: { ...view().memory, firstGeneration: 'boot-0' },
        },
      ),
      'mark',
    ],
    [
      '... nor in one that the cloud did not name when the command began',
      vouching({ power: 'suspended' }, { memory: { ...view().memory, firstGeneration: null } }),
      'refused another-boot',
    ],
    [
      '... and which says nothing if each operation changes it',
      vouching(
        { power: 'suspended', generationDrifts: true },
        { memory: { ...view().memory, firstGeneration: 'boot-0', firstLease: cluster().lease } },
      ),
      'mark',
    ],
    [
      '... unless the kubelet has also shown a sign of life since',
      vouching(
        { power: 'suspended', generationDrifts: true },
        { memory: { ...view().memory, firstGeneration: 'boot-0', firstLease: ago(90_000) } },
      ),
      'refused another-boot',
    ],
    [
      '... and which is no matter to a run without such a statement',
      view({ memory: { ...view().memory, firstGeneration: 'boot-0' } }),
      'mark',
    ],
    ['but not if it runs', vouching({ power: 'running' }), 'ignored machine-running'],
    ['and not while it is stopping', vouching({ power: 'stopping' }), 'wait stopping'],
    [
      'and not if the configuration forbids it',
      vouching({ power: 'suspended' }, { policy: defaultPolicy }),
      'refused vouching-refused',
    ],
    [
      'and not against a Lease that is renewed',
      vouching({ power: 'suspended' }, { memory: { ...view().memory, lease: ago(90_000) } }),
      'refused lease-renewed-after-off',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  describe('whose statement stands in the record, while the configuration no longer allows vouching', () => {
    const continued = (power: Parameters<typeof machine>[0], recorded: Partial<FenceRecord> = {}, change = {}): View =>
      view({
        machine: machine(power),
        cluster: cluster({ node: marked({ vouched: 'pulled the plug', ...recorded }), ...change }),
      });
    const forgotten = { power: 'missing', generation: null } as const;
    const silent = { lease: ago(60_000) };
    const freed = { ...silent, volumes: [volume({ attachment: null })] };
    const attached = {
      volumes: [
        { driver: 'a-driver', handle: 'disk-1', persistentVolume: 'pv-1', attachment: 'csi-1', attached: true },
      ],
    };
    it.each<[string, View, string]>([
      ['the fence goes on if the cloud says off by now', continued({}), 'delete-pod'],
      ['our taint goes from a machine that may resume', continued({ power: 'suspended' }), 'lift-out-of-service'],
      [
        'no fence goes on without a power state',
        continued({ power: 'unknown', generation: null }, { generation: null }),
        'refused power-unknown',
      ],
      [
        'a disk that the fence may have freed is no witness',
        continued(forgotten, { ...silent, ...attached, generation: null }, freed),
        'refused missing-without-witness',
      ],
      [
        '... nor are volumes that are gone',
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

  it('and the record says so', () => {
    const decision = decide(vouching({ power: 'suspended' }));
    expect(decision.do === 'step' && decision.step.do === 'mark' && decision.step.record.vouched).toBe(
      'pulled the plug',
    );
  });
});

describe('Cloudfence acts only on the exact machine', () => {
  const named = (...values: string[]) =>
    node({ identitySources: values.map((value) => ({ source: 'providerID' as const, driver: null, value })) });
  const cases: readonly [string, View, string][] = [
    [
      'one source that names it is enough',
      view({ cluster: cluster({ node: named('m-1', 'something of another driver') }) }),
      'mark',
    ],
    [
      'an identity source that names another machine refuses',
      view({ cluster: cluster({ node: named('m-1', 'm-2') }) }),
      'refused identity-contradicted',
    ],
    ['no source at all refuses', view({ cluster: cluster({ node: named() }) }), 'refused identity-unproven'],
    [
      'a record of another machine refuses',
      view({ cluster: cluster({ node: marked({ machine: 'm-2' }) }) }),
      'refused record-of-another-machine',
    ],
    [
      'a record that cannot be read refuses',
      view({ cluster: cluster({ node: node({ recordText: '{', label: 'run.1' }) }) }),
      'refused record-unreadable',
    ],
    [
      '... but not if nothing else of ours is there, because a kubelet may have written it',
      view({ cluster: cluster({ node: node({ recordText: '{' }) }) }),
      'mark',
    ],
    [
      'no Node and no remains of one is not ours',
      view({ cluster: cluster({ node: null, pods: [], volumes: [] }) }),
      'ignored no-node',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('names that pass from one machine to the next', () => {
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
    [
      'an identity source with the immutable ID proves which machine it is',
      at(born(NOW), saying('first-owner', NOW - 1)),
      'mark',
    ],
    [
      'even if the ID can be read in another way',
      at(machine({ incarnation: { id: 'first-owner-swapped', made: null } }), saying('first-owner')),
      'mark',
    ],
    [
      'a source that names another owner of the name refuses, however young the Node',
      at(born(NOW - 1), saying('second-owner')),
      'refused identity-contradicted',
    ],
    ['without such a source, a Node created after the machine is proof', at(born(NOW), saying(null)), 'mark'],
    ['a Node created before the machine is not', at(born(NOW), saying(null, NOW - 1)), 'refused identity-unproven'],
    [
      'and no Node is, if the cloud does not say when the machine was created',
      at(born(null), saying(null)),
      'refused identity-unproven',
    ],
    [
      'an identity source with only the immutable ID does not name the machine',
      at(born(NOW - 1), node({ identitySources: [{ source: 'systemUUID', driver: null, value: 'first-owner' }] })),
      'refused identity-unproven',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it('a refusal says which owner of the name is meant, and what the Node says instead', () => {
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

  it('a detach is for the owner of the name that was looked at', () => {
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

describe('the Lease may contradict the cloud', () => {
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
  it('the look that begins to count the silence of the kubelet comes soon', () => {
    const soon = { do: 'wait', ms: timing.pollShortest };
    expect(decide(unwatched(untimed(ago(0), {}, 20_000)))).toMatchObject(soon);
    expect(decide(unwatched(view({ cluster: cluster({ lease: ago(0) }) })))).toMatchObject(soon);
  });
  it('the next look comes when the kubelet has been silent for long enough', () => {
    expect(decide(untimed(ago(0), {}, 5_000))).toMatchObject({ do: 'wait', ms: 15_000 });
  });
  const cases: readonly [string, View, string][] = [
    [
      'a Lease that has not changed since the machine was seen off means nothing',
      withLease(ago(5_000), ago(5_000)),
      'mark',
    ],
    ['a Lease renewed since then stops the fence', withLease(ago(1), ago(5_000)), 'refused lease-renewed-after-off'],
    ['a Lease that is gone is not a renewal', withLease(null, ago(5_000)), 'mark'],
    [
      'a Lease dated after the power-off is looked at again',
      view({ cluster: cluster({ lease: ago(0) }) }),
      'wait lease-looks-late',
    ],
    [
      '... and means a fast clock if it has not changed 20 s later',
      view({
        cluster: cluster({ lease: ago(0) }),
        memory: { ...view().memory, ...late },
        now: { wall: NOW, mono: 20_000 },
      }),
      'mark',
    ],
    [
      '... but not 20 s after the power-off, if the kubelet may have renewed it since then',
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
      '... and so does one dated well after the time of the power-off that the cloud gives',
      datedAfter(60_001),
      'wait lease-looks-late',
    ],
    ['... but not one that a kubelet may have renewed while its machine was stopping', datedAfter(60_000), 'mark'],
    ['... and none does if the cloud gives no time', datedAfter(60_001, null), 'mark'],
    ['then the kubelet has to be silent for 20 s by its Lease', untimed(ago(19_999)), 'wait kubelet-not-silent'],
    ['... and no longer', untimed(ago(20_000)), 'mark'],
    ['... or by our own clock', untimed(ago(0), {}, 20_000), 'mark'],
    [
      '... which counts from when the Lease is known, because the kubelet may have renewed it after the power-off',
      unwatched(untimed(ago(0), {}, 20_000)),
      'wait kubelet-not-silent',
    ],
    [
      '... also if it has just said that it is not ready',
      untimed(ago(0), { ready: 'False' }),
      'wait kubelet-not-silent',
    ],
    ['... but not if the control plane has not seen it for a while', untimed(ago(0), { ready: 'Unknown' }), 'mark'],
    ['... nor below a mark that is set', untimed(ago(20_000), marked({ lease: ago(20_000) })), 'delete-pod'],
    [
      'the record remembers the Lease for a later run, and when it was renewed',
      view({ cluster: cluster({ node: marked({ lease: ago(20_000) }), lease: ago(1) }) }),
      'note',
    ],
    ['... which stops the fence', renewed(ago(60_000)), 'refused lease-renewed-after-off'],
    ['... for ten minutes of silence by our own clock', renewed(ago(599_000)), 'refused lease-renewed-after-off'],
    ['... and then no longer', renewed(ago(600_000)), 'note'],
    ['... and not forever, whatever a kubelet writes into the record', renewed('9999-01-01T00:00:00.000Z'), 'note'],
    [
      'a kubelet that keeps renewing is timed again',
      view({
        cluster: cluster({
          node: marked({ lease: ago(20_000), renewed: { lease: ago(700_000), seen: ago(650_000) } }),
          lease: ago(1),
        }),
      }),
      'note',
    ],
    [
      'a Lease renewed by the previous boot is no contradiction',
      view({ cluster: cluster({ node: marked({ generation: 'boot-0' }), lease: ago(9_000) }) }),
      'mark',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('another boot under a machine that was off all the time is another machine’s', () => {
  const shows = (recorded: Partial<FenceRecord>, facts: Partial<MachineFacts> = {}) =>
    view({ machine: machine(facts), cluster: cluster({ node: marked(recorded, { bootID: 'boot-b' }) }) });
  const cases: readonly [string, View, string][] = [
    ['the Node is not fenced again', shows({}), 'refused identity-contradicted'],
    ['... and not if its mark was lifted', shows({ phase: 'lifted' }), 'refused identity-contradicted'],
    ['... and not if its fence is being released', shows({ phase: 'releasing' }), 'refused identity-contradicted'],
    ['a machine that was started since then has another boot of its own', shows({ generation: 'boot-0' }), 'mark'],
    [
      '... and may have one if detaches change its generation, too',
      shows({ generation: 'boot-0' }, { generationDrifts: true }),
      'mark',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});
