import { expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { fence } from './ends.ts';
import { stopped, type Incident } from './incidents.ts';
import { portsOver } from './ports.ts';
import { stateOf } from './state.ts';

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const SWEEPS_EVERY_MS = 20_000;

const sweepFor = async ({ world }: Incident, ms: number): Promise<void> => {
  const until = world.now() + ms;
  for (let runs = 0; world.now() < until; world.advance(SWEEPS_EVERY_MS)) {
    await sweep(
      { policy: defaultPolicy, deadline: world.now() + 60_000, newRunId: () => `sweep-${(runs += 1)}` },
      portsOver(world),
    );
  }
};

it('a pod that tolerates our taint stays on a parked Node until it is evicted, and then is freed', async () => {
  const incident = stopped();
  const { world, scene } = incident;
  const node = scene.nodeOf(scene.holder);
  const tolerations = [{ key: OUT_OF_SERVICE, operator: 'Exists' as const }];
  addBarePod(world, { name: 'patient', spec: { nodeName: node, tolerations } });
  expect(await fence(incident)).toMatchObject({ outcome: 'fenced' });
  expect(getObject(world, 'pods', 'patient', 'default')?.metadata.deletionTimestamp).toBeUndefined();
  await sweepFor(incident, 500_000);
  expect(getObject(world, 'pods', 'patient', 'default')).toBeUndefined();
  expect(getObject(world, 'nodes', node)?.spec.taints?.map(({ key }) => key)).not.toContain(OUT_OF_SERVICE);
  expect(stateOf(world).violations).toEqual([]);
});
