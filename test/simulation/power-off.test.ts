import { describe, expect, it } from 'vitest';
import type { Ports } from '../../fencing/loop/ports.ts';
import { run } from '../../fencing/loop/run.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { Unavailable } from '../../fencing/model/errors.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { CSI_NODE_IDS } from '../../kubernetes/names.ts';
import { createAwsSandbox, EBS } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { NodeObject } from '../../sandbox/cluster/objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { change } from '../../sandbox/ec2/instances.ts';
import { shutdownTakes } from '../../sandbox/ec2/scenario.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { addMachine, databaseOnTwoNodes } from '../../sandbox/scenes/ec2-database.ts';
import { AFTERMATH_MS, fence } from './ends.ts';
import { stopMachine, type Incident } from './incidents.ts';
import { clusterOver, freshRun, portsOver } from './ports.ts';
import { stateOf } from './state.ts';

/** A machine that runs while its Node is out of reach is not off. The policy decides what happens. */

const MINUTE = 60_000;

const cutOff = (minutes: number): Incident => {
  const world = createAwsSandbox({ seed: 5, now: Date.UTC(2026, 0, 1) });
  const scene = databaseOnTwoNodes(world);
  addMachine(world);
  settle(world);
  world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));
  world.advance(minutes * 60_000);
  return { world, scene };
};

it('a machine out of reach is only reported by default', async () => {
  const incident = cutOff(10);
  expect(await fence(incident)).toMatchObject({
    outcome: 'refused',
    reason: { code: 'unreachable-but-running' },
    steps: [],
  });
  expect(stateOf(incident.world).disks).toContain(`${incident.scene.volume} at ${incident.scene.holder} attached`);
});

it('a machine out of reach is powered off, proven off, and then fenced, if the policy is power-off', async () => {
  const incident = cutOff(10);
  const { world, scene } = incident;
  const outcome = await fence(incident, { policy: { unreachable: 'power-off' } });
  expect(outcome.steps.map(({ step }) => step)).toEqual(['power-off', 'mark', 'delete-pod', 'park']);
  world.advance(AFTERMATH_MS);
  expect(instanceIn(world, scene.holder)?.state).toBe('stopped');
  expect(stateOf(world)).toMatchObject({
    disks: expect.arrayContaining([expect.stringContaining(`${scene.volume} at i-`)]),
    violations: [],
  });
  expect(stateOf(world).disks).not.toContain(`${scene.volume} at ${scene.holder} attached`);
});

/** Out of reach for ten minutes, and stopping for eleven. */
const hungAndCutOff = (minutes = 10): Incident => {
  const incident = cutOff(0);
  const { world, scene } = incident;
  const partitioned = world.parts.cluster.knobs.partitioned.splice(0);
  shutdownTakes(world, scene.holder, null);
  stopMachine(world, scene.holder);
  world.advance((11 - minutes) * MINUTE);
  world.parts.cluster.knobs.partitioned.push(...partitioned);
  world.advance(minutes * MINUTE);
  return incident;
};

const nodeOfHolder = ({ world, scene }: Incident): NodeObject =>
  getObject(world, 'nodes', scene.nodeOf(scene.holder)) ?? expect.fail('no Node');
const labelled = (incident: Incident, key: string, value: string): void =>
  void writerAs(incident.world, 'admin').change('nodes', nodeOfHolder(incident), ({ metadata }) => {
    metadata.labels = { ...metadata.labels, [key]: value };
  });

/** Another Node without a providerID. Only its annotations name a machine. */
const addUninitialized = ({ world }: Incident, annotations: Record<string, string>): void => {
  const name = instanceIn(world, addMachine(world))?.privateDnsName ?? '';
  world.advance(MINUTE);
  const node = getObject(world, 'nodes', name) ?? expect.fail('no other Node');
  writerAs(world, 'admin').change('nodes', node, ({ metadata, spec }) => {
    spec.providerID = '';
    spec.taints = [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }];
    metadata.annotations = annotations;
  });
};

describe.each([
  ['that runs', cutOff],
  ['a machine that hangs in stopping', hungAndCutOff],
])('a machine %s, if the policy is power-off', (_, happens) => {
  const forbids: readonly (readonly [string, (incident: Incident) => void, number])[] = [
    ['of the control plane', (incident) => labelled(incident, 'node-role.kubernetes.io/control-plane', ''), 10],
    ['out of reach for less than five minutes', () => undefined, 3],
    ['alone in its zone', (incident) => labelled(incident, 'topology.kubernetes.io/zone', 'a-zone-of-its-own'), 10],
    [
      'that another Node names, which is Ready',
      ({ world, scene }) => {
        const other = instanceIn(world, addMachine(world))?.privateDnsName ?? '';
        world.advance(MINUTE);
        const node = getObject(world, 'nodes', other) ?? expect.fail('no other Node');
        writerAs(world, 'admin').change('nodes', node, ({ spec }) => {
          spec.providerID = `aws:///a/${scene.holder}`;
        });
      },
      10,
    ],
    [
      'that may have registered under another name, whose Node nothing has initialized yet',
      (incident) => addUninitialized(incident, {}),
      10,
    ],
    [
      'while another one is out of reach',
      ({ world, scene }) => {
        world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.spare));
        world.advance(2 * MINUTE);
      },
      10,
    ],
    [
      'whose kubelet has renewed its Lease',
      (incident) => {
        const { world, scene } = incident;
        const lease = getObject(world, 'leases', scene.nodeOf(scene.holder), 'kube-node-lease');
        if (lease)
          writerAs(world, 'kubelet').change('leases', lease, ({ spec }) => {
            spec.renewTime = new Date(world.now()).toISOString().replace('Z', '000Z');
          });
      },
      10,
    ],
  ];
  it.each(forbids)('is not powered off: %s', async (__, forbid, minutes) => {
    const incident = happens(minutes);
    forbid(incident);
    const { world, scene } = incident;
    const before = instanceIn(world, scene.holder);
    const outcome = await fence(incident, { policy: { unreachable: 'power-off' }, lasts: 20_000 });
    expect(outcome).toMatchObject({ outcome: 'refused', reason: { code: 'power-off-refused' }, steps: [] });
    expect(instanceIn(world, scene.holder)).toEqual(before);
  });

  it('is powered off although a Node is not initialized yet, if that Node names another machine', async () => {
    const incident = happens(10);
    addUninitialized(incident, { [CSI_NODE_IDS]: JSON.stringify({ [EBS]: 'i-0123456789abcdef0' }) });
    const outcome = await fence(incident, { policy: { unreachable: 'power-off' } });
    expect(outcome.steps[0]).toMatchObject({ step: 'power-off', result: 'done' });
  });

  it('is powered off if nothing forbids it', async () => {
    const outcome = await fence(happens(10), { policy: { unreachable: 'power-off' } });
    expect(outcome.steps[0]).toMatchObject({ step: 'power-off', result: 'done' });
  });
});

