import { describe, expect, it } from 'vitest';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import { PermissionDenied, Unavailable, type CloudfenceError } from '../../fencing/model/errors.ts';
import { run } from '../../fencing/loop/run.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { CSI_NODE_IDS, FENCED_LABEL, RECORD_ANNOTATION, TAINT_LABEL } from '../../kubernetes/names.ts';
import { EBS } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import type { NodeObject } from '../../sandbox/cluster/objects.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { fence } from './ends.ts';
import { startMachine, stopMachine, stopped, type Incident } from './incidents.ts';
import { freshRun, portsOver, type Troubles } from './ports.ts';
import { stateOf } from './state.ts';
import { diedAfterMark } from './walk.ts';

/**
 * A proof covers one call, but Kubernetes continues to act on the mark. Nothing that Cloudfence leaves on a Node may
 * harm a machine that runs.
 */

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const SWEEPS_EVERY_MS = 20_000;

const taintsOf = ({ world, scene }: Incident): readonly string[] =>
  (getObject(world, 'nodes', scene.nodeOf(scene.holder))?.spec.taints ?? []).map(({ key }) => key);

const marked = async (): Promise<Incident> => {
  const incident = await diedAfterMark();
  expect(taintsOf(incident)).toContain(OUT_OF_SERVICE);
  return incident;
};

const sweepOnce = async ({ world }: Incident, policy: Partial<Policy> = {}, troubles: Troubles = {}) => {
  let runs = 0;
  const runOptions = {
    policy: { ...defaultPolicy, ...policy },
    deadline: world.now() + 60_000,
    newRunId: () => `sweep-${world.now()}-${(runs += 1)}`,
  };
  return sweep(runOptions, portsOver(world, troubles));
};

const sweepFor = async (incident: Incident, ms: number, policy: Partial<Policy> = {}): Promise<void> => {
  const until = incident.world.now() + ms;
  while (incident.world.now() < until) {
    await sweepOnce(incident, policy);
    incident.world.advance(SWEEPS_EVERY_MS);
  }
};

const cutOff = ({ world, scene }: Incident): void =>
  void world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));

/** A person with kubectl. */
const byHand = ({ world, scene }: Incident, change: (node: NodeObject) => unknown): void => {
  const node = getObject(world, 'nodes', scene.nodeOf(scene.holder));
  if (node) writerAs(world, 'person').change('nodes', node, (draft) => void change(draft));
};

/** Another Node that also names the machine. */
const addClaimant = (
  { world, scene }: Incident,
  taints: readonly { key: string; effect: 'NoSchedule' }[] = [],
): void => {
  const { nodes } = world.parts.cluster.objects;
  const own = nodes[`/${scene.nodeOf(scene.holder)}`];
  if (own)
    nodes['/another-name'] = {
      ...structuredClone(own),
      metadata: {
        name: 'another-name',
        uid: 'another',
        resourceVersion: '1',
        creationTimestamp: own.metadata.creationTimestamp,
        annotations: { [CSI_NODE_IDS]: own.metadata.annotations?.[CSI_NODE_IDS] ?? '' },
      },
      spec: { providerID: own.spec.providerID ?? '', taints: [...taints] },
    };
};

const unharmed = ({ world, scene }: Incident): void => {
  expect(instanceIn(world, scene.holder)).toMatchObject({ state: 'running', mounts: [scene.volume] });
  expect(stateOf(world)).toMatchObject({
    disks: expect.arrayContaining([`${scene.volume} at ${scene.holder} attached`]),
    violations: [],
  });
};

