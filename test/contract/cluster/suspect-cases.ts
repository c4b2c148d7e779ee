import { expect, it } from 'vitest';
import type { ClusterHarness } from './harness.ts';
import { CSI_NODES, DRIVER, LEASES, fresh, made, makeAttachment, makeNode, unhurried } from './harness.ts';

const FENCED = { labels: { 'cloudfence.node-restriction.kubernetes.io/fenced': 'true' } };
const noted = (value: string) => ({ source: 'volumeAttachment', driver: DRIVER, value });

export const suspectCases = (harness: () => ClusterHarness): void => {
  const renewed = (name: string, ago: number) =>
    made(harness(), LEASES, {
      metadata: { name },
      spec: { renewTime: new Date(harness().now() - ago).toISOString().replace('Z', '000Z') },
    });
  const suspected = async (node: string) =>
    (await harness().cluster.suspects(60_000, unhurried())).filter((suspect) => suspect.node === node);

  it.each([
    [-59_000, []],
    [-61_000, [{ because: 'lease-stale' }]],
  ])('a Lease dated %i ms ago makes its Node a suspect: %j', async (ago, found) => {
    const { name } = await makeNode(harness());
    await renewed(name, ago);
    expect(await suspected(name)).toMatchObject(found);
  });

  it('suspects a silent Node that someone has cordoned', async () => {
    const { name } = await makeNode(harness(), { spec: { unschedulable: true } });
    await renewed(name, 61_000);
    expect(await suspected(name)).toMatchObject([{ because: 'lease-stale' }]);
  });

  it('suspects a Node without a Lease if something is attached to it', async () => {
    const [machine, name] = [fresh('i'), fresh('node')];
    await makeNode(harness(), { name, machine });
    expect(await suspected(name)).toEqual([]);
    await makeAttachment(harness(), fresh('csi'), name, 'data', machine);
    expect(await suspected(name)).toMatchObject([{ because: 'lease-stale', attachments: [] }]);
  });

  it('names the machine of a silent Node by its CSINode if nothing else names it', async () => {
    const [machine, name] = [fresh('i'), fresh('node')];
    await makeNode(harness(), { name, spec: { providerID: '' } });
    await made(harness(), CSI_NODES, { metadata: { name }, spec: { drivers: [{ name: DRIVER, nodeID: machine }] } });
    await renewed(name, 120_000);
    expect(await suspected(name)).toMatchObject([
      { because: 'lease-stale', identitySources: [{ source: 'csiNode', value: machine }] },
    ]);
  });

  it('does not assign what is attached to a silent Node to another machine if the Node names no machine', async () => {
    const [machine, name] = [fresh('i'), fresh('node')];
    await makeNode(harness(), { name, spec: { providerID: '' } });
    await renewed(name, 120_000);
    await makeAttachment(harness(), fresh('csi'), name, 'data', machine);
    expect(await suspected(name)).toMatchObject([{ because: 'lease-stale', identitySources: [] }]);
  });

  it('names what is attached to a silent Node that has a fence', async () => {
    const [machine, name] = [fresh('i'), fresh('node')];
    await makeNode(harness(), { name, machine, metadata: { labels: FENCED.labels } });
    await renewed(name, 120_000);
    const left = await makeAttachment(harness(), fresh('csi'), name, 'data', machine);
    expect(await suspected(name)).toMatchObject([{ because: 'fenced', attachments: [left.name] }]);
  });

  it.each([
    ['lives', 5_000, []],
    ['is silent', 120_000, [{ because: 'lease-stale' }]],
  ])('finds the machine that had the name of a Node before, if that %s', async (_case, ago, own) => {
    const [machine, former, name] = [fresh('i'), fresh('i'), fresh('node')];
    await makeNode(harness(), { name, machine });
    await renewed(name, ago);
    await makeAttachment(harness(), fresh('csi'), name, 'data', machine);
    expect(await suspected(name)).toMatchObject(own);
    const left = await makeAttachment(harness(), fresh('csi'), name, 'data', former);
    const before = {
      because: 'node-missing',
      node: name,
      identitySources: [noted(former)],
      record: null,
      attachments: [left.name],
    };
    expect(await suspected(name)).toMatchObject([...own, before]);
  });

  const LABEL = 'cloudfence.node-restriction.kubernetes.io/fenced';
  const BESIDE = 'cloudfence.node-restriction.kubernetes.io/out-of-service';
  const STOPPING = 'cloudfence.node-restriction.kubernetes.io/stopping';
  const VALUE = 'fence-1_in_0000000aaaaaaa';
  const ours = { key: 'node.kubernetes.io/out-of-service', value: VALUE, effect: 'NoSchedule' };
  const quarantine = { key: 'cloudfence.dev/quarantine', value: 'fenced', effect: 'NoSchedule' };
  it.each([
    ['yes, only its label is left', { [LABEL]: 'fence-1' }, [], 5_000, [{ because: 'fenced', marked: null }]],
    [
      'yes, someone removed its label but left our taint',
      { [BESIDE]: VALUE },
      [ours, quarantine],
      5_000,
      [{ because: 'fenced', marked: { taints: { ours: true } } }],
    ],
    [
      'yes, someone removed every label but left our taint',
      {},
      [ours, quarantine],
      5_000,
      [{ because: 'fenced', marked: { taints: { ours: true } } }],
    ],
    [
      'yes, someone removed its label but left our quarantine',
      {},
      [quarantine],
      5_000,
      [{ because: 'fenced', marked: null }],
    ],
    [
      'yes, someone removed its label but left our quarantine, and the kubelet is silent',
      {},
      [quarantine],
      120_000,
      [{ because: 'fenced', marked: null }],
    ],
    [
      'no, only the note of a stop is left, but the Node is suspected',
      { [STOPPING]: '2026-11-21T09-00-08Z_in_0123456789abcd' },
      [],
      5_000,
      [{ because: 'labelled', marked: null }],
    ],
    [
      'no, a label is left without our taint, but the Node is suspected',
      { [BESIDE]: VALUE },
      [],
      5_000,
      [{ because: 'labelled', marked: null }],
    ],
    [
      'no, only a tombstone is left, but the Node is suspected',
      { [LABEL]: 'fence-1_removed_0000000aaaaaaa' },
      [],
      5_000,
      [{ because: 'labelled', marked: null }],
    ],
    [
      'no, a tombstone is left and the kubelet is silent',
      { [LABEL]: 'fence-1_removed_0000000aaaaaaa' },
      [],
      120_000,
      [{ because: 'lease-stale' }],
    ],
    ['no, the taint is someone else’s', {}, [{ ...ours, value: 'nodeshutdown' }], 5_000, []],
  ])('says whether a Node has a fence of Cloudfence: %s', async (_case, labels, taints, ago, found) => {
    const { name } = await makeNode(harness(), { metadata: { labels }, spec: { taints } });
    await renewed(name, ago);
    expect(await suspected(name)).toMatchObject(found);
  });

  it('counts the Node in question as unreachable even if it has a fence of Cloudfence', async () => {
    const parked = await makeNode(harness(), { metadata: { labels: FENCED.labels } });
    await renewed(parked.name, 120_000);
    const anybody = { machine: 'i-1', machineOf: ({ value }: { readonly value: string }) => value };
    const { unreachable, zone } = await harness().cluster.surveyConnectivity(parked.name, 60_000, anybody, unhurried());
    expect(unreachable).toContain(parked.name);
    expect(zone).toContain(parked.name);
  });

  it('counts parked Nodes neither as unreachable nor as reachable in their zone', async () => {
    const labels = { 'topology.kubernetes.io/zone': fresh('zone') };
    const [silent, unlabelled, parked, back] = [
      await makeNode(harness(), { metadata: { labels } }),
      await makeNode(harness(), { metadata: { labels }, spec: { taints: [quarantine] } }),
      await makeNode(harness(), { metadata: { labels: { ...labels, ...FENCED.labels } } }),
      await makeNode(harness(), { metadata: { labels: { ...labels, ...FENCED.labels } } }),
    ];
    await renewed(silent.name, 120_000);
    await renewed(parked.name, 120_000);
    await renewed(unlabelled.name, 120_000);
    await renewed(back.name, 5_000);
    const { unreachable, zone } = await harness().cluster.surveyConnectivity(
      silent.name,
      60_000,
      { machine: 'i-1', machineOf: ({ value }) => value },
      unhurried(),
    );
    expect(unreachable).toContain(silent.name);
    expect(unreachable).not.toContain(parked.name);
    expect(unreachable).not.toContain(unlabelled.name);
    expect([...zone].sort()).toEqual([silent.name, back.name].sort());
  });
};
