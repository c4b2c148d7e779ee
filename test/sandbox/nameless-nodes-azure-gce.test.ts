import { expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import type { ClusterWorld } from '../../sandbox/cluster/cluster-world.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { nodeNameOf as azureNodeOf } from '../../sandbox/scenes/azure-database.ts';
import { nodeNameOf as gceNodeOf } from '../../sandbox/scenes/gce-database.ts';
import { portsOver as azurePorts, scene as azureScene } from './azure/azure-runs.ts';
import { portsOver as gcePorts, scene as gceScene } from './gce/gce-runs.ts';

/** Nothing on a Node names its machine any more, and our taint of another boot is still there. */

const ours = {
  key: 'node.kubernetes.io/out-of-service',
  value: 'run.1_in_0000000aaaaaaa',
  effect: 'NoSchedule',
} as const;

const onAzure = () => {
  const { world, holder } = azureScene();
  return { world, node: azureNodeOf(world, holder), ports: azurePorts(world, 100) };
};
const onGoogle = () => {
  const { world, holder } = gceScene();
  return { world, node: gceNodeOf(holder), ports: gcePorts(world) };
};

it.each<[string, () => { world: ClusterWorld; node: string; ports: Ports }]>([
  ['Azure', onAzure],
  ['Google', onGoogle],
])('a sweep on %s removes our taint, and says that nothing names the machine', async (_, open) => {
  const { world, node: name, ports } = open();
  const by = writerAs(world, 'person');
  const [node, csiNode] = [getObject(world, 'nodes', name), getObject(world, 'csinodes', name)];
  if (node)
    by.change('nodes', node, ({ metadata, spec }) => {
      delete spec.providerID;
      metadata.annotations = {};
      spec.taints = [ours];
    });
  if (csiNode) by.change('csinodes', csiNode, ({ spec }) => void (spec.drivers = []));
  const runOptions = { policy: defaultPolicy, deadline: world.now() + 60_000, newRunId: () => 'sweep' };
  expect((await sweep(runOptions, ports)).outcomes).toMatchObject([
    {
      outcome: 'refused',
      reason: { code: 'identity-unproven' },
      node: name,
      steps: [{ step: 'lift-out-of-service', result: 'done', because: { code: 'taint-of-another-boot' } }],
    },
  ]);
  expect(getObject(world, 'nodes', name)?.spec.taints ?? []).toEqual([]);
});
