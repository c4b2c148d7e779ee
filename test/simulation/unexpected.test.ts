import { describe, expect, it } from 'vitest';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import { runAll } from '../../fencing/loop/run.ts';
import { sweep, type SweepOutcome } from '../../fencing/sweep/sweep.ts';
import { createAwsSandbox, EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { volumeIn } from '../../sandbox/ec2/state.ts';
import { addMachine } from '../../sandbox/scenes/ec2-database.ts';
import { stopMachine } from './incidents.ts';
import { clusterOver, portsOver } from './ports.ts';
import { stateOf } from './state.ts';

/** An unexpected error ends the run of one machine, and nothing else. */

const bug = (): never => {
  throw new TypeError("Cannot read properties of undefined (reading 'spec')\n    at somewhere");
};

/** Three machines with one disk each. Two of them are off, and one of those two is the unlucky one. */
const twoDead = () => {
  const world = createAwsSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const [, unlucky, other] = [addMachine(world), addMachine(world), addMachine(world)];
  const disks = [addVolume(world), addVolume(world), addVolume(world)];
  addStatefulSet(world, {
    name: 'db',
    disks: disks.map((handle) => ({ driver: EBS, handle, zone: volumeIn(world, handle)?.zone ?? '' })),
  });
  settle(world);
  for (const machine of [unlucky, other]) stopMachine(world, machine);
  world.advance(100_000);
  return { world, unlucky, other };
};

const runOptions = (world: AwsWorld) => {
  let runs = 0;
  return {
    policy: { ...defaultPolicy, cap: { share: 1, atOnce: 1 } },
    deadline: world.now() + 300_000,
    newRunId: () => `run-${(runs += 1)}`,
  };
};

const sweepOf = (world: AwsWorld, ports: Ports): Promise<SweepOutcome> => sweep(runOptions(world), ports);

const withCluster = (world: AwsWorld, change: (inner: Cluster) => Partial<Cluster>): Ports => {
  const inner = clusterOver(world);
  return { ...portsOver(world), clusters: [{ ...inner, ...change(inner) }] };
};

/** A look at the Node of the unlucky machine fails, or one write does. */
const troubles: readonly (readonly [string, (world: AwsWorld, unlucky: string) => Ports])[] = [
  [
    'a look at its Node',
    (world, unlucky) =>
      withCluster(world, ({ look }) => ({
        look: (request, signal) => (request.query.machine === unlucky ? bug() : look(request, signal)),
      })),
  ],
  [
    'a look at its machine',
    (world, unlucky) => {
      const ports = portsOver(world);
      return {
        ...ports,
        cloud: {
          ...ports.cloud,
          look: async (machines, ...rest) => (machines.includes(unlucky) ? bug() : ports.cloud.look(machines, ...rest)),
        },
      };
    },
  ],
  [
    'the mark on its Node',
    (world, unlucky) =>
      withCluster(world, ({ apply }) => ({
        apply: async (step, ...rest) =>
          step.do === 'mark' && step.record.machine === unlucky ? bug() : apply(step, ...rest),
      })),
  ],
  [
    'an observer of its run',
    (world, unlucky) => ({
      ...portsOver(world),
      observe: (_, __, known) => (known.request.machine === unlucky ? bug() : undefined),
    }),
  ],
];

const failed = (machine: string) => ({
  machine,
  outcome: 'failed',
  retry: true,
  reason: {
    code: 'unexpected',
    says: expect.stringMatching(
      /^Cloudfence failed unexpectedly: TypeError: Cannot read properties of undefined \(reading 'spec'\)$/,
    ),
  },
});

describe('an unexpected error', () => {
  it.each(troubles)(
    'in %s ends the run of that machine with one sentence, and the sweep continues',
    async (_, portsFor) => {
      const { world, unlucky, other } = twoDead();
      const { outcomes, unreachable } = await sweepOf(world, portsFor(world, unlucky));
      expect(outcomes).toContainEqual(expect.objectContaining(failed(unlucky)));
      expect(outcomes).toContainEqual(expect.objectContaining({ machine: other, outcome: 'fenced' }));
      expect([unreachable, stateOf(world).violations]).toEqual([[], []]);
    },
  );

  it.each(troubles)('in %s ends only that run in a batch of events, too', async (_, portsFor) => {
    const { world, unlucky, other } = twoDead();
    const outcomes = await runAll([unlucky, other], runOptions(world), portsFor(world, unlucky));
    expect(outcomes).toMatchObject([failed(unlucky), { machine: other, outcome: 'fenced' }]);
  });

  it('in a list of one cluster makes that cluster unreachable, and the other is swept', async () => {
    const { world } = twoDead();
    const ports = portsOver(world);
    const broken = { ...clusterOver(world), name: 'broken', suspects: async () => bug(), find: async () => bug() };
    const { outcomes, unreachable } = await sweepOf(world, { ...ports, clusters: [broken, ...ports.clusters] });
    expect(unreachable).toMatchObject([
      { cluster: 'broken', error: { name: 'Unexpected', message: expect.stringContaining('TypeError') } },
    ]);
    expect(outcomes.map(({ outcome }) => outcome)).toContain('fenced');
  });

  it('in the identity of one Node refuses that Node, and the others of the cluster are swept', async () => {
    const { world, unlucky, other } = twoDead();
    const ports = withCluster(world, (inner) => ({
      suspects: async (...asked) =>
        (await inner.suspects(...asked)).map((suspect) =>
          suspect.identitySources.some(({ value }) => value.endsWith(unlucky))
            ? { ...suspect, identitySources: [] }
            : suspect,
        ),
      identify: async () => bug(),
    }));
    const { outcomes, unreachable } = await sweepOf(world, ports);
    expect(unreachable).toEqual([]);
    expect(outcomes).toContainEqual(
      expect.objectContaining({ outcome: 'failed', reason: expect.objectContaining({ code: 'unexpected' }) }),
    );
    expect(outcomes).toContainEqual(expect.objectContaining({ machine: other, outcome: 'fenced' }));
  });
});
