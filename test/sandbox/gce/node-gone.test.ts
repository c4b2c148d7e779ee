import { describe, expect, it } from 'vitest';
import { defaultPolicy } from '../../../fencing/model/policy.ts';
import { sweep } from '../../../fencing/sweep/sweep.ts';
import { writerAs } from '../../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import type { WholeGceWorld } from '../../../sandbox/gce-sandbox.ts';
import { deleteInstance, recreate, stopGuest } from '../../../sandbox/gce/scenario.ts';
import { diskIn, instanceIn } from '../../../sandbox/gce/state.ts';
import { nodeNameOf } from '../../../sandbox/scenes/gce-database.ts';
import { portsOver, react, scene } from './gce-runs.ts';
import { MINUTE } from './gce-world.ts';

/**
 * Attachments of the driver of Google name the path of the machine, so they lead to the machine even if the Node is
 * gone.
 */

type Scene = ReturnType<typeof scene>;

const SECOND = 1_000;

const deleteNode = (world: WholeGceWorld, name: string): void => {
  const node = getObject(world, 'nodes', name);
  if (node) writerAs(world, 'person').remove('nodes', node);
};

const stoppedAndNodeDeletedByHand = (): Scene => {
  const made = scene();
  stopGuest(made.world, made.holder);
  made.world.advance(30 * SECOND);
  deleteNode(made.world, nodeNameOf(made.holder));
  made.world.advance(5 * SECOND);
  return made;
};

const deletedWithItsNode = (): Scene => {
  const made = scene();
  made.world.parts.cluster.knobs.cloudController = true;
  deleteInstance(made.world, made.holder);
  while (getObject(made.world, 'nodes', nodeNameOf(made.holder))) made.world.advance(SECOND);
  return made;
};

const byEvent = async ({ world, holder }: Scene) => [await react(world, holder)];

const bySweep = async ({ world }: Scene) => {
  const runOptions = { policy: defaultPolicy, deadline: world.now() + 5 * MINUTE, newRunId: () => 'sweep' };
  return (await sweep(runOptions, portsOver(world))).outcomes;
};

const podRunsOn = (world: WholeGceWorld) => {
  const pod = getObject(world, 'pods', 'db-0', 'default');
  return pod?.status.phase === 'Running' ? (pod.spec.nodeName ?? null) : null;
};

describe.each([
  ['stopped, its Node deleted by hand', stoppedAndNodeDeletedByHand],
  ['was deleted, its Node by the cloud controller', deletedWithItsNode],
])('a machine of Compute Engine that %s', (_, set) => {
  it.each([
    ['an event', byEvent],
    ['the sweep', bySweep],
  ])('is fenced by %s long before Kubernetes acts by itself', async (__, found) => {
    const made = set();
    const { world, disk, holder, spare } = made;
    expect(await found(made)).toMatchObject([{ outcome: 'fenced', machine: holder }]);
    world.advance(90 * SECOND);
    expect([diskIn(world, disk)?.users, podRunsOn(world), world.parts.gce.violations]).toEqual([
      [spare],
      nodeNameOf(spare),
      [],
    ]);
  });

  it.each([
    ['an event', byEvent],
    ['the sweep', bySweep],
  ])('is not touched by %s once the next machine has its name and runs', async (__, found) => {
    const made = set();
    const { world, disk, holder } = made;
    if (instanceIn(world, holder)) deleteInstance(world, holder);
    world.advance(30 * SECOND);
    const before = getObject(world, 'pods', 'db-0', 'default')?.metadata.uid;
    recreate(world, holder);
    expect(await found(made)).toMatchObject([{ outcome: 'ignored', steps: [] }]);
    expect([
      diskIn(world, disk)?.users,
      getObject(world, 'pods', 'db-0', 'default')?.metadata.uid,
      world.parts.gce.violations,
    ]).toEqual([[], before, []]);
  });
});
