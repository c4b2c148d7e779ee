import { expect, it } from 'vitest';
import { defaultPolicy } from '../../../fencing/model/policy.ts';
import { nextCommand } from '../../../fencing/loop/next-command.ts';
import { reduce } from '../../../fencing/loop/reduce.ts';
import { executeCommand } from '../../../fencing/loop/run.ts';
import { startRun } from '../../../fencing/loop/state.ts';
import { sweep } from '../../../fencing/sweep/sweep.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import type { WholeGceWorld } from '../../../sandbox/gce-sandbox.ts';
import { start } from '../../../sandbox/gce/instances.ts';
import { deleteInstance, recreate, stopGuest } from '../../../sandbox/gce/scenario.ts';
import { diskIn, instanceIn } from '../../../sandbox/gce/state.ts';
import { nodeNameOf } from '../../../sandbox/scenes/gce-database.ts';
import { portsOver, scene } from './gce-runs.ts';
import { MINUTE } from './gce-world.ts';

/** An instance is deleted while our mark is set, and another one is created with its name. Its Node stays. */

/** The run that fences the machine dies right after its mark. */
const diesAfterMark = async (world: WholeGceWorld, machine: string): Promise<void> => {
  const ports = portsOver(world);
  let known = startRun({
    request: { machine, intent: 'fence', accepted: null, vouched: null },
    policy: defaultPolicy,
    identityRules: ports.cloud,
    runId: 'run',
    deadline: world.now() + 5 * MINUTE,
  });
  while (known.record === null) {
    const command = nextCommand(known, ports.clock.now());
    if (command.do === 'finish') throw new Error('the fence never began');
    known = reduce(known, command, await executeCommand(command, known, ports), ports.clock.now());
  }
};

const sweepFor = async (world: WholeGceWorld, ms: number): Promise<void> => {
  let runs = 0;
  for (const until = world.now() + ms; world.now() < until; world.advance(MINUTE / 2))
    await sweep(
      { policy: defaultPolicy, deadline: world.now() + MINUTE, newRunId: () => `sweep-${(runs += 1)}` },
      portsOver(world),
    );
};

const taintsOf = (world: WholeGceWorld, machine: string) =>
  (getObject(world, 'nodes', nodeNameOf(machine))?.spec.taints ?? [])
    .map(({ key }) => key)
    .filter((key) => !key.startsWith('node.kubernetes.io/unreachable'));

it('our taint frees the volumes of the deleted machine, and is lifted before the new machine can start', async () => {
  const { world, disk, holder, spare } = scene();
  stopGuest(world, holder);
  world.advance(MINUTE / 2);
  await diesAfterMark(world, holder);
  deleteInstance(world, holder);
  world.advance(MINUTE / 3);
  recreate(world, holder, { status: 'TERMINATED', guest: 'down' });
  await sweepFor(world, 30_000);
  expect(taintsOf(world, holder)).toContain('node.kubernetes.io/out-of-service');
  await sweepFor(world, 8 * MINUTE);
  expect(diskIn(world, disk)?.users).toEqual([spare]);
  expect(taintsOf(world, holder)).toEqual(['cloudfence.dev/quarantine']);
  const next = instanceIn(world, holder);
  if (next) start(world, next);
  await sweepFor(world, 5 * MINUTE);
  expect([taintsOf(world, holder), world.parts.gce.violations]).toEqual([[], []]);
});
