import { describe, expect, it } from 'vitest';
import { outcomeJson } from '../../fencing/model/outcome.ts';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { FENCED_LABEL, QUARANTINE, RECORD_ANNOTATION, SEAL_LABEL, TAINT_LABEL } from '../../kubernetes/names.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { getObject, listObjects } from '../../sandbox/cluster/get-objects.ts';
import { fence, incidents, release } from './ends.ts';
import { comingBack, stage, startMachine, stopMachine, stopped, UNTIL_STOPPED_MS, type Incident } from './incidents.ts';
import { portsOver } from './ports.ts';
import { stateOf } from './state.ts';
import { diedAfterMark } from './walk.ts';

/**
 * Shadow mode begins no fence, but it removes what an earlier fence left, because our taint must not stay on a machine
 * that runs. One request asks for a dry run, which writes nothing at all, even in shadow mode.
 */

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const shadow: Partial<Policy> = { shadow: true };
const dryRun: Partial<Policy> = { dryRun: true };

const nodeOf = ({ world, scene }: Incident) => getObject(world, 'nodes', scene.nodeOf(scene.holder));
const taintsOf = (incident: Incident): readonly string[] =>
  (nodeOf(incident)?.spec.taints ?? []).map(({ key }) => key).filter((key) => !key.includes('unreachable'));
const eventsIn = ({ world }: Incident) => listObjects(world, 'events').map(({ reason }) => reason);

const sweepOnce = async ({ world }: Incident, policy: Partial<Policy>) => {
  let runs = 0;
  const runOptions = {
    policy: { ...defaultPolicy, ...policy },
    deadline: world.now() + 60_000,
    newRunId: () => `sweep-${world.now()}-${(runs += 1)}`,
  };
  return (await sweep(runOptions, portsOver(world))).outcomes;
};

const sweepFor = async (incident: Incident, ms: number, policy: Partial<Policy>): Promise<void> => {
  for (const until = incident.world.now() + ms; incident.world.now() < until; incident.world.advance(20_000))
    await sweepOnce(incident, policy);
};

const runsAgain = async (): Promise<Incident> => {
  const incident = await diedAfterMark();
  startMachine(incident.world, incident.scene.holder);
  incident.world.advance(15_000);
  return incident;
};

/** A machine that is off and has a pod without a volume. */
const databaseless = (): Incident => {
  const { world, scene } = stage(1);
  addBarePod(world, {
    name: 'bare',
    spec: { nodeSelector: { 'kubernetes.io/hostname': scene.nodeOf(scene.spare) }, volumes: [] },
  });
  settle(world);
  stopMachine(world, scene.spare);
  world.advance(UNTIL_STOPPED_MS);
  return { world, scene: { ...scene, holder: scene.spare } };
};

const entryPoints: readonly (readonly [string, (incident: Incident, policy: Partial<Policy>) => Promise<unknown>])[] = [
  ['an event', (incident, policy) => fence(incident, { policy, lasts: 10_000 })],
  ['a sweep', sweepOnce],
];

describe('our taint on a machine that runs again', () => {
  it.each(entryPoints)('is lifted in shadow mode by %s', async (_, look) => {
    const incident = await runsAgain();
    await look(incident, shadow);
    expect(taintsOf(incident)).toEqual([QUARANTINE.key]);
  });

  it.each([
    ['a dry run', dryRun],
    ['a dry run in shadow mode', { ...shadow, ...dryRun }],
  ])('is not touched by %s', async (_, policy) => {
    const incident = await runsAgain();
    const before = structuredClone(incident.world.parts.cluster.objects);
    expect(await fence(incident, { policy })).toMatchObject({ outcome: 'would-release', dryRun: true });
    await sweepOnce(incident, policy);
    expect(stateOf(incident.world).nodes).toEqual(stateOf((await runsAgain()).world).nodes);
    expect(nodeOf(incident)?.metadata.annotations).toEqual(
      before.nodes[`/${incident.scene.nodeOf(incident.scene.holder)}`]?.metadata.annotations,
    );
  });

  it('is lifted during a pause, too', async () => {
    const incident = await runsAgain();
    await fence(incident, { policy: { ...shadow, paused: 'upgrade' } });
    expect(taintsOf(incident)).toEqual([QUARANTINE.key]);
  });
});

describe('a machine that has come back in shadow mode', () => {
  it('is released completely, and people are informed', async () => {
    const incident = await runsAgain();
    await sweepFor(incident, 200_000, shadow);
    expect(taintsOf(incident)).toEqual([]);
    expect(nodeOf(incident)?.metadata.labels?.[FENCED_LABEL]).toBeUndefined();
    expect(eventsIn(incident)).toContain('NodeReleased');
  });

  it('is released even if its record has a time in the future', async () => {
    const incident = await comingBack(async (one) => void (await fence(one)))();
    const node = nodeOf(incident);
    if (!node) throw new Error('no Node');
    writerAs(incident.world, 'kubelet').change('nodes', node, ({ metadata: { annotations } }) => {
      const record = annotations?.[RECORD_ANNOTATION] ?? '';
      Object.assign(annotations ?? {}, {
        [RECORD_ANNOTATION]: record.replace(/("released":")[^"]+/, '$12999-01-01T00:00:00.000Z'),
      });
    });
    expect(nodeOf(incident)?.metadata.annotations?.[RECORD_ANNOTATION]).toContain('"released":"2999');
    await sweepFor(incident, 200_000, shadow);
    expect(taintsOf(incident)).toEqual([]);
  });

  it('is released in the outcome, too, and not only imagined', async () => {
    const incident = await comingBack(async (one) => void (await fence(one)))();
    expect(outcomeJson(await fence(incident, { policy: shadow }))).toMatchObject({
      outcome: 'released',
      dryRun: false,
      steps: [{ step: 'release-node', result: 'done' }],
    });
  });

  it('is released if a person confirms it, with the taint on it', async () => {
    const incident = await runsAgain();
    expect(await release(incident, 'I looked', shadow)).toMatchObject({ outcome: 'released' });
    expect(taintsOf(incident)).toEqual([]);
  });
});

