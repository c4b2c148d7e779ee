import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { Unavailable } from '../../fencing/model/errors.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import { runAll } from '../../fencing/loop/run.ts';
import { sweep, type SweepOutcome } from '../../fencing/sweep/sweep.ts';
import { FENCED_LABEL } from '../../kubernetes/names.ts';
import { createAwsSandbox, EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { addVolume, shutdownTakes } from '../../sandbox/ec2/scenario.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { addMachine, databaseOnTwoNodes } from '../../sandbox/scenes/ec2-database.ts';
import { AFTERMATH_MS } from './ends.ts';
import { nodeGone, startMachine, stopMachine, stopped, type Incident } from './incidents.ts';
import { clusterOver, portsOver } from './ports.ts';
import { stateOf } from './state.ts';
import { diedAfterMark } from './walk.ts';

/** No event ever arrives. Only the sweep finds what has to be done. */

const FIVE_MINUTES = 300_000;

const sweepOf = (world: AwsWorld, ports: Ports = portsOver(world), lasts = FIVE_MINUTES): Promise<SweepOutcome> => {
  let runs = 0;
  return sweep(
    { policy: defaultPolicy, deadline: world.now() + lasts, newRunId: () => `sweep-${world.now()}-${(runs += 1)}` },
    ports,
  );
};

/** A cloud that reads each machine in its own call. A sweep then looks at few machines at the same time. */
const apart = (world: AwsWorld): Ports => {
  const { cloud, ...ports } = portsOver(world);
  const { sharedLookScope: _, ...others } = cloud;
  return { ...ports, cloud: others };
};

/** Nothing is detached, and no cap refuses: fences begin, and none ends. */
const uncapped = (world: AwsWorld, lasts: number, ids?: () => string): Promise<SweepOutcome> => {
  let runs = 0;
  const policy = { ...defaultPolicy, cap: { share: 1, atOnce: 1 }, detach: 'never' as const };
  const newRunId = ids ?? (() => `sweep-${world.now()}-${(runs += 1)}`);
  return sweep({ policy, deadline: world.now() + lasts, newRunId }, apart(world));
};

const nodeLine = ({ world, scene }: Incident): string =>
  stateOf(world).nodes.find((line) => line.startsWith(scene.nodeOf(scene.holder))) ?? 'no node';

/** `stopped` ends five seconds after the machine went off. */
const offFor = (ms: number): Incident => {
  const incident = stopped();
  incident.world.advance(ms - 5_000);
  return incident;
};

const fencedBySweep = async (): Promise<Incident> => {
  const incident = offFor(70_000);
  await sweepOf(incident.world);
  incident.world.advance(AFTERMATH_MS);
  return incident;
};

it('our taint on a machine that runs again is lifted, although someone removed the label of the fence', async () => {
  const { world, scene } = await diedAfterMark();
  const node = getObject(world, 'nodes', scene.nodeOf(scene.holder));
  if (node)
    writerAs(world, 'person').change('nodes', node, (draft) => void delete draft.metadata.labels?.[FENCED_LABEL]);
  startMachine(world, scene.holder);
  world.advance(40_000);
  const { outcomes } = await sweepOf(world);
  expect(outcomes).toMatchObject([
    {
      machine: scene.holder,
      steps: expect.arrayContaining([expect.objectContaining({ step: 'lift-out-of-service', result: 'done' })]),
    },
  ]);
  expect(nodeLine({ world, scene })).not.toContain('out-of-service');
});

describe('a machine that is off', () => {
  it('is fenced although all its events were lost, once its kubelet has been silent for 70 s', async () => {
    const incident = offFor(70_000);
    const { world, scene } = incident;
    expect(stateOf(world).disks).toContain(`${scene.volume} at ${scene.holder} attached`);
    await sweepOf(world);
    world.advance(AFTERMATH_MS);
    expect(stateOf(world).disks).toContain(`${scene.volume} at ${scene.spare} attached`);
    expect(nodeLine(incident)).toMatch(/ \[cloudfence.dev\/quarantine] fenced labelled$/);
    expect(stateOf(world).violations).toEqual([]);
  });

  it('is left to its event while its kubelet has been silent for a short time only', async () => {
    const incident = offFor(40_000);
    expect((await sweepOf(incident.world)).outcomes).toEqual([]);
    expect(nodeLine(incident)).toMatch(/ \[]$/);
  });

  it('is not reported again once its node is parked', async () => {
    const { world } = await fencedBySweep();
    const before = stateOf(world);
    expect((await sweepOf(world)).outcomes).toEqual([]);
    expect(stateOf(world)).toEqual(before);
  });

  it('is freed of what its deleted Node has left behind', async () => {
    const { world, scene } = nodeGone();
    expect(stateOf(world).attachments).toEqual([expect.stringContaining(`to ${scene.nodeOf(scene.holder)} attached`)]);
    await sweepOf(world);
    world.advance(AFTERMATH_MS);
    const { attachments, disks, violations } = stateOf(world);
    expect(attachments).toEqual([expect.stringContaining(`to ${scene.nodeOf(scene.spare)} attached`)]);
    expect(disks).toContain(`${scene.volume} at ${scene.spare} attached`);
    expect(violations).toEqual([]);
  });
});

/**
 * Machines with one disk each, and a spare one first. The last one goes off after something has happened to the others.
 */
const crowdedOut = (count: number, others: (world: AwsWorld, machines: readonly string[]) => void) => {
  const world = createAwsSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const machines = Array.from({ length: count }, () => addMachine(world));
  const disks = machines.map(() => addVolume(world));
  addStatefulSet(world, {
    name: 'db',
    disks: disks.map((handle) => ({ driver: EBS, handle, zone: volumeIn(world, handle)?.zone ?? '' })),
  });
  settle(world);
  const [last = ''] = machines.slice(-1);
  others(world, machines.slice(1, -1));
  stopMachine(world, last);
  world.advance(100_000);
  return {
    world,
    last,
    disk: disks.find((handle) => volumeIn(world, handle)?.attachments[0]?.instance === last) ?? '',
  };
};

describe('a machine that is off, among many that only look dead', () => {
  it('is freed although those before it in the sweep hang in their shutdown', async () => {
    let stuck: readonly string[] = [];
    const { world, last, disk } = crowdedOut(8, (world, machines) => {
      stuck = machines;
      world.parts.cluster.knobs.shutdownKillsKubelet = 'early';
      for (const machine of machines) {
        shutdownTakes(world, machine, null);
        stopMachine(world, machine);
      }
    });
    const { outcomes } = await sweepOf(world);
    expect(
      outcomes
        .filter(({ outcome }) => outcome === 'waiting')
        .map(({ machine }) => machine)
        .toSorted(),
    ).toEqual([...stuck].toSorted());
    expect(outcomes).toContainEqual(expect.objectContaining({ machine: last, outcome: 'fenced' }));
    expect(volumeIn(world, disk)?.attachments).toEqual([]);
    expect(stateOf(world).violations).toEqual([]);
  });

  it('comes before all that run if there is not enough time for every one', async () => {
    const { world, last } = crowdedOut(24, (world, machines) => {
      world.parts.cluster.knobs.partitioned = machines.map(
        (machine) => instanceIn(world, machine)?.privateDnsName ?? '',
      );
    });
    await sweepOf(world, apart(world), 1_500);
    expect(stateOf(world).nodes).toContainEqual(
      expect.stringMatching(`^${instanceIn(world, last)?.privateDnsName} \\[.*cloudfence.dev/quarantine`),
    );
  });
});

it('a machine that has just died does not wait behind twelve fences that cannot end', async () => {
  const { world, last } = crowdedOut(14, (world) => (world.parts.cluster.knobs.attacherDown = true));
  const others = Object.keys(world.parts.ec2.instances)
    .filter((id) => id !== last)
    .slice(1);
  startMachine(world, last);
  for (const machine of others) stopMachine(world, machine);
  world.advance(100_000);
  await uncapped(world, 600_000);
  expect(stateOf(world).nodes.filter((line) => line.includes(' fencing '))).toHaveLength(12);
  stopMachine(world, last);
  world.advance(100_000);
  const { outcomes } = await uncapped(world, 45_000);
  expect(outcomes[0], 'the first in the sweep').toMatchObject({ machine: last });
  expect(outcomes).toHaveLength(13);
});

it('our taint on a machine that runs comes before all machines that have just died', async () => {
  const { world, last } = crowdedOut(24, (world) => (world.parts.cluster.knobs.attacherDown = true));
  const tainted = instanceIn(world, last)?.privateDnsName ?? '';
  const taints = () => (getObject(world, 'nodes', tainted)?.spec.taints ?? []).map(({ key }) => key);
  await uncapped(world, 60_000);
  expect(taints()).toContain('node.kubernetes.io/out-of-service');
  world.parts.cluster.knobs.partitioned = [tainted];
  startMachine(world, last);
  const others = Object.keys(world.parts.ec2.instances).filter((id) => id !== last);
  for (const machine of others.slice(1)) stopMachine(world, machine);
  world.advance(100_000);
  const { outcomes } = await uncapped(world, 1_500);
  expect(outcomes[0], 'the first in the sweep').toMatchObject({ machine: last });
  expect(taints()).toContain('cloudfence.dev/quarantine');
  expect(taints()).not.toContain('node.kubernetes.io/out-of-service');
});

it('fences that cannot end take turns: none comes first in every sweep', async () => {
  const { world } = crowdedOut(14, (world) => (world.parts.cluster.knobs.attacherDown = true));
  for (const machine of Object.keys(world.parts.ec2.instances).slice(1)) stopMachine(world, machine);
  world.advance(100_000);
  await uncapped(world, 600_000);
  let runs = 0;
  const newRunId = () =>
    createHash('sha256')
      .update(`${(runs += 1)}`)
      .digest('hex');
  const leads = new Set<string>();
  for (let sweeps = 0; sweeps < 12; sweeps += 1) {
    const { outcomes } = await uncapped(world, 1_500, newRunId);
    leads.add(outcomes[0]?.machine ?? 'none');
  }
  expect(leads.size).toBeGreaterThan(4);
});

it('a Lease that is renewed between look and mark stops the mark, even if the look read many machines', async () => {
  const { world, scene } = stopped();
  stopMachine(world, scene.spare);
  world.advance(25_000);
  const lease = () =>
    Object.values(world.parts.cluster.objects.leases).find(
      ({ metadata }) => metadata.name === scene.nodeOf(scene.holder),
    );
  const ports = portsOver(world);
  let renewed = false;
  const observe: Ports['observe'] = (command, _, { request, cluster }) => {
    const standing = lease();
    if (
      renewed ||
      !['locate', 'look'].includes(command.do) ||
      request.machine !== scene.holder ||
      !cluster ||
      !standing
    )
      return;
    renewed = true;
    standing.spec = { ...standing.spec, renewTime: new Date(world.now()).toISOString().replace('Z', '000Z') };
  };
  let runs = 0;
  const runOptions = {
    policy: { ...defaultPolicy, cap: { share: 1, atOnce: 1 } },
    deadline: world.now() + 60_000,
    newRunId: () => `batch-${(runs += 1)}`,
  };
  const outcomes = await runAll([scene.holder, scene.spare], runOptions, { ...ports, observe });
  expect(outcomes.find(({ machine }) => machine === scene.holder)).toMatchObject({
    outcome: 'refused',
    reason: { code: 'lease-renewed-after-off' },
    provenAt: expect.any(Number),
    steps: [],
  });
});

it('a fenced node whose machine has come back is released, in as many sweeps as needed', async () => {
  const incident = await fencedBySweep();
  const { world, scene } = incident;
  startMachine(world, scene.holder);
  world.advance(90_000);
  await sweepOf(world);
  expect(nodeLine(incident)).toBe(`${scene.nodeOf(scene.holder)} []`);
  world.advance(AFTERMATH_MS);
  expect(stateOf(world).disks).toContain(`${scene.volume} at ${scene.spare} attached`);
});

it('a node that is out of reach while its machine runs is only reported', async () => {
  const world = createAwsSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const scene = databaseOnTwoNodes(world);
  const node = scene.nodeOf(scene.holder);
  world.parts.cluster.knobs.partitioned = [node];
  world.advance(120_000);
  const before = stateOf(world);
  const { outcomes } = await sweepOf(world);
  expect(outcomes).toMatchObject([
    { outcome: 'refused', machine: scene.holder, node, reason: { code: 'unreachable-but-running' } },
  ]);
  expect(stateOf(world)).toEqual(before);
  const events = listObjects(world, 'events').filter(
    ({ reportingController, regarding }) => reportingController === 'cloudfence.dev' && regarding?.name === node,
  );
  expect(events).toMatchObject([{ type: 'Warning', note: expect.stringContaining(scene.holder) }]);
});

describe('of two clusters', () => {
  const withOther = (world: AwsWorld, other: Partial<Cluster>): Ports => {
    const ports = portsOver(world);
    return { ...ports, clusters: [{ ...clusterOver(world), name: 'other', ...other }, ...ports.clusters] };
  };

  it('the one that does not answer is named, and the other is swept', async () => {
    const { world, scene } = offFor(70_000);
    const unavailable = async (): Promise<never> => {
      throw new Unavailable('connect ECONNREFUSED');
    };
    const { unreachable } = await sweepOf(world, withOther(world, { suspects: unavailable, find: unavailable }));
    expect(unreachable).toMatchObject([{ cluster: 'other', error: { message: 'connect ECONNREFUSED' } }]);
    world.advance(AFTERMATH_MS);
    expect(stateOf(world).disks).toContain(`${scene.volume} at ${scene.spare} attached`);
  });

  it('neither is touched if both have a Node of one machine', async () => {
    const { world } = offFor(70_000);
    const before = stateOf(world);
    const { outcomes } = await sweepOf(world, withOther(world, {}));
    expect(outcomes).toMatchObject([{ outcome: 'refused', reason: { code: 'identity-ambiguous' } }]);
    expect(stateOf(world)).toEqual(before);
  });
});

it('a paused cluster is not touched', async () => {
  const { world, scene } = offFor(70_000);
  const pause = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'kube-system', name: 'cloudfence' },
    data: { pause: 'maintenance' },
  };
  writerAs(world, 'admin').create('configmaps', pause);
  const before = stateOf(world);
  const { outcomes } = await sweepOf(world);
  expect(outcomes).toMatchObject([{ outcome: 'refused', machine: scene.holder, reason: { code: 'paused' } }]);
  expect(stateOf(world)).toEqual(before);
});