describe('a machine among several clusters', () => {
  const named = (name: string, cluster: Cluster): Cluster => ({ ...cluster, name });
  const policy = { ...defaultPolicy, unreachable: 'power-off' } as const;
  /** In cluster `two`, the machine has a Node that is Ready. Its Node in cluster `one` is out of reach. */
  const twice = () => ({ ...cutOff(10), elsewhere: clusterOver(cutOff(0).world) });
  const down = (cluster: Cluster): Cluster => ({
    ...cluster,
    find: () => Promise.reject(new Unavailable('no route to host')),
    look: () => Promise.reject(new Unavailable('no route to host')),
    suspects: () => Promise.reject(new Unavailable('no route to host')),
    surveyConnectivity: () => Promise.reject(new Unavailable('no route to host')),
  });
  type Twice = ReturnType<typeof twice>;
  const portsTo = ({ world }: Twice, other: Cluster) => ({
    ...portsOver(world),
    clusters: [named('one', clusterOver(world)), named('two', other)],
  });
  const bySweep = async ({ world }: Twice, ports: Ports) => {
    const { outcomes } = await sweep({ policy, deadline: world.now() + 60_000, newRunId: () => 'sweep' }, ports);
    return outcomes;
  };
  const byEvent = async ({ world, scene }: Twice, ports: Ports) => [
    await run(freshRun(world, ports, { machine: scene.holder, policy, lasts: 20_000 }), ports),
  ];
  const byTaggedEvent = async (incident: Twice, ports: Ports) => {
    const { world, scene } = incident;
    const instance = instanceIn(world, scene.holder);
    if (instance) change(world, instance, { tags: { 'kubernetes.io/cluster/one': 'owned' } });
    return byEvent(incident, ports);
  };
  const ways = [
    ['the sweep', bySweep, 'power-off-refused'],
    ['an event', byEvent, 'identity-ambiguous'],
    ['an event about a machine whose tag names one of them', byTaggedEvent, 'power-off-refused'],
  ] as const;

  it.each(ways)('is not powered off while a Node of another cluster names it: by %s', async (_, by, code) => {
    const incident = twice();
    const outcomes = await by(incident, portsTo(incident, incident.elsewhere));
    expect(outcomes).toMatchObject([{ outcome: 'refused', reason: { code }, steps: [] }]);
    expect(instanceIn(incident.world, incident.scene.holder)?.state).toBe('running');
  });

  it.each(ways)('is not powered off while another cluster does not answer: by %s', async (_, by) => {
    const incident = twice();
    const outcomes = await by(incident, portsTo(incident, down(incident.elsewhere)));
    expect(outcomes).toMatchObject([
      { outcome: 'refused', reason: { code: 'power-off-refused', says: expect.stringContaining('two (no route') } },
    ]);
    expect(instanceIn(incident.world, incident.scene.holder)?.state).toBe('running');
  });

  it.each(ways)('is powered off if no other cluster names it: by %s', async (_, by) => {
    const incident = twice();
    const empty = clusterOver(createAwsSandbox({ seed: 9, now: Date.UTC(2026, 0, 1) }));
    const outcomes = await by(incident, portsTo(incident, empty));
    expect(outcomes.flatMap(({ steps }) => steps)[0]).toMatchObject({ step: 'power-off', result: 'done' });
  });
});

it('a machine that hangs in stopping for more than ten minutes is powered off if the policy is power-off', async () => {
  const incident = cutOff(0);
  const { world, scene } = incident;
  shutdownTakes(world, scene.holder, null);
  stopMachine(world, scene.holder);
  world.advance(11 * 60_000);
  expect(await fence(incident, { lasts: 10_000 })).toMatchObject({
    outcome: 'waiting',
    reason: { code: 'stopping-too-long' },
  });
  const outcome = await fence(incident, { policy: { unreachable: 'power-off' } });
  expect(outcome).toMatchObject({ outcome: 'fenced' });
  expect(outcome.steps[0]).toMatchObject({ step: 'power-off', result: 'done' });
});
