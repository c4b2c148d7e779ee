import { describe, expect, it } from 'vitest';
import { defaultPolicy } from '../../../fencing/model/policy.ts';
import { sweep } from '../../../fencing/sweep/sweep.ts';
import type { AzureWorld } from '../../../sandbox/azure-sandbox.ts';
import { attach, detach } from '../../../sandbox/azure/attachments.ts';
import { deallocate, remove } from '../../../sandbox/azure/machines.ts';
import { addMachine } from '../../../sandbox/azure/scenario.ts';
import { diskIn, machineIn } from '../../../sandbox/azure/state.ts';
import { addBarePod } from '../../../sandbox/cluster/fixtures.ts';
import { writerAs } from '../../../sandbox/cluster/controllers/object-writer.ts';
import { listObjects, getObject } from '../../../sandbox/cluster/get-objects.ts';
import { addNodeOf, nodeNameOf } from '../../../sandbox/scenes/azure-database.ts';
import { change, portsOver, react, scene } from './azure-runs.ts';

/** Attachments of the driver of Azure name only the Node. If the Node is gone, only the disks show their machine. */

type Scene = ReturnType<typeof scene> & { readonly node: string };

const SECOND = 1_000;
const machines = [{ name: 'Db-0' }, { name: 'Db-1' }];

const deleteNode = (world: AzureWorld, name: string): void => {
  const node = getObject(world, 'nodes', name);
  if (node) writerAs(world, 'person').remove('nodes', node);
};

const deallocatedAndNodeDeletedByHand = (wanted?: typeof machines): Scene => {
  const made = scene(wanted);
  const node = nodeNameOf(made.world, made.holder);
  change(made.world, made.holder, deallocate, 30 * SECOND);
  deleteNode(made.world, node);
  made.world.advance(5 * SECOND);
  return { ...made, node };
};

const deletedWithItsNode = (wanted?: typeof machines): Scene => {
  const made = scene(wanted);
  const node = nodeNameOf(made.world, made.holder);
  made.world.parts.cluster.knobs.cloudController = true;
  change(made.world, made.holder, remove, 0);
  while (getObject(made.world, 'nodes', node)) made.world.advance(SECOND);
  return { ...made, node };
};

const byEvent = async ({ world, holder }: Scene) => [await react(world, holder)];

const bySweep = async ({ world }: Scene) => {
  const runOptions = { policy: defaultPolicy, deadline: world.now() + 300 * SECOND, newRunId: () => 'sweep' };
  return (await sweep(runOptions, portsOver(world, 100))).outcomes;
};

const ways = [
  ['an event', byEvent],
  ['the sweep', bySweep],
] as const;

const holderOf = (world: AzureWorld, disk: string): string | null =>
  diskIn(world, disk)?.attachments[0]?.machine ?? null;

const runsOn = (world: AzureWorld): string | undefined => {
  const pod = getObject(world, 'pods', 'db-0', 'default');
  return pod?.status.phase === 'Running' ? pod.spec.nodeName : undefined;
};

/** Everything that could have been touched. */
const untouched = (world: AzureWorld) =>
  [...listObjects(world, 'volumeattachments'), ...listObjects(world, 'pods')].map(({ metadata }) => [
    metadata.uid,
    metadata.deletionTimestamp,
  ]);

