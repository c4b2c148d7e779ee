import { expect, it } from 'vitest';
import { settle } from '../../../sandbox/cluster/settle.ts';
import { sweep } from '../../../fencing/sweep/sweep.ts';
import { defaultPolicy } from '../../../fencing/model/policy.ts';
import { listObjects } from '../../../sandbox/cluster/get-objects.ts';
import { change, stop } from '../../../sandbox/gce/instances.ts';
import { addLocalSsd, shutdownTakes } from '../../../sandbox/gce/scenario.ts';
import { diskIn, instanceIn } from '../../../sandbox/gce/state.ts';
import { addMachine, nodeNameOf } from '../../../sandbox/scenes/gce-database.ts';
import { portsOver, react, scene } from './gce-runs.ts';
import { MINUTE } from './gce-world.ts';

/**
 * A machine with a local SSD that runs and has been out of reach for ten minutes, while a third node keeps the zone
 * reachable.
 */
const cutOff = (keepsLocalSsds: boolean) => {
  const made = scene();
  const { world, holder } = made;
  addLocalSsd(world, holder);
  addMachine(world);
  settle(world);
  Object.assign(world.parts.gce.knobs, { keepsLocalSsds });
  world.parts.cluster.knobs.partitioned.push(nodeNameOf(holder));
  world.advance(10 * MINUTE);
  return made;
};

it('a machine with local SSDs is powered off by policy with their data kept, and is then fenced', async () => {
  const { world, disk, holder } = cutOff(true);
  expect(await react(world, holder, { unreachable: 'power-off' })).toMatchObject({ outcome: 'fenced' });
  world.advance(MINUTE);
  expect(instanceIn(world, holder)).toMatchObject({
    status: 'TERMINATED',
    disks: expect.arrayContaining([expect.objectContaining({ source: null })]),
  });
  expect([diskIn(world, disk)?.users.includes(holder), world.parts.gce.violations]).toEqual([false, []]);
});

it('a machine whose local SSDs cannot be kept is not powered off, and the outcome says what to do', async () => {
  const { world, disk, holder } = cutOff(false);
  const outcome = await react(world, holder, { unreachable: 'power-off' });
  expect(outcome).toMatchObject({
    outcome: 'failed',
    reason: { code: 'step-refused', says: expect.stringContaining('--discard-local-ssd') },
  });
  expect([instanceIn(world, holder)?.status, diskIn(world, disk)?.users, world.parts.gce.violations]).toEqual([
    'RUNNING',
    [holder],
    [],
  ]);
});

it.each([
  ['Compute Engine says', true],
  ['we saw', false],
])('a stop that hangs raises an alarm ten minutes after %s that it began, and nothing is done', async (_, timed) => {
  const { world, holder } = scene();
  world.parts.gce.knobs.shutdownLimit = 24 * 60 * MINUTE;
  world.parts.cluster.knobs.partitioned.push(nodeNameOf(holder));
  shutdownTakes(world, holder, null);
  const instance = instanceIn(world, holder);
  if (instance) stop(world, instance);
  const stopping = instanceIn(world, holder);
  if (stopping && !timed) change(world, stopping, { stopAskedAt: null });
  const said: string[] = [];
  for (let minutes = 0; minutes < 14; minutes += 1) {
    world.advance(MINUTE);
    const runOptions = { policy: defaultPolicy, deadline: world.now() + MINUTE, newRunId: () => `s${world.now()}` };
    said.push(...(await sweep(runOptions, portsOver(world))).outcomes.map(({ reason }) => reason.code));
  }
  expect([said[0], said.at(-1)]).toEqual(['stopping', 'stopping-too-long']);
  expect(listObjects(world, 'events').map(({ reason }) => reason)).toContain('MachineStoppingTooLong');
  expect(instanceIn(world, holder)?.status).toBe('STOPPING');
});
