import { describe, expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { FENCED_LABEL, QUARANTINE, RECORD_ANNOTATION, TAINT_LABEL } from '../../kubernetes/names.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import type { NodeObject } from '../../sandbox/cluster/objects.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { fence, release } from './ends.ts';
import { stage, startMachine, stopMachine, stopped, UNTIL_STOPPED_MS, type Incident } from './incidents.ts';
import { portsOver } from './ports.ts';
import { stateOf } from './state.ts';
import { diedAfterMark } from './walk.ts';

/**
 * Someone removes a part of what Cloudfence has put on a Node, or a kubelet writes something that looks like a part of
 * it.
 */

const nodeOf = ({ world, scene }: Incident) => getObject(world, 'nodes', scene.nodeOf(scene.holder));
const taintsOf = (incident: Incident): readonly string[] => (nodeOf(incident)?.spec.taints ?? []).map(({ key }) => key);
const labelOf = (incident: Incident): string | undefined => nodeOf(incident)?.metadata.labels?.[FENCED_LABEL];
const recordOf = (incident: Incident): string | undefined =>
  nodeOf(incident)?.metadata.annotations?.[RECORD_ANNOTATION];
const nothingIsLeft = (incident: Incident): void =>
  expect([taintsOf(incident), labelOf(incident), recordOf(incident), stateOf(incident.world).violations]).toEqual([
    [],
    undefined,
    undefined,
    [],
  ]);

const byHand = (incident: Incident, change: (node: NodeObject) => unknown): void => {
  const node = nodeOf(incident);
  if (node) writerAs(incident.world, 'person').change('nodes', node, (draft) => void change(draft));
};
const withoutLabel = ({ metadata }: NodeObject) => delete metadata.labels?.[FENCED_LABEL];
const withoutRecord = ({ metadata }: NodeObject) => delete metadata.annotations?.[RECORD_ANNOTATION];
const withoutAllButRecord = ({ metadata, spec }: NodeObject): void => {
  delete metadata.labels?.[FENCED_LABEL];
  delete metadata.labels?.[TAINT_LABEL];
  spec.taints = [];
};
const writes = (text: string) => (node: NodeObject) =>
  (node.metadata.annotations = { ...node.metadata.annotations, [RECORD_ANNOTATION]: text });

const sweepFor = async (incident: Incident, ms: number): Promise<readonly string[]> => {
  const { world } = incident;
  const said = [];
  let runs = 0;
  for (const until = world.now() + ms; world.now() < until; world.advance(20_000)) {
    const newRunId = () => `sweep-${world.now()}-${(runs += 1)}`;
    const runOptions = { policy: defaultPolicy, deadline: world.now() + 60_000, newRunId };
    const { outcomes } = await sweep(runOptions, portsOver(world));
    said.push(...outcomes.map(({ outcome, reason }) => `${outcome} ${reason.code}: ${reason.says}`));
  }
  return said;
};

const returns = async (incident: Incident): Promise<readonly string[]> => {
  startMachine(incident.world, incident.scene.holder);
  return sweepFor(incident, 300_000);
};

const stopsAgain = async (incident: Incident): Promise<string> => {
  incident.world.advance(600_000);
  stopMachine(incident.world, incident.scene.holder);
  incident.world.advance(UNTIL_STOPPED_MS);
  return (await fence(incident, { runId: 'second-stop' })).outcome;
};

const parked = async (): Promise<Incident> => {
  const incident = stopped();
  await fence(incident);
  expect(taintsOf(incident)).toContain(QUARANTINE.key);
  return incident;
};

describe('without the label that names the fence', () => {
  it('a parked Node gets the label back, and is released after the machine’s return', async () => {
    const incident = await parked();
    byHand(incident, withoutLabel);
    await sweepFor(incident, 120_000);
    expect(labelOf(incident)).toBe('run.1');
    await returns(incident);
    nothingIsLeft(incident);
  });

  it('a parked Node is released after the return of its machine, even if no run looked in between', async () => {
    const incident = await parked();
    byHand(incident, withoutLabel);
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(90_000);
    expect(await fence(incident, { runId: 'event' })).toMatchObject({ outcome: 'released' });
    nothingIsLeft(incident);
  });

  it('a fence whose mark is set continues to its end', async () => {
    const incident = await diedAfterMark();
    byHand(incident, withoutLabel);
    expect(await fence(incident, { runId: 'event' })).toMatchObject({ outcome: 'fenced' });
    expect([taintsOf(incident).filter((key) => !key.startsWith('node.')), labelOf(incident)]).toEqual([
      [QUARANTINE.key],
      'run.1',
    ]);
    await returns(incident);
    nothingIsLeft(incident);
  });

  it('the next stop of the machine is fenced', async () => {
    const incident = await parked();
    byHand(incident, withoutLabel);
    startMachine(incident.world, incident.scene.holder);
    expect(await stopsAgain(incident)).toBe('fenced');
    await returns(incident);
    nothingIsLeft(incident);
  });
});

describe('without the label and the quarantine', () => {
  it('the fence counts as released by hand, and our taint is removed when the machine returns', async () => {
    const incident = await diedAfterMark();
    byHand(incident, (node) => {
      withoutLabel(node);
      node.spec.taints = (node.spec.taints ?? []).filter(({ key }) => key !== QUARANTINE.key);
    });
    expect(await fence(incident, { runId: 'event' })).toMatchObject({
      outcome: 'refused',
      reason: { code: 'taint-removed-by-hand' },
      steps: [{ step: 'set-tombstone' }],
    });
    await returns(incident);
    nothingIsLeft(incident);
  });
});

describe('without the record', () => {
  it('a parked Node is parked again while its machine is off, and released after its return', async () => {
    const incident = await parked();
    byHand(incident, withoutRecord);
    await sweepFor(incident, 60_000);
    expect(recordOf(incident)).toBeDefined();
    await returns(incident);
    nothingIsLeft(incident);
  });

  it('the outcome for a parked Node whose machine has returned names the command that releases it', async () => {
    const incident = await parked();
    byHand(incident, withoutRecord);
    const said = await returns(incident);
    const command = `cloudfence release ${incident.scene.nodeOf(incident.scene.holder)} --accept "<what you checked>"`;
    expect(said.at(-1)).toMatch(/^refused record-lost/);
    expect(said.at(-1)).toContain(command);
    expect((await release(incident, null)).reason.says).toContain(command);
    expect(await release(incident, 'it has booted')).toMatchObject({ outcome: 'released' });
    nothingIsLeft(incident);
  });

  it('the next stop of the machine is fenced', async () => {
    const incident = await parked();
    byHand(incident, withoutRecord);
    startMachine(incident.world, incident.scene.holder);
    expect(await stopsAgain(incident)).toBe('fenced');
    await returns(incident);
    nothingIsLeft(incident);
  });

  it('and without the label: each sweep reports the quarantine that is left while the kubelet runs', async () => {
    const incident = await parked();
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(90_000);
    byHand(incident, (node) => withoutRecord(node) && withoutLabel(node));
    expect(await sweepFor(incident, 20_000)).toEqual([expect.stringMatching(/^refused record-lost/)]);
    expect(taintsOf(incident)).toEqual([QUARANTINE.key]);
  });

  it('and without the label: a person can release the quarantine that is left', async () => {
    const incident = await parked();
    byHand(incident, (node) => withoutRecord(node) && withoutLabel(node));
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(90_000);
    expect(await release(incident, 'it has booted')).toMatchObject({ outcome: 'released' });
    nothingIsLeft(incident);
  });
});

describe('if only the record is left', () => {
  it('the Node is not fenced in that boot, and the outcome says what a person can do', async () => {
    const incident = await diedAfterMark();
    byHand(incident, withoutAllButRecord);
    const outcome = await fence(incident, { runId: 'event' });
    expect(outcome).toMatchObject({ outcome: 'refused', reason: { code: 'record-not-ours' }, steps: [] });
    expect(outcome.reason.says).toContain(`kubectl annotate node ${incident.scene.nodeOf(incident.scene.holder)}`);
    byHand(incident, withoutRecord);
    expect(await fence(incident, { runId: 'next-event' })).toMatchObject({ outcome: 'fenced' });
  });

  it('a person can end that for the boot', async () => {
    const incident = await diedAfterMark();
    byHand(incident, withoutAllButRecord);
    expect(await release(incident, 'it stays off')).toMatchObject({ outcome: 'released' });
    expect([taintsOf(incident), recordOf(incident)]).toEqual([[], undefined]);
    expect(await fence(incident, { runId: 'event' })).toMatchObject({
      outcome: 'refused',
      reason: { code: 'fence-removed-by-hand' },
    });
    await returns(incident);
    nothingIsLeft(incident);
  });

  it('the next stop of the machine is fenced', async () => {
    const incident = await diedAfterMark();
    byHand(incident, withoutAllButRecord);
    await returns(incident);
    expect(await fence(incident, { runId: 'event' })).toMatchObject({
      outcome: 'ignored',
      reason: { code: 'machine-running' },
    });
    expect(await stopsAgain(incident)).toBe('fenced');
    await returns(incident);
    nothingIsLeft(incident);
  });

  it('a kubelet that writes an unreadable record does not prevent the fence of its machine', async () => {
    const incident = stage(1);
    byHand(incident, writes('x'));
    expect(await stopsAgain(incident)).toBe('fenced');
    await returns(incident);
    nothingIsLeft(incident);
  });
});
