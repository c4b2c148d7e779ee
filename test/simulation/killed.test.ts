import { describe, expect, it } from 'vitest';
import { AFTERMATH_MS, incidents } from './ends.ts';
import { freshRun, portsOver } from './ports.ts';
import { run } from '../../fencing/loop/run.ts';
import { stateOf } from './state.ts';
import { someOf } from '../thorough.ts';
import { stepOn, walk, type CommandMoment } from './walk.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';

/**
 * The first test of the project. A run is killed before each of its calls, and after each (the call took effect, and
 * the answer was lost). Its message is delivered again to a new process. Every time, the world must end as if nothing
 * had happened.
 */

const REDELIVERED_AFTER_MS = 30_000;
const RUN_LASTS_MS = 45_000;

/** Recreated pods have random names, so only their shape is compared. */
const shape = (world: AwsWorld): unknown => {
  const { pods, ...rest } = stateOf(world);
  return { ...rest, pods: pods.map((line) => line.replace(/-[a-z0-9]{5} /, '-* ')) };
};

const finish = async (world: AwsWorld, machine: string): Promise<unknown> => {
  world.advance(REDELIVERED_AFTER_MS);
  const ports = portsOver(world);
  await run(freshRun(world, ports, { machine, runId: 'second', lasts: RUN_LASTS_MS }), ports);
  world.advance(AFTERMATH_MS);
  return shape(world);
};

const killedBefore = ({ world }: CommandMoment, machine: string): Promise<unknown> => finish(world.fork(), machine);

const killedAfter = async ({ world, known, command }: CommandMoment, machine: string): Promise<unknown> => {
  const other = world.fork();
  await stepOn(known, command, portsOver(other));
  return finish(other, machine);
};

describe.each(incidents)('a machine %s', (_, happen, right) => {
  it('reaches the same end, whichever call the run is killed before or after', async () => {
    const { world, scene } = await happen();
    const { crossings, outcome } = await walk(
      world,
      freshRun(world, portsOver(world), { machine: scene.holder, lasts: RUN_LASTS_MS }),
    );
    expect(outcome.outcome).toBe(right);
    world.advance(AFTERMATH_MS);
    const expected = shape(world);
    expect(world.parts.ec2.violations).toEqual([]);
    expect(crossings.length).toBeGreaterThan(4);
    for (const crossing of someOf(crossings)) {
      expect(await killedBefore(crossing, scene.holder), `killed before ${crossing.command.do}`).toEqual(expected);
      expect(await killedAfter(crossing, scene.holder), `killed after ${crossing.command.do}`).toEqual(expected);
    }
  });
});
