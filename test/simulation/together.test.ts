import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RunState } from '../../fencing/loop/state.ts';
import { nextCommand } from '../../fencing/loop/next-command.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { AFTERMATH_MS } from './ends.ts';
import { crowded, stopped, terminated } from './incidents.ts';
import { freshRun, portsOver } from './ports.ts';
import { stateOf } from './state.ts';
import { runsOf } from '../thorough.ts';
import { stepOn } from './walk.ts';

/** Two deliveries of one event at the same time. Their calls interleave in every order that chance finds. */

/** Lets one of the runs execute one command. Returns false if it has ended. */
const advanceOne = async (runs: RunState[], which: number, world: AwsWorld): Promise<boolean> => {
  const ports = portsOver(world);
  const known = runs[which];
  if (!known) return false;
  const command = nextCommand(known, ports.clock.now());
  if (command.do === 'finish') return false;
  runs[which] = await stepOn(known, command, ports);
  return true;
};

const interleave = async (world: AwsWorld, machine: string, order: readonly number[]): Promise<void> => {
  const runs = ['first', 'second'].map((runId) => freshRun(world, portsOver(world), { machine, runId }));
  for (const which of order) await advanceOne(runs, which, world);
  for (const which of [0, 1]) while (await advanceOne(runs, which, world));
};

it.each([
  ['stopped', stopped],
  ['terminated', terminated],
  ['crowded', crowded],
])('two runs about one %s machine end as one run would', async (_, happen) => {
  const { world: untouched, scene } = happen();
  const orders = fc.array(fc.nat({ max: 1 }), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(orders, async (order) => {
      const world = untouched.fork();
      await interleave(world, scene.holder, order);
      world.advance(AFTERMATH_MS);
      const { disks, violations, attachments } = stateOf(world);
      expect(disks).toContain(`${scene.volume} at ${scene.spare} attached`);
      expect(attachments).toHaveLength(1);
      expect(violations).toEqual([]);
    }),
    { numRuns: runsOf(60), seed: 11 },
  );
});
