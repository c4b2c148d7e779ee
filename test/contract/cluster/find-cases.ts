import { expect, it } from 'vitest';
import type { ClusterHarness } from './harness.ts';
import { CSI_NODES, queryFor, fresh, made, makeNode, unhurried } from './harness.ts';

const K3S = (name: string) => ({ providerID: `k3s://${name}` });
const nodeId = (machine: string) => ({
  annotations: { 'csi.volume.kubernetes.io/nodeid': JSON.stringify({ 'ebs.csi.aws.com': machine }) },
});

export const findCases = (harness: () => ClusterHarness): void => {
  const find = (machine: string, ...names: string[]) =>
    harness().cluster.find(queryFor(machine, ...names), unhurried());

  it('finds a Node under a guessed name if its providerID names the machine', async () => {
    const machine = fresh('i');
    const { name } = await makeNode(harness(), { machine });
    expect(await find(machine, name)).toEqual([name]);
    expect(await find(machine, fresh('wrong'), fresh('wrong'), name)).toEqual([name]);
  });

  it('does not accept a Node with the guessed name that belongs to another machine', async () => {
    const { name } = await makeNode(harness());
    expect(await find(fresh('i'), name)).toEqual([]);
  });

  it('finds a Node by its nodeid annotation if its name cannot be guessed', async () => {
    const machine = fresh('i');
    const name = fresh('node');
    await makeNode(harness(), { name, spec: K3S(name), metadata: nodeId(machine) });
    expect(await find(machine)).toEqual([name]);
  });

  it.each(['cloudfence.dev/instance', 'alpha.eksctl.io/instance-id'])(
    'finds a Node by the label %s, but only if that Node names the machine',
    async (label) => {
      const machine = fresh('i');
      const { name } = await makeNode(harness(), { machine, metadata: { labels: { [label]: machine } } });
      await makeNode(harness(), { metadata: { labels: { [label]: machine } } });
      expect(await find(machine)).toEqual([name]);
    },
  );

  it('finds a Node by its providerID alone', async () => {
    const machine = fresh('i');
    const { name } = await makeNode(harness(), { machine });
    expect(await find(machine, fresh('wrong'))).toEqual([name]);
  });

  it('finds a Node under a guessed name if only its CSINode names the machine', async () => {
    const [machine, name, other] = [fresh('i'), fresh('node'), fresh('i')];
    const drivers = [{ name: 'ebs.csi.aws.com', nodeID: machine }];
    await makeNode(harness(), { name, spec: K3S(name) });
    await made(harness(), CSI_NODES, { metadata: { name }, spec: { drivers } });
    expect(await find(machine, name)).toEqual([name]);
    expect(await find(other, name)).toEqual([]);
    const contradicted = await makeNode(harness());
    await made(harness(), CSI_NODES, { metadata: { name: contradicted.name }, spec: { drivers } });
    expect(await find(machine, contradicted.name)).toEqual([]);
  });

  it('does not accept a Node whose providerID names another machine, whatever its kubelet wrote', async () => {
    const machine = fresh('i');
    const owner = await makeNode(harness(), { machine, metadata: nodeId(machine) });
    const imposter = await makeNode(harness(), { metadata: nodeId(machine) });
    expect(await find(machine, fresh('wrong'))).toEqual([owner.name]);
    expect(await find(machine, imposter.name)).toEqual([owner.name]);
    expect(await find(machine, imposter.name, owner.name)).toEqual([owner.name]);
    const gone = fresh('i');
    const other = await makeNode(harness(), {
      metadata: { ...nodeId(gone), labels: { 'cloudfence.dev/instance': gone } },
    });
    expect([await find(gone), await find(gone, other.name)]).toEqual([[], []]);
  });

  it('reports both Nodes if two of them name the machine', async () => {
    const machine = fresh('i');
    const one = await makeNode(harness(), { machine });
    const other = await makeNode(harness(), { machine });
    expect([...(await find(machine, fresh('wrong'), one.name, other.name))].sort()).toEqual(
      [one.name, other.name].sort(),
    );
    expect([...(await find(machine))].sort()).toEqual([one.name, other.name].sort());
  });

  it('does not accept an unreadable annotation as an identity', async () => {
    const machine = fresh('i');
    const name = fresh('node');
    await makeNode(harness(), {
      name,
      spec: K3S(name),
      metadata: { annotations: { 'csi.volume.kubernetes.io/nodeid': `{"${machine}` } },
    });
    expect(await find(machine, name)).toEqual([]);
  });
};
