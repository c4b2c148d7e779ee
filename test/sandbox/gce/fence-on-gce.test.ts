import { describe, expect, it } from 'vitest';
import { writerAs } from '../../../sandbox/cluster/controllers/object-writer.ts';
import { listObjects, getObject } from '../../../sandbox/cluster/get-objects.ts';
import { isReady } from '../../../sandbox/cluster/controllers/nodes.ts';
import type { WholeGceWorld } from '../../../sandbox/gce-sandbox.ts';
import { start, suspend } from '../../../sandbox/gce/instances.ts';
import { deleteInstance, preempt, recreate, stopGuest } from '../../../sandbox/gce/scenario.ts';
import { diskIn, instanceIn } from '../../../sandbox/gce/state.ts';
import { nodeNameOf } from '../../../sandbox/scenes/gce-database.ts';
import { react as fence, scene as stage } from './gce-runs.ts';
import { MINUTE } from './gce-world.ts';

const podRunsOn = (world: WholeGceWorld) => {
  const pod = getObject(world, 'pods', 'db-0', 'default');
  return pod?.status.phase === 'Running' ? (pod.spec.nodeName ?? null) : null;
};

const mark = (world: WholeGceWorld, machine: string) =>
  getObject(world, 'nodes', nodeNameOf(machine))?.spec.taints?.map(({ key }) => key) ?? [];

describe('a machine of Compute Engine that has stopped', () => {
  it.each([
    ['its guest shut down', stopGuest],
    ['it was preempted', preempt],
  ])('is fenced, and its database runs elsewhere (%s)', async (_, happen) => {
    const { world, disk, holder, spare } = stage();
    happen(world, holder);
    world.advance(MINUTE / 2);
    expect(await fence(world, holder)).toMatchObject({ outcome: 'fenced' });
    world.advance(MINUTE);
    expect(diskIn(world, disk)?.users).toEqual([spare]);
    expect(podRunsOn(world)).toBe(nodeNameOf(spare));
    expect(world.parts.gce.violations).toEqual([]);
  });

  it('has its disk detached through Compute Engine if the attacher is down, by the number of the machine', async () => {
    const { world, disk, holder } = stage();
    world.parts.cluster.knobs.attacherDown = true;
    stopGuest(world, holder);
    world.advance(MINUTE / 2);
    expect((await fence(world, holder)).steps.map(({ step }) => step)).toContain('detach-disk');
    expect(diskIn(world, disk)?.users).toEqual([]);
    expect(world.parts.gce.operations.at(-1)).toMatchObject({
      type: 'detachDisk',
      targetId: instanceIn(world, holder)?.id,
      error: null,
    });
    expect(world.parts.gce.violations).toEqual([]);
  });

  it('is released once it has been started again', async () => {
    const { world, holder } = stage();
    stopGuest(world, holder);
    world.advance(MINUTE / 2);
    await fence(world, holder);
    expect(mark(world, holder)).toContain('cloudfence.dev/quarantine');
    const instance = instanceIn(world, holder);
    if (instance) start(world, instance);
    world.advance(2 * MINUTE);
    expect(await fence(world, holder)).toMatchObject({ outcome: 'released' });
    expect(mark(world, holder)).toEqual([]);
    expect(world.parts.gce.violations).toEqual([]);
  });
});

describe('a machine of Compute Engine that is not proven off', () => {
  it.each([
    ['it is stopping', (world: WholeGceWorld, path: string) => stopGuest(world, path), 1_000, 'waiting'],
    ['it is suspended', (world: WholeGceWorld, path: string) => suspend(world, known(world, path)), MINUTE, 'refused'],
  ] as const)('keeps its disk (%s)', async (_, happen, later, outcome) => {
    const { world, disk, holder } = stage();
    world.parts.gce.knobs.shutdownLimit = 60 * MINUTE;
    world.parts.gce.instances[holder] = { present: { ...known(world, holder), shutdownTakes: null }, past: [] };
    happen(world, holder);
    world.advance(later);
    expect(await fence(world, holder)).toMatchObject({ outcome, steps: [] });
    expect(diskIn(world, disk)?.users).toEqual([holder]);
  });

  const known = (world: WholeGceWorld, path: string) => {
    const instance = instanceIn(world, path);
    if (!instance) throw new Error(`no ${path}`);
    return instance;
  };
});

describe('a machine of Compute Engine that was deleted', () => {
  it('is fenced because of its disk', async () => {
    const { world, disk, holder, spare } = stage();
    deleteInstance(world, holder);
    world.advance(MINUTE / 2);
    expect(instanceIn(world, holder)).toBeUndefined();
    expect((await fence(world, holder)).outcome).toBe('fenced');
    world.advance(MINUTE);
    expect([diskIn(world, disk)?.users, podRunsOn(world), world.parts.gce.violations]).toEqual([
      [spare],
      nodeNameOf(spare),
      [],
    ]);
  });

  it('is distinguished from the next machine of its name by the annotation of the Node', async () => {
    const { world, disk, holder } = stage();
    const former = instanceIn(world, holder)?.id ?? '';
    const node = getObject(world, 'nodes', nodeNameOf(holder));
    if (node)
      writerAs(world, 'gke').change('nodes', node, (draft) =>
        Object.assign(draft.metadata, {
          annotations: { ...draft.metadata.annotations, 'container.googleapis.com/instance_id': former },
        }),
      );
    world.parts.cluster.knobs.partitioned.push(nodeNameOf(holder));
    deleteInstance(world, holder);
    world.advance(MINUTE / 2);
    recreate(world, holder, { status: 'TERMINATED', guest: 'down' });
    expect(await fence(world, holder)).toMatchObject({
      outcome: 'refused',
      reason: { code: 'identity-contradicted' },
      steps: [],
    });
    expect([diskIn(world, disk)?.users.includes(holder), world.parts.gce.violations]).toEqual([false, []]);
  });
});

it('a stopped machine keeps its Node: the cloud controller neither taints nor deletes it', () => {
  const { world, holder } = stage();
  stopGuest(world, holder);
  world.advance(10 * MINUTE);
  const node = getObject(world, 'nodes', nodeNameOf(holder));
  expect(node && isReady(node)).toBe(false);
  expect(
    listObjects(world, 'nodes')
      .flatMap(({ spec }) => spec.taints ?? [])
      .map(({ key }) => key),
  ).not.toContain('node.cloudprovider.kubernetes.io/shutdown');
});
