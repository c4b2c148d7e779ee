import { describe, expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { FENCED_LABEL, RECORD_ANNOTATION, SEAL_LABEL, TAINT_LABEL } from '../../kubernetes/names.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import type { NodeObject } from '../../sandbox/cluster/objects.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { fence } from './ends.ts';
import { startMachine, stopped, type Incident } from './incidents.ts';
import { portsOver } from './ports.ts';
import { stateOf } from './state.ts';
import { diedAfterMark } from './walk.ts';

/**
 * People and the cloud controller of Azure also put Nodes out of service. Cloudfence never touches or claims their
 * taint, and its own fence continues.
 */

const KEY = 'node.kubernetes.io/out-of-service';
const SWEEPS_EVERY_MS = 20_000;
const effects = ['NoSchedule', 'NoExecute'] as const;

const nodeOf = ({ world, scene }: Incident): NodeObject | undefined =>
  getObject(world, 'nodes', scene.nodeOf(scene.holder));

const byHand = (incident: Incident, change: (node: NodeObject) => unknown): void => {
  const node = nodeOf(incident);
  if (node) writerAs(incident.world, 'person').change('nodes', node, (draft) => void change(draft));
};

const putOutOfService = (incident: Incident, effect: (typeof effects)[number]): void =>
  byHand(incident, ({ spec }) => (spec.taints = [...(spec.taints ?? []), { key: KEY, value: 'nodeshutdown', effect }]));

/** A person runs `kubectl taint --overwrite` with the value from the documentation of Kubernetes. */
const overwrite = (incident: Incident): void =>
  byHand(incident, ({ spec }) => {
    for (const taint of spec.taints ?? []) if (taint.key === KEY) taint.value = 'nodeshutdown';
  });

const takenBack = (incident: Incident): void =>
  byHand(incident, ({ metadata, spec }) => {
    delete metadata.labels?.[FENCED_LABEL];
    delete metadata.annotations?.[RECORD_ANNOTATION];
    spec.taints = (spec.taints ?? []).filter(({ key }) => key !== KEY && !key.startsWith('cloudfence'));
  });

const bindByName = ({ world, scene }: Incident): void =>
  void addBarePod(world, { name: 'late', spec: { nodeName: scene.nodeOf(scene.holder) } });

const sweepFor = async ({ world }: Incident, ms: number) => {
  const outcomes = [];
  let runs = 0;
  for (const until = world.now() + ms; world.now() < until; world.advance(SWEEPS_EVERY_MS)) {
    const newRunId = () => `sweep-${world.now()}-${(runs += 1)}`;
    const swept = await sweep({ policy: defaultPolicy, deadline: world.now() + 60_000, newRunId }, portsOver(world));
    outcomes.push(...swept.outcomes);
  }
  return outcomes;
};

const isWell = (taint: { readonly key: string }): boolean => !taint.key.startsWith('node.kubernetes.io/unreachable');

const taintsOf = (incident: Incident): readonly string[] =>
  (nodeOf(incident)?.spec.taints ?? []).filter(isWell).map(({ key, value, effect }) => `${key}=${value}:${effect}`);

const QUARANTINE = 'cloudfence.dev/quarantine=fenced:NoSchedule';
const ourLabels = (incident: Incident): readonly string[] =>
  Object.keys(nodeOf(incident)?.metadata.labels ?? {}).filter((key) => key.startsWith('cloudfence'));

describe.each(effects)('a taint of someone else (%s)', (effect) => {
  const THEIRS = `${KEY}=nodeshutdown:${effect}`;

  const parkedAndTainted = async (): Promise<Incident> => {
    const incident = stopped();
    await fence(incident);
    putOutOfService(incident, effect);
    bindByName(incident);
    return incident;
  };

  it('that was added to a parked Node stays when work comes back, and the fence continues', async () => {
    const incident = await parkedAndTainted();
    expect(await fence(incident, { runId: 'event' })).toMatchObject({
      outcome: 'fenced',
      steps: [{ step: 'mark' }, { step: 'delete-pod' }, { step: 'park' }],
    });
    expect(getObject(incident.world, 'pods', 'late', 'default')).toBeUndefined();
    expect(taintsOf(incident)).toEqual([QUARANTINE, THEIRS]);
    expect(ourLabels(incident)).toEqual([FENCED_LABEL, SEAL_LABEL]);
  });

  it('that was added to a parked Node stays if only sweeps look, stays after the return, and is reported', async () => {
    const incident = await parkedAndTainted();
    await sweepFor(incident, 120_000);
    expect(taintsOf(incident)).toEqual([QUARANTINE, THEIRS]);
    startMachine(incident.world, incident.scene.holder);
    const outcomes = await sweepFor(incident, 200_000);
    expect(outcomes.at(-1)).toMatchObject({
      outcome: 'released',
      reason: { says: expect.stringContaining(`kubectl taint node ${nodeOf(incident)?.metadata.name} ${KEY}-`) },
    });
    expect(taintsOf(incident)).toEqual([THEIRS]);
    expect(ourLabels(incident)).toEqual([]);
    expect(stateOf(incident.world).violations).toEqual([]);
  });
});

it('someone else’s taint that was added next to ours during a fence stays when ours is removed', async () => {
  const incident = await diedAfterMark();
  putOutOfService(incident, 'NoExecute');
  expect(await fence(incident, { runId: 'event' })).toMatchObject({ outcome: 'fenced' });
  expect(taintsOf(incident)).toEqual([QUARANTINE, `${KEY}=nodeshutdown:NoExecute`]);
  expect(ourLabels(incident)).toEqual([FENCED_LABEL, SEAL_LABEL]);
});

describe('a taint with which a person replaced ours', () => {
  const replaced = async (): Promise<Incident> => {
    const incident = await diedAfterMark();
    overwrite(incident);
    return incident;
  };

  it('belongs to that person, and the fence continues with it', async () => {
    const incident = await replaced();
    expect(await fence(incident, { runId: 'event' })).toMatchObject({ outcome: 'fenced' });
    expect(taintsOf(incident)).toEqual([`${KEY}=nodeshutdown:NoSchedule`, QUARANTINE]);
    expect(ourLabels(incident)).toEqual([FENCED_LABEL, SEAL_LABEL]);
  });

  it('stays when the machine returns, and the fence is released', async () => {
    const incident = await replaced();
    startMachine(incident.world, incident.scene.holder);
    await sweepFor(incident, 200_000);
    expect(taintsOf(incident)).toEqual([`${KEY}=nodeshutdown:NoSchedule`]);
    expect(ourLabels(incident)).toEqual([]);
    expect(stateOf(incident.world).violations).toEqual([]);
  });
});

describe('the label of our taint that a person left behind', () => {
  const left = async (): Promise<Incident> => {
    const incident = await diedAfterMark();
    takenBack(incident);
    expect(ourLabels(incident)).toEqual([SEAL_LABEL, TAINT_LABEL]);
    return incident;
  };

  it('is removed once the machine has booted again, and claims no taint until then', async () => {
    const incident = await left();
    putOutOfService(incident, 'NoSchedule');
    startMachine(incident.world, incident.scene.holder);
    await sweepFor(incident, 200_000);
    expect(taintsOf(incident)).toEqual([`${KEY}=nodeshutdown:NoSchedule`]);
    expect(ourLabels(incident)).toEqual([]);
  });

  it('shows while the machine is off what was removed, whoever then puts the Node out of service', async () => {
    const incident = await left();
    putOutOfService(incident, 'NoExecute');
    expect(await fence(incident, { runId: 'event' })).toMatchObject({
      outcome: 'refused',
      reason: { code: 'fence-removed-by-hand' },
    });
    expect(taintsOf(incident)).toEqual([`${KEY}=nodeshutdown:NoExecute`]);
  });
});
