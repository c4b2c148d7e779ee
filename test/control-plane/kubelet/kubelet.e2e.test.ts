import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { addDatabase } from '../scenes/database.ts';
import { lease, listOf, node } from '../../testbed/objects.ts';
import { openScene } from '../scenes/scene.ts';
import { until } from '../../testbed/until.ts';
import { endingSlowly, lonePod } from '../scenes/workload.ts';

const NODES_AT_ONCE = 200;
const SLOW_S = 2;

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const statusOf = async (name: string) => testbed.kubelets.nodes.get(name)?.status;

describe('a kubelet', () => {
  it('ends a pod gracefully, and releases its volume only then', async () => {
    const database = await addDatabase(testbed);
    const former = database.pod()?.metadata.uid;
    expect((await statusOf(database.home.name))?.volumesInUse).toEqual([
      `kubernetes.io/csi/ebs.csi.aws.com^${database.disk}`,
    ]);
    await testbed.admin.write('PATCH', `/api/v1/nodes/${database.home.name}`, { spec: { unschedulable: true } });
    await testbed.admin.write('DELETE', `/api/v1/namespaces/${database.namespace}/pods/db-0`);
    await database.runsOn(database.refuge);
    expect(database.pod()?.metadata.uid).not.toBe(former);
    expect((await statusOf(database.home.name))?.volumesInUse).toEqual([]);
    expect(await testbed.ec2.holderOf(database.disk)).toBe(database.refuge.instance);
  });

  it('gives a pod as much time as its hook needs, but no more than its grace period', async () => {
    const scene = await openScene(testbed, 'grace');
    const node = await scene.addNode();
    await scene.create(lonePod('slow', { spec: endingSlowly(SLOW_S) }));
    await scene.runs('slow', node);
    const path = `/api/v1/namespaces/${scene.namespace}/pods/slow`;
    const begun = performance.now();
    await testbed.admin.write('DELETE', path);
    await until('the pod is gone', async () => (await testbed.admin.call('GET', path)).status === 404);
    expect(performance.now() - begun).toBeGreaterThan(SLOW_S * 1000);
    await scene.create(lonePod('hasty', { spec: endingSlowly(3600) }));
    await scene.runs('hasty', node);
    await testbed.admin.write('DELETE', `/api/v1/namespaces/${scene.namespace}/pods/hasty`, { gracePeriodSeconds: 1 });
    await until('the hasty pod is gone', async () => scene.pods('hasty').length === 0);
    expect(scene.pods()).toEqual([]);
  });

  it('may write only to its own Node, and not to our labels', async () => {
    const database = await addDatabase(testbed);
    const own = testbed.admin.as(`system:node:${database.home.name}`, 'system:nodes');
    const label = (node: string, key: string) =>
      own.call('PATCH', `/api/v1/nodes/${node}`, { metadata: { labels: { [key]: 'true' } } });
    const answers = [
      await label(database.home.name, 'example.org/fine'),
      await label(database.refuge.name, 'example.org/fine'),
      await label(database.home.name, 'cloudfence.node-restriction.kubernetes.io/fenced'),
      await label(database.home.name, 'cloudfence.node-restriction.kubernetes.io/stopping'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 403, 403]);
  });

  it(`shares its process with ${NODES_AT_ONCE} others, and all of them stay in time`, async () => {
    const named = (which: number) => ({
      name: `crowd-${which}`,
      instance: `i-${String(which).padStart(17, '0')}`,
      zone: 'us-east-1a',
      address: '10.0.0.1',
      labels: { 'topology.kubernetes.io/zone': 'crowd' },
    });
    const crowd = await Promise.all(
      Array.from({ length: NODES_AT_ONCE }, (_, which) => testbed.kubelets.join(named(which))),
    );
    const renewals = async () => {
      const { items } = listOf(lease).parse(
        await testbed.admin.get('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'),
      );
      return new Map(
        items
          .filter(({ metadata }) => metadata.name.startsWith('crowd-'))
          .map(({ metadata, spec }) => [metadata.name, spec.renewTime]),
      );
    };
    const first = await renewals();
    expect(first.size).toBe(NODES_AT_ONCE);
    await until(
      'each has renewed its Lease',
      async () => [...(await renewals())].every(([name, renewed]) => first.get(name) !== renewed),
      20_000,
    );
    const anyNode = listOf(node)
      .parse(await testbed.admin.get('/api/v1/nodes'))
      .items.filter(({ metadata }) => metadata.name.startsWith('crowd-'));
    expect(
      anyNode.filter(({ status }) =>
        status.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
      ),
    ).toHaveLength(NODES_AT_ONCE);
    for (const kubelet of crowd) kubelet.die();
    await Promise.all(crowd.map(({ machine }) => testbed.admin.write('DELETE', `/api/v1/nodes/${machine.name}`)));
  });
});
