import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { addDatabase } from '../scenes/database.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { until } from '../../testbed/until.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const containers = [{ name: 'work', image: 'example.org/work:1' }];

describe('other pods on the node:', () => {
  it('a Job starts again elsewhere, and the pod of a DaemonSet keeps its object', async () => {
    const database = await addDatabase(testbed);
    const { namespace, home, refuge } = database;
    const nodeSelector = { 'topology.kubernetes.io/zone': namespace };
    await testbed.admin.write('PATCH', `/api/v1/nodes/${refuge.name}`, { spec: { unschedulable: true } });
    await testbed.admin.write('POST', `/apis/batch/v1/namespaces/${namespace}/jobs`, {
      metadata: { name: 'work' },
      spec: { template: { spec: { containers, nodeSelector, restartPolicy: 'Never' } } },
    });
    const labels = { app: 'agent' };
    const template = {
      metadata: { labels },
      spec: { containers, nodeSelector, tolerations: [{ operator: 'Exists' }] },
    };
    await testbed.admin.write('POST', `/apis/apps/v1/namespaces/${namespace}/daemonsets`, {
      metadata: { name: 'agent' },
      spec: { selector: { matchLabels: labels }, template },
    });
    const podsOn = (node: string, prefix: string) =>
      testbed.kubelets.pods
        .all()
        .filter(
          ({ metadata, spec }) =>
            metadata.namespace === namespace && spec.nodeName === node && metadata.name.startsWith(prefix),
        );
    const runs = (node: string, prefix: string) =>
      until(`${prefix} runs on ${node}`, async () =>
        podsOn(node, prefix).find(({ status }) => status.phase === 'Running'),
      );
    const [work, agent] = [await runs(home.name, 'work'), await runs(home.name, 'agent')];
    await testbed.admin.write('PATCH', `/api/v1/nodes/${refuge.name}`, { spec: { unschedulable: null } });
    await home.stop();
    const { code, says } = await cloudfence(testbed.access, 'fence', home.instance);
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'fenced' });
    const again = await runs(refuge.name, 'work');
    expect(again.metadata.uid).not.toBe(work.metadata.uid);
    await until('the old pod of the Job is gone', async () => podsOn(home.name, 'work').length === 0);
    expect(podsOn(home.name, 'agent').map(({ metadata }) => metadata.uid)).toEqual([agent.metadata.uid]);
    await database.runsOn(refuge);
    expect(await testbed.ec2.holderOf(database.disk)).toBe(refuge.instance);
  });
});
