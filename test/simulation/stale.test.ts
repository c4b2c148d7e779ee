import { expect, it } from 'vitest';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { crowded, startMachine } from './incidents.ts';
import { freshRun, portsOver, slowOrders } from './ports.ts';
import { someOf } from '../thorough.ts';
import { thaw, walk } from './walk.ts';

/**
 * No cloud offers "detach only if still stopped". An assumption makes the remaining window harmless: a read is at most
 * S old, a call arrives within its transit time, a machine that boots cannot write before B, and S + 2 s + transit < B.
 * Here, all three are parameters. The machine is started at every moment of a run, and anything that the run does after
 * the guest is up is a violation.
 */

const upSince = (world: AwsWorld, machine: string, started: number): number =>
  instanceIn(world, machine)?.guest === 'up' ? started + world.parts.ec2.knobs.bootTakes : Infinity;

const destructionAfter = (world: AwsWorld, since: number): number =>
  world.parts.cluster.audit.filter(
    ({ at, user, verb }) => user === 'kubernetes-admin' && verb === 'delete' && at >= since,
  ).length;

const violationsOfStarting = async ({
  staleUpTo = 0,
  transit = 0,
  bootTakes,
}: {
  readonly staleUpTo?: number;
  readonly transit?: number;
  readonly bootTakes: number;
}): Promise<number> => {
  const { world, scene } = crowded();
  const { crossings } = await walk(world, freshRun(world, portsOver(world), { machine: scene.holder }));
  let violations = 0;
  for (const { known, world: before } of someOf(crossings)) {
    for (const startedEarlier of [0, 500, 1_000, 2_000]) {
      const other = before.fork();
      Object.assign(other.parts.ec2.knobs, { staleUpTo, staleness: 'oldest', bootTakes });
      const started = other.now();
      startMachine(other, scene.holder);
      other.advance(startedEarlier);
      await thaw({ ...known, deadline: other.now() + 60_000 }, other, slowOrders(other, transit));
      violations += destructionAfter(other, upSince(other, scene.holder, started)) + other.parts.ec2.violations.length;
    }
  }
  return violations;
};

it.each([
  ['reads are current', { staleUpTo: 0, bootTakes: 3_000 }],
  ['reads are stale by two seconds', { staleUpTo: 2_000, bootTakes: 5_000 }],
  ['reads are stale by ten seconds', { staleUpTo: 10_000, bootTakes: 15_000 }],
  ['calls take three seconds to arrive', { transit: 3_000, bootTakes: 6_000 }],
  [
    'reads are stale by two seconds, and calls take three to arrive',
    { staleUpTo: 2_000, transit: 3_000, bootTakes: 8_000 },
  ],
])('no invariant is violated while S + 2 s + transit < B: %s', async (_, parameters) => {
  expect(await violationsOfStarting(parameters)).toBe(0);
});

it.each([
  ['boots faster than reads become current', { staleUpTo: 20_000, bootTakes: 500 }],
  ['boots faster than calls arrive', { transit: 8_000, bootTakes: 3_000 }],
])('the assumption is needed: without it, a machine that %s can violate an invariant', async (_, parameters) => {
  expect(await violationsOfStarting(parameters)).toBeGreaterThan(0);
});