describe.each([
  ['was deallocated, its Node deleted by hand', deallocatedAndNodeDeletedByHand],
  ['was deleted, its Node by the cloud controller', deletedWithItsNode],
])('a machine of Azure that %s', (_, set) => {
  describe.each([
    ['an instance of a scale set', undefined],
    ['a machine of its own', machines],
  ] as const)('%s', (__, wanted) => {
    it.each(ways)('is fenced by %s long before Kubernetes acts by itself', async (___, found) => {
      const made = set(wanted && [...wanted]);
      const { world, disk, holder, spare } = made;
      expect(await found(made)).toMatchObject([
        {
          machine: holder,
          steps: expect.arrayContaining([expect.objectContaining({ step: 'delete-attachment', result: 'done' })]),
        },
      ]);
      world.advance(90 * SECOND);
      expect([holderOf(world, disk), runsOn(world), world.parts.azure.violations]).toEqual([
        spare,
        nodeNameOf(world, spare),
        [],
      ]);
    });
  });

  it.each(ways)('is not touched by %s once the next machine of its name runs', async (__, found) => {
    const made = set(machines);
    const { world, holder } = made;
    if (machineIn(world, holder)) change(world, holder, remove, 30 * SECOND);
    addMachine(world, { name: 'Db-0' });
    const before = untouched(world);
    const outcomes = await found(made);
    expect(outcomes).toMatchObject([{ outcome: 'ignored', reason: { code: 'machine-running' }, steps: [] }]);
    expect([untouched(world), world.parts.azure.violations]).toEqual([before, []]);
  });

  it.each(ways)('is distinguished by %s from the machine that now has the disk', async (__, found) => {
    const made = set();
    const { world, disk, holder } = made;
    const [former, held] = [machineIn(world, holder), diskIn(world, disk)];
    if (former && held) detach(world, held, former, false);
    world.advance(10 * SECOND);
    const other = machineIn(world, addMachine(world, { name: 'Elsewhere' }));
    const free = diskIn(world, disk);
    if (other && free) attach(world, free, other);
    world.advance(10 * SECOND);
    expect(holderOf(world, disk)).toBe(other?.id);
    const before = untouched(world);
    expect((await found(made)).flatMap(({ steps }) => steps)).toEqual([]);
    expect([untouched(world), holderOf(world, disk)]).toEqual([before, other?.id]);
  });

  it.each(ways)('has no disk any more, for %s, if another machine’s Node has its name', async (__, found) => {
    const made = set();
    const { world, node, disk } = made;
    const other = addMachine(world, { name: 'Elsewhere', computerName: node });
    const held = holderOf(world, disk);
    addNodeOf(world, other, { older: false });
    while (!getObject(world, 'nodes', node)) world.advance(SECOND);
    const before = untouched(world);
    expect((await found(made)).flatMap(({ steps }) => steps)).toEqual([]);
    expect([untouched(world), holderOf(world, disk)]).toEqual([before, held]);
  });
});

it('a machine of Azure without its Node has its disk detached through Azure if the attacher is down', async () => {
  const { world, disk, holder } = deallocatedAndNodeDeletedByHand();
  world.parts.cluster.knobs.attacherDown = true;
  expect((await react(world, holder)).steps.map(({ step, result }) => [step, result])).toContainEqual([
    'detach-disk',
    'done',
  ]);
  expect([holderOf(world, disk), world.parts.azure.violations]).toEqual([null, []]);
});

it.each([40, 45, 50, 55, 60, 65])(
  'a machine of Azure that was deleted %i s ago is fenced, no matter when the cloud controller deletes its Node',
  async (ago) => {
    const { world, disk, holder, spare } = scene();
    world.parts.cluster.knobs.cloudController = true;
    change(world, holder, remove, ago * SECOND);
    await react(world, holder, 400);
    world.advance(90 * SECOND);
    expect([holderOf(world, disk), runsOn(world), world.parts.azure.violations]).toEqual([
      spare,
      nodeNameOf(world, spare),
      [],
    ]);
  },
);

it('a machine of Azure takes no pod of a running machine that has its computer name and no Node', async () => {
  const { world, holder } = scene(machines);
  const node = nodeNameOf(world, holder);
  const unrelated = addMachine(world, { name: 'Elsewhere', computerName: node });
  change(world, unrelated, deallocate, 60 * SECOND);
  world.parts.cluster.knobs.partitioned.push(node);
  const claim = { name: 'data', persistentVolumeClaim: { claimName: 'not-there' } };
  addBarePod(world, {
    name: 'agent',
    spec: { nodeName: node, tolerations: [{ operator: 'Exists' }], volumes: [claim] },
  });
  const agent = getObject(world, 'pods', 'agent', 'default');
  if (agent) writerAs(world, 'person').remove('pods', agent, 30);
  deleteNode(world, node);
  const lease = getObject(world, 'leases', node, 'kube-node-lease');
  if (lease) writerAs(world, 'person').remove('leases', lease);
  const before = untouched(world);
  expect((await react(world, unrelated)).steps).toEqual([]);
  expect([machineIn(world, holder)?.power, untouched(world)]).toEqual(['running', before]);
  expect(getObject(world, 'pods', 'agent', 'default')?.metadata.deletionTimestamp).toBeDefined();
});