describe('a machine that is still off in shadow mode', () => {
  it('loses our taint once everything is free, and nothing else is done', async () => {
    const incident = await diedAfterMark();
    expect(await fence(incident, { policy: shadow })).toMatchObject({ outcome: 'would-fence' });
    expect(taintsOf(incident)).toEqual([OUT_OF_SERVICE, QUARANTINE.key]);
    incident.world.advance(400_000); // Kubernetes acts on the taint by itself
    await sweepOnce(incident, shadow);
    expect(taintsOf(incident)).toEqual([QUARANTINE.key]);
  });

  it('loses our taint then, even if the policy is to delete the Node', async () => {
    const incident = await diedAfterMark();
    incident.world.advance(400_000);
    await sweepOnce(incident, { ...shadow, deleteNode: 'always' });
    expect(taintsOf(incident)).toEqual([QUARANTINE.key]);
  });

  it('loses our taint then, even if a finalizer keeps a pod', async () => {
    const { world, scene } = await diedAfterMark();
    addBarePod(world, { name: 'held', spec: { nodeName: scene.nodeOf(scene.holder), volumes: [] } });
    const held = getObject(world, 'pods', 'held', 'default');
    if (!held) throw new Error('no pod');
    writerAs(world, 'person').change('pods', held, (draft) => (draft.metadata.finalizers = ['somebody.example/else']));
    world.advance(400_000);
    await sweepOnce({ world, scene }, shadow);
    expect(taintsOf({ world, scene })).toEqual([QUARANTINE.key]);
    expect(getObject(world, 'pods', 'held', 'default')).toBeDefined();
  });

  it.each(incidents.filter(([, , end]) => end !== 'released'))('%s, is left as it is', async (_, happened) => {
    const incident = await happened();
    const before = stateOf(incident.world);
    const outcome = await fence(incident, { policy: shadow });
    expect(outcome.steps.every(({ result }) => result === 'dry-run')).toBe(true);
    expect(outcome.outcome).toBe('would-fence');
    expect(stateOf(incident.world).nodes).toEqual(before.nodes);
    expect(eventsIn(incident).filter((reason) => /Fenc|Released/.test(reason ?? ''))).toEqual([]);
    expect(getObject(incident.world, 'configmaps', 'cloudfence-ledger', 'kube-system')?.data ?? {}).toEqual({});
  });

  it('is refused without an Event, because nothing was done', async () => {
    const incident = stopped();
    expect(await fence(incident, { policy: { ...shadow, paused: 'upgrade' } })).toMatchObject({ outcome: 'refused' });
    expect(eventsIn(incident)).not.toContain('FencingRefused');
  });

  it('is not marked again in a later boot', async () => {
    const incident = await runsAgain();
    const { world, scene } = incident;
    await fence(incident, { policy: shadow, lasts: 1_000 });
    stopMachine(world, scene.holder);
    world.advance(UNTIL_STOPPED_MS);
    const outcome = await fence(incident, { policy: shadow });
    expect(outcomeJson(outcome)).toMatchObject({ outcome: 'would-fence', dryRun: true });
    expect(taintsOf(incident)).toEqual([QUARANTINE.key]);
  });
});

it.each([
  ['the label next to our taint', (labels: Record<string, string>) => delete labels[FENCED_LABEL]],
  ['the label of the fence', (labels: Record<string, string>) => delete labels[TAINT_LABEL]],
  [
    'a tombstone of an earlier boot',
    (labels: Record<string, string>) => {
      labels[FENCED_LABEL] = `${labels[FENCED_LABEL] ?? ''}_removed_0123456789`;
      delete labels[TAINT_LABEL];
    },
  ],
])('a dry run also ends if only %s is left', async (_, leaves) => {
  const incident = await runsAgain();
  const node = nodeOf(incident);
  if (!node) throw new Error('no Node');
  writerAs(incident.world, 'person').change('nodes', node, (draft) => {
    draft.spec.taints = [];
    draft.metadata.annotations = {};
    leaves(draft.metadata.labels ?? {});
    delete draft.metadata.labels?.[SEAL_LABEL];
  });
  incident.world.advance(60_000);
  expect((await fence(incident, { policy: dryRun })).steps.length).toBeLessThan(2);
  await fence(incident, { policy: shadow });
  expect(Object.keys(nodeOf(incident)?.metadata.labels ?? {}).filter((key) => key.includes('cloudfence'))).toEqual([]);
});

it('what follows from an imagined step is imagined, including the end of a fence that never began', async () => {
  const { world, scene } = databaseless();
  const before = stateOf(world);
  const outcome = await fence({ world, scene }, { policy: shadow });
  expect(outcome.steps.map(({ step, result }) => `${step} ${result}`)).toEqual([
    'mark dry-run',
    'delete-pod dry-run',
    'park dry-run',
  ]);
  expect(stateOf(world)).toEqual(before);
});

it('nothing is imagined for a machine that was never fenced and runs', async () => {
  const incident = stopped();
  startMachine(incident.world, incident.scene.holder);
  incident.world.advance(60_000);
  const outcome = await fence(incident, { policy: shadow });
  expect(outcomeJson(outcome)).toMatchObject({ outcome: 'ignored', dryRun: true, steps: [] });
});
