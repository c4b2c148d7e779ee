import { describe, expect, it } from 'vitest';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { RECORD_ANNOTATION, TAINT_LABEL } from '../../kubernetes/names.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { forget, stopOutOfBand } from '../../sandbox/ec2/scenario.ts';
import { fence, release } from './ends.ts';
import { stage, stopped, terminated, type Incident } from './incidents.ts';
import { portsOver } from './ports.ts';
import { stateOf } from './state.ts';
import { diedMarking, driverRegisters, livingPod, takeOver } from './taken-over.ts';

const nodeOf = ({ world, scene }: Incident) => getObject(world, 'nodes', scene.nodeOf(scene.holder));
const taintsOf = (incident: Incident): readonly string[] => (nodeOf(incident)?.spec.taints ?? []).map(({ key }) => key);
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const QUARANTINE = 'cloudfence.dev/quarantine';

const sweepOnce = async ({ world }: Incident, policy: Partial<Policy> = {}) => {
  let runs = 0;
  const { outcomes } = await sweep(
    {
      policy: { ...defaultPolicy, ...policy },
      deadline: world.now() + 60_000,
      newRunId: () => `sweep-${world.now()}-${(runs += 1)}`,
    },
    portsOver(world),
  );
  return outcomes.map(({ outcome, reason, steps }) => ({
    said: `${outcome} ${reason.code}`,
    says: reason.says,
    steps: steps.map(({ step }) => step),
  }));
};

const sweepFor = async (incident: Incident, ms: number, policy: Partial<Policy> = {}) => {
  const said = [];
  for (const until = incident.world.now() + ms; incident.world.now() < until; incident.world.advance(20_000))
    said.push(...(await sweepOnce(incident, policy)));
  return said;
};

describe('a new machine on the Node of an old one, for which the cloud gives no time', () => {
  it.each([0, 3_000, 8_000])(
    'keeps its pods if a late event names a machine that EC2 itself stopped (+%i ms)',
    async (later) => {
      const incident = stage(1);
      stopOutOfBand(incident.world, incident.scene.holder, 'Server.InternalError');
      incident.world.advance(60_000);
      takeOver(incident);
      incident.world.advance(120_000);
      const pod = livingPod(incident);
      incident.world.advance(later);
      expect(await fence(incident, { runId: 'late-event', lasts: 60_000 })).toMatchObject({
        outcome: 'refused',
        reason: { code: 'lease-renewed-after-off' },
        steps: [],
      });
      expect([pod(), taintsOf(incident), stateOf(incident.world).violations]).toEqual(['Running', [], []]);
    },
  );
});

it('a new machine on the Node of a stopped one keeps its pods after a release by hand, even if cut off', async () => {
  const incident = stopped();
  await fence(incident);
  takeOver(incident);
  const { world, scene } = incident;
  world.advance(120_000);
  const pod = livingPod(incident);
  expect(await sweepOnce(incident)).toMatchObject([{ said: 'refused identity-contradicted' }]);
  expect(await release(incident, 'checked both')).toMatchObject({ outcome: 'released' });
  world.advance(600_000);
  world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));
  world.advance(100_000);
  const said = await sweepFor(incident, 120_000);
  expect(said.flatMap(({ steps }) => steps)).toEqual([]);
  expect([pod(), taintsOf(incident).includes(QUARANTINE)]).toEqual(['Running', false]);
});

