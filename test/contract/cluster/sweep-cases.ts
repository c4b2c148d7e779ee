import { expect, it } from 'vitest';
import type { IdentitySource } from '../../../fencing/model/machine.ts';
import type { ClusterHarness } from './harness.ts';
import { LEASES, NODES, fresh, made, makeAttachment, makeNode, recordFor, unhurried } from './harness.ts';

const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';

export const sweepCases = (harness: () => ClusterHarness): void => {
  const renewed = (name: string, ago: number) =>
    made(harness(), LEASES, {
      metadata: { name },
      spec: { renewTime: new Date(harness().now() - ago).toISOString().replace('Z', '000Z') },
    });

  it('suspects Nodes that are silent, fenced, or gone', async () => {
    const machine = fresh('i');
    const labels = { 'cloudfence.node-restriction.kubernetes.io/fenced': 'fence-1' };
    const [lively, silent, fenced] = [
      await makeNode(harness()),
      await makeNode(harness(), { machine }),
      await makeNode(harness(), { metadata: { labels } }),
    ];
    const record = recordFor(fenced, 'i-1');
    await harness().admin('PATCH', `${NODES}/${fenced.name}`, {
      metadata: { annotations: { 'cloudfence.dev/fence': JSON.stringify(record) } },
    });
    await renewed(lively.name, 5_000);
    await renewed(silent.name, 120_000);
    await renewed(fenced.name, 5_000);
    const [missing, orphanedLease] = [fresh('node'), fresh('node')];
    await renewed(orphanedLease, 120_000);
    const left = await makeAttachment(harness(), fresh('csi'), missing, 'data', 'i-missing');
    await makeAttachment(harness(), fresh('csi'), lively.name, 'data', 'i-lively');
    const suspects = await harness().cluster.suspects(60_000, unhurried());
    const providerID = { source: 'providerID', driver: null, value: `aws:///eu-central-1a/${machine}` };
    const node = (name: string) => suspects.filter((suspect) => suspect.node === name);
    expect(node(silent.name)).toEqual([
      {
        because: 'lease-stale',
        node: silent.name,
        identitySources: [providerID],
        record: null,
        marked: null,
        attachments: [],
      },
    ]);
    expect(node(fenced.name)).toMatchObject([{ because: 'fenced', record }]);
    expect(node(missing)).toEqual([
      {
        because: 'node-missing',
        node: missing,
        identitySources: [{ source: 'volumeAttachment', driver: 'ebs.csi.aws.com', value: 'i-missing' }],
        record: null,
        marked: null,
        attachments: [left.name],
      },
    ]);
    expect([...node(lively.name), ...node(orphanedLease)]).toEqual([]);
  });

  const anybody = { machine: 'i-1', machineOf: ({ value }: IdentitySource) => value };

  it('lists every Node that names the machine, whatever the name of the Node', async () => {
    const machine = fresh('i');
    const [first, second] = [
      await makeNode(harness(), { spec: { providerID: machine } }),
      await makeNode(harness(), {
        metadata: { annotations: { 'csi.volume.kubernetes.io/nodeid': JSON.stringify({ 'a-driver': machine }) } },
      }),
    ];
    await makeNode(harness());
    const { nodesNamingMachine: claimants } = await harness().cluster.surveyConnectivity(
      first.name,
      60_000,
      { ...anybody, machine },
      unhurried(),
    );
    expect([...claimants].sort()).toEqual([first.name, second.name].sort());
  });

  it('counts the unreachable Nodes, and those in the same zone', async () => {
    const zone = { labels: { 'topology.kubernetes.io/zone': fresh('zone') } };
    const [silent, leaseless, lively, elsewhere] = [
      await makeNode(harness(), { metadata: zone }),
      await makeNode(harness(), { metadata: zone }),
      await makeNode(harness(), { metadata: zone }),
      await makeNode(harness()),
    ];
    await renewed(silent.name, 120_000);
    await renewed(lively.name, 5_000);
    await renewed(elsewhere.name, 120_000);
    const own = new Set([silent, leaseless, lively, elsewhere].map(({ name }) => name));
    const seenFrom = async (name: string) => {
      const { unreachable, zone: neighbours } = await harness().cluster.surveyConnectivity(
        name,
        60_000,
        anybody,
        unhurried(),
      );
      return { unreachable: unreachable.filter((other) => own.has(other)).sort(), zone: [...neighbours].sort() };
    };
    const neighbours = [silent.name, leaseless.name, lively.name].sort();
    expect(await seenFrom(silent.name)).toEqual({
      unreachable: [silent.name, leaseless.name, elsewhere.name].sort(),
      zone: neighbours,
    });
    expect(await seenFrom(leaseless.name)).toEqual({
      unreachable: [silent.name, elsewhere.name].sort(),
      zone: neighbours,
    });
  });

  it('rechecks a Node in a short call, also if the Node is gone', async () => {
    const node = await makeNode(harness(), {
      spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] },
    });
    const text = JSON.stringify(recordFor(node, 'i-1'));
    await harness().admin('PATCH', `${NODES}/${node.name}`, {
      metadata: { annotations: { 'cloudfence.dev/fence': text } },
    });
    await made(harness(), LEASES, {
      metadata: { name: node.name },
      spec: { renewTime: '2026-11-21T09:59:58.123456Z' },
    });
    expect(await harness().cluster.recheck(node.name, unhurried())).toEqual({
      uid: node.uid,
      recordText: text,
      taints: { outOfService: true, ours: false, quarantine: false },
      lease: '2026-11-21T09:59:58.123456Z',
    });
    const ours = {
      key: 'node.kubernetes.io/out-of-service',
      value: `fence-1_in_${'a'.repeat(14)}`,
      effect: 'NoSchedule',
    };
    const quarantine = { key: 'cloudfence.dev/quarantine', effect: 'NoSchedule' };
    const { name } = await makeNode(harness(), { spec: { taints: [ours, quarantine] } });
    expect(await harness().cluster.recheck(name, unhurried())).toMatchObject({
      taints: { outOfService: true, ours: true, quarantine: true },
    });
    expect(await harness().cluster.recheck(fresh('gone'), unhurried())).toEqual({
      uid: null,
      recordText: null,
      taints: { outOfService: false, ours: false, quarantine: false },
      lease: null,
    });
  });

  it('reads one attachment in a short call, also if the attachment is gone', async () => {
    const node = await makeNode(harness());
    const standing = await makeAttachment(harness(), fresh('csi'), node.name, 'data');
    expect(await harness().cluster.attachment(standing.name, unhurried())).toMatchObject({
      name: standing.name,
      uid: standing.uid,
      deletingSince: null,
    });
    expect(await harness().cluster.attachment(fresh('gone'), unhurried())).toBeNull();
  });

  it('reports to people in Events on the Node, however long the report', async () => {
    const node = await makeNode(harness());
    const reason = 'FenceRefused';
    await harness().cluster.recordEvent(
      { kind: 'Node', name: node.name, uid: node.uid },
      { type: 'Warning', reason, message: 'ä'.repeat(2000) },
      unhurried(),
    );
    const { items } = (await harness().admin('GET', EVENTS)).body;
    const reported = Array.isArray(items) ? items.filter((event) => event.regarding.name === node.name) : [];
    expect(reported).toMatchObject([
      {
        metadata: { name: expect.stringMatching(/^cloudfence-/) },
        reason,
        type: 'Warning',
        reportingController: 'cloudfence.dev',
        regarding: { apiVersion: 'v1', kind: 'Node', uid: node.uid },
      },
    ]);
    expect(reported[0].note).toMatch(/^ä{400,510}…$/);
    await harness().cluster.recordEvent(
      { kind: 'Pod', namespace: 'kube-system', name: node.name, uid: 'pod-uid' },
      { type: 'Normal', reason: 'ForceDeleted', message: 'off' },
      unhurried(),
    );
    const ofPods = (await harness().admin('GET', EVENTS.replace('/default/', '/kube-system/'))).body.items;
    expect(Array.isArray(ofPods) ? ofPods.filter((event) => event.regarding.name === node.name) : ofPods).toMatchObject(
      [{ regarding: { kind: 'Pod', namespace: 'kube-system', uid: 'pod-uid' }, reason: 'ForceDeleted', note: 'off' }],
    );
    const gone = fresh('gone');
    const longest = 'x'.repeat(1024);
    await harness().cluster.recordEvent(
      { kind: 'Node', name: gone, uid: null },
      { type: 'Normal', reason: 'Freed', message: longest },
      unhurried(),
    );
    const { items: all } = (await harness().admin('GET', EVENTS)).body;
    expect(Array.isArray(all) ? all.find((event) => event.regarding.name === gone)?.note : all).toBe(longest);
  });
};