describe('a machine that came back under a mark that a killed run left', () => {
  it('keeps its disk when its kubelet is cut off, for as long as it runs', async () => {
    const incident = await marked();
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(15_000);
    await sweepOnce(incident);
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
    incident.world.advance(45_000);
    unharmed(incident);
    cutOff(incident);
    await sweepFor(incident, 500_000);
    unharmed(incident);
  });

  it('loses the taint even during a pause', async () => {
    const incident = await marked();
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(15_000);
    const { outcomes } = await sweepOnce(incident, { paused: 'maintenance' });
    expect(outcomes).toMatchObject([
      { outcome: 'refused', reason: { code: 'paused' }, steps: [{ step: 'lift-out-of-service' }] },
    ]);
    expect(taintsOf(incident)).toEqual(['cloudfence.dev/quarantine']);
  });

  it('loses the taint even if its cloud answers too slowly for any proof', async () => {
    const incident = await marked();
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(15_000);
    await sweepOnce(incident, {}, { ec2Takes: () => 2_200 });
    expect(taintsOf(incident)).toEqual(['cloudfence.dev/quarantine']);
  });

  it('loses the taint even if someone removed the record and the label that names the fence', async () => {
    const incident = await marked();
    byHand(incident, ({ metadata }) => {
      delete metadata.annotations?.[RECORD_ANNOTATION];
      delete metadata.labels?.[FENCED_LABEL];
    });
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(15_000);
    await fence(incident);
    expect(taintsOf(incident)).toEqual(['cloudfence.dev/quarantine']);
  });

  it.each([
    ['next to it', [TAINT_LABEL]],
    ['next to it, and the label that names the fence', [TAINT_LABEL, FENCED_LABEL]],
  ])('loses the taint even if someone removed the label %s', async (_, labels) => {
    const incident = await marked();
    byHand(incident, (node) => labels.forEach((label) => delete node.metadata.labels?.[label]));
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(15_000);
    expect((await fence(incident)).steps[0]).toMatchObject({ step: 'lift-out-of-service' });
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
  });

  it('loses the taint even if its kubelet writes another machine into the record and the driver', async () => {
    const incident = await marked();
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(15_000);
    byHand(incident, ({ metadata }) => {
      const record = metadata.annotations?.[RECORD_ANNOTATION] ?? '';
      metadata.annotations = {
        ...metadata.annotations,
        [RECORD_ANNOTATION]: record.replaceAll(incident.scene.holder, incident.scene.spare),
        [CSI_NODE_IDS]: JSON.stringify({ [EBS]: incident.scene.spare }),
      };
    });
    await sweepOnce(incident);
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
    incident.world.advance(45_000);
    cutOff(incident);
    await sweepFor(incident, 500_000);
    unharmed(incident);
  });

  it('loses the taint to the next sweep even if someone removed every label and its kubelet runs', async () => {
    const incident = await marked();
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(60_000);
    byHand(incident, (node) => [TAINT_LABEL, FENCED_LABEL].forEach((label) => delete node.metadata.labels?.[label]));
    const { outcomes } = await sweepOnce(incident);
    expect(outcomes).toMatchObject([{ machine: incident.scene.holder, steps: [{ step: 'lift-out-of-service' }] }]);
    expect(taintsOf(incident)).toEqual(['cloudfence.dev/quarantine']);
    cutOff(incident);
    incident.world.advance(600_000);
    unharmed(incident);
  });

  it('is released completely even if someone removed the label next to the taint', async () => {
    const incident = await marked();
    byHand(incident, (node) => delete node.metadata.labels?.[TAINT_LABEL]);
    startMachine(incident.world, incident.scene.holder);
    await sweepFor(incident, 200_000);
    expect(taintsOf(incident)).toEqual([]);
    unharmed(incident);
  });

  it('loses the taint even if another Node also names it', async () => {
    const incident = await marked();
    const { world, scene } = incident;
    const name = scene.nodeOf(scene.holder);
    addClaimant(incident);
    const lease = Object.values(world.parts.cluster.objects.leases).find(({ metadata }) => metadata.name === name);
    if (lease)
      world.parts.cluster.objects.leases['kube-node-lease/another-name'] = {
        ...structuredClone(lease),
        metadata: { ...lease.metadata, name: 'another-name', uid: 'another-lease' },
      };
    world.advance(70_000);
    startMachine(world, scene.holder);
    world.advance(15_000);
    expect((await sweepOnce(incident)).outcomes).toMatchObject([
      { outcome: 'refused', reason: { code: 'identity-ambiguous' }, steps: [{ step: 'lift-out-of-service' }] },
    ]);
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
  });

  it('loses the taint even if the other Node has someone else’s taint, which stays', async () => {
    const incident = await marked();
    const { world, scene } = incident;
    addClaimant(incident, [{ key: OUT_OF_SERVICE, effect: 'NoSchedule' }]);
    startMachine(world, scene.holder);
    world.advance(15_000);
    const ports = portsOver(world);
    const nameless = {
      ...ports.cloud,
      look: async (...asked: Parameters<typeof ports.cloud.look>) =>
        (await ports.cloud.look(...asked)).map((facts) => ({ ...facts, nodeNames: [] })),
    };
    const outcome = await run(freshRun(world, ports, { machine: scene.holder }), { ...ports, cloud: nameless });
    expect(outcome).toMatchObject({
      outcome: 'refused',
      reason: { code: 'identity-ambiguous' },
      steps: [{ step: 'lift-out-of-service' }],
    });
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
    expect(getObject(world, 'nodes', 'another-name')?.spec.taints).toMatchObject([{ key: OUT_OF_SERVICE }]);
  });

  it('is reported once its kubelet has been silent for five minutes', async () => {
    const incident = await marked();
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(60_000);
    await sweepOnce(incident);
    cutOff(incident);
    incident.world.advance(7 * 60_000);
    const { outcomes } = await sweepOnce(incident);
    expect(outcomes).toMatchObject([{ outcome: 'refused', reason: { code: 'unreachable-but-running' } }]);
    expect(instanceIn(incident.world, incident.scene.holder)?.state).toBe('running');
  });

  it('is powered off after five minutes out of reach, if that is the policy', async () => {
    const incident = await marked();
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(60_000);
    await sweepOnce(incident);
    cutOff(incident);
    incident.world.advance(4 * 60_000);
    const powersOff = { unreachable: 'power-off' } as const;
    expect(await sweepOnce(incident, powersOff)).toMatchObject({ outcomes: [{ steps: [] }] });
    incident.world.advance(3 * 60_000);
    const { outcomes } = await sweepOnce(incident, powersOff);
    expect(outcomes).toMatchObject([{ steps: [{ step: 'power-off', result: 'done' }] }]);
    expect(instanceIn(incident.world, incident.scene.holder)?.state).toBe('stopping');
  });

  it('is released once it has proven its fresh boot', async () => {
    const incident = await marked();
    startMachine(incident.world, incident.scene.holder);
    await sweepFor(incident, 200_000);
    expect(taintsOf(incident)).toEqual([]);
    unharmed(incident);
  });

  it('is fenced again when it goes off again', async () => {
    const incident = await marked();
    const { world, scene } = incident;
    startMachine(world, scene.holder);
    world.advance(15_000);
    await sweepOnce(incident);
    stopMachine(world, scene.holder);
    world.advance(30_000);
    expect(await fence(incident)).toMatchObject({ outcome: 'fenced' });
    expect(taintsOf(incident)).toContain('cloudfence.dev/quarantine');
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
    expect(stateOf(world).violations).toEqual([]);
  });
});