describe('a new machine on the Node of a terminated one', () => {
  it.each([0, 3_000, 8_000])('keeps its pods if an event about the old one comes late (+%i ms)', async (later) => {
    const incident = terminated();
    incident.world.advance(10_000);
    takeOver(incident);
    incident.world.advance(45_000);
    const pod = livingPod(incident);
    incident.world.advance(later);
    expect(pod()).toBe('Running');
    expect(await fence(incident, { runId: 'late-event', lasts: 60_000 })).toMatchObject({
      outcome: 'refused',
      reason: { code: 'lease-renewed-after-off' },
      steps: [],
    });
    expect([pod(), taintsOf(incident), stateOf(incident.world).violations]).toEqual(['Running', [], []]);
  });

  it('keeps its pods under a mark that a killed run left, and loses the taint', async () => {
    const incident = await diedMarking(terminated());
    takeOver(incident);
    incident.world.advance(30_000);
    const pod = livingPod(incident);
    const said = await sweepFor(incident, 120_000);
    expect(said[0]).toMatchObject({ said: 'refused identity-contradicted', steps: ['lift-out-of-service'] });
    expect(said.slice(1).flatMap(({ steps }) => steps)).toEqual([]);
    expect([pod(), taintsOf(incident), stateOf(incident.world).violations]).toEqual(['Running', [QUARANTINE], []]);
  });

  it.each([
    ['', []],
    [', even if someone removed the label next to it', [TAINT_LABEL]],
  ])('loses the taint of the old one’s fence, whatever its driver has registered%s', async (_, labels) => {
    const incident = await diedMarking(terminated());
    const heir = takeOver(incident);
    incident.world.advance(30_000);
    driverRegisters(incident, heir);
    const node = nodeOf(incident);
    if (node)
      writerAs(incident.world, 'person').change('nodes', node, ({ metadata }) =>
        labels.forEach((label) => delete metadata.labels?.[label]),
      );
    expect(taintsOf(incident)).toContain(OUT_OF_SERVICE);
    await sweepOnce(incident);
    expect(taintsOf(incident)).toEqual([QUARANTINE]);
  });

  it('is not fenced instead of the old one, and the outcome names the command that ends its quarantine', async () => {
    const incident = terminated();
    await fence(incident, { policy: { deleteNode: 'never' } });
    const before = nodeOf(incident)?.metadata.annotations?.[RECORD_ANNOTATION];
    takeOver(incident);
    incident.world.advance(60_000);
    const said = await sweepFor(incident, 300_000, { deleteNode: 'never' });
    expect(new Set(said.map((one) => one.said))).toEqual(new Set(['refused identity-contradicted']));
    expect(said[0]?.says).toContain(
      `cloudfence release ${incident.scene.nodeOf(incident.scene.holder)} --accept "<what you checked>"`,
    );
    expect(nodeOf(incident)?.metadata.annotations?.[RECORD_ANNOTATION]).toBe(before);
  });

  /** The kubelet of the new machine is cut off from the API server for so long that its Lease is stale. */
  const cutOff = ({ world, scene }: Incident, ms: number): void => {
    world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));
    world.advance(ms);
  };

  it.each([0, 25_000, 100_000])(
    'keeps its pods if it is cut off half an hour after the termination (+%i ms)',
    async (ms) => {
      const incident = terminated();
      takeOver(incident);
      incident.world.advance(1_800_000);
      const pod = livingPod(incident);
      cutOff(incident, ms);
      const before = pod();
      const outcome = await fence(incident, { runId: 'late-event', lasts: 60_000 });
      expect(outcome).toMatchObject({ outcome: 'refused', reason: { code: 'identity-contradicted' }, steps: [] });
      expect(outcome.reason.says).toContain('delete the Node');
      expect([pod(), stateOf(incident.world).violations]).toEqual([before, []]);
      expect(taintsOf(incident)).not.toContain(QUARANTINE);
    },
  );

  const fencedBefore = async (): Promise<Incident> => {
    const incident = terminated();
    await fence(incident, { policy: { deleteNode: 'never' } });
    takeOver(incident);
    incident.world.advance(120_000);
    return incident;
  };

  it('keeps its pods once a person has released the fence of the old one, even if it is cut off', async () => {
    const incident = await fencedBefore();
    const { world } = incident;
    const pod = livingPod(incident);
    expect(await release(incident, 'checked both')).toMatchObject({ outcome: 'released' });
    world.advance(600_000);
    cutOff(incident, 100_000);
    const said = await sweepFor(incident, 120_000, { deleteNode: 'never' });
    expect(said.flatMap(({ steps }) => steps)).toEqual([]);
    expect(pod()).toBe('Running');
    expect(taintsOf(incident)).not.toContain(QUARANTINE);
  });

  it('keeps its pods if the cloud has forgotten the old one, even if it is cut off', async () => {
    const incident = await fencedBefore();
    const pod = livingPod(incident);
    forget(incident.world, incident.scene.holder);
    cutOff(incident, 100_000);
    const said = await sweepFor(incident, 120_000, { deleteNode: 'never' });
    expect(new Set(said.map((one) => one.said))).toEqual(new Set(['refused missing-without-witness']));
    expect(pod()).toBe('Running');
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
  });
});