describe('a parked Node', () => {
  it('is freed by the next sweep of a pod that someone binds to it by name', async () => {
    const incident = stopped();
    const { world, scene } = incident;
    expect(await fence(incident)).toMatchObject({ outcome: 'fenced' });
    addBarePod(world, { name: 'late', spec: { nodeName: scene.nodeOf(scene.holder) } });
    const late = getObject(world, 'pods', 'late', 'default')?.metadata.uid;
    await sweepFor(incident, 100_000);
    expect(getObject(world, 'pods', 'late', 'default')?.metadata.uid).not.toBe(late);
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
  });

  it('gets its quarantine back if someone removed it while the machine ran, once that is off again', async () => {
    const incident = stopped();
    const { world, scene } = incident;
    await fence(incident);
    startMachine(world, scene.holder);
    world.advance(20_000);
    byHand(
      incident,
      ({ spec }) => (spec.taints = (spec.taints ?? []).filter(({ key }) => key !== 'cloudfence.dev/quarantine')),
    );
    stopMachine(world, scene.holder);
    world.advance(60_000);
    const outcome = await fence(incident, { runId: 'again' });
    expect(outcome).toMatchObject({
      outcome: 'fenced',
      steps: [{ step: 'mark', because: { says: expect.stringContaining('quarantine') } }],
    });
    expect(taintsOf(incident)).toContain('cloudfence.dev/quarantine');
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
    expect(await fence(incident, { runId: 'and-again' })).toMatchObject({ outcome: 'fenced', steps: [] });
    startMachine(world, scene.holder);
    await sweepFor(incident, 200_000);
    expect(taintsOf(incident)).toEqual([]);
  });

  it('is parked again if its machine restarted and stopped unseen, and deleted if that is terminated', async () => {
    const incident = stopped();
    const { world, scene } = incident;
    await fence(incident);
    startMachine(world, scene.holder);
    world.advance(20_000);
    const node = getObject(world, 'nodes', scene.nodeOf(scene.holder));
    if (node)
      writerAs(world, 'person').change(
        'nodes',
        node,
        (draft) => (draft.metadata.annotations = { ...draft.metadata.annotations, seen: 'yes' }),
      );
    stopMachine(world, scene.holder);
    world.advance(60_000);
    const ports = portsOver(world);
    expect(await run(freshRun(world, ports, { machine: scene.holder, runId: 'again' }), ports)).toMatchObject({
      outcome: 'fenced',
      steps: [{ step: 'park' }],
    });
    expect(stateOf(world).violations).toEqual([]);
  });
});

describe('a cloud that does not answer', () => {
  const unanswered = async ({ world }: Incident, error: CloudfenceError) => {
    const ports = portsOver(world);
    const cloud = { ...ports.cloud, look: () => Promise.reject(error) };
    return sweep(
      { policy: defaultPolicy, deadline: world.now() + 20_000, newRunId: () => `sweep-${world.now()}` },
      { ...ports, cloud },
    );
  };

  it.each([
    ['denied', new PermissionDenied('the role may not describe machines')],
    ['unavailable', new Unavailable('no response')],
  ])('does not keep our taint on a Node that has booted since (%s)', async (code, error) => {
    const incident = await marked();
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(60_000);
    const { outcomes } = await unanswered(incident, error);
    expect(outcomes).toMatchObject([
      { outcome: 'failed', reason: { code }, steps: [{ step: 'lift-out-of-service', result: 'done' }] },
    ]);
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
    expect(taintsOf(incident)).toHaveLength(1);
  });

  it('leaves our taint on a Node that still shows the boot that was fenced', async () => {
    const incident = await marked();
    const { outcomes } = await unanswered(incident, new PermissionDenied('the role may not describe machines'));
    expect(outcomes).toMatchObject([{ outcome: 'failed', steps: [] }]);
    expect(taintsOf(incident)).toContain(OUT_OF_SERVICE);
  });
});
