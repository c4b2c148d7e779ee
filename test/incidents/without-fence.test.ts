import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../fencing/model/errors.ts';
import { because } from '../../fencing/model/reason.ts';
import type { Outcome, StepReport } from '../../fencing/model/outcome.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { announcementsOf } from '../../incidents/announcement.ts';
import { isOnlyPowerOff, joined } from '../../incidents/join.ts';
import { keepIncident, storePowerOffWithoutFence } from '../../incidents/keep.ts';
import type { ObjectStore } from '../../incidents/store.ts';
import { incidentOfRun, emptyRunLog } from '../../incidents/of-run.ts';
import { type Aftermath, isWatched, withAftermath } from '../../incidents/watch.ts';
import { attachment, cluster, node, NOW, volume } from '../fencing/view-builder.ts';
import { stopped } from '../simulation/incidents.ts';
import { freshRun, portsOver } from '../simulation/ports.ts';
import { memoryKeeper } from './memory-keeper.ts';
import { record, sweepTrigger } from './recorded.ts';

const stepped = (step: StepReport['step'], target: string, at = NOW - 20_000): StepReport => ({
  step,
  target,
  because: because('stopping', 'the machine is stopping'),
  at,
  ms: 10,
  result: 'done',
  message: null,
});

/** What a run shows that took one step before the mark, and that now waits. Its Node has a volume. */
const waitingAfter = async (step: StepReport) => {
  const scene = stopped();
  const { outcome } = await record(scene, sweepTrigger, null, { policy: { paused: 'maintenance' } });
  const waiting: Outcome = {
    ...outcome,
    outcome: 'waiting',
    reason: because('delayed-by-policy', 'the policy waits for 300 s'),
    provenAt: NOW,
    steps: [step],
  };
  const start = freshRun(scene.world, portsOver(scene.world), { machine: scene.scene.holder });
  const found = cluster({ node: node(), volumes: [volume({ attachment: attachment() })] });
  return incidentOfRun(waiting, { ...emptyRunLog(start), found }, sweepTrigger, NOW);
};

const detached: Aftermath = {
  detached: true,
  attachedElsewhere: false,
  runningSince: null,
  returnedSince: null,
  fenced: false,
  nodeGone: false,
};

describe('a run that waits without a fence', () => {
  it('leaves no incident if it only noted when the stop began', async () => {
    expect(await waitingAfter(stepped('note-stopping', 'node/node-a'))).toBeNull();
  });

  it('has fenced nothing if Kubernetes detaches the volumes while the Node is there', async () => {
    const incident = await waitingAfter(stepped('power-off', 'machine/i-1'));
    if (!incident) throw new Error('a machine that was powered off leaves an incident');
    expect([incident.state, isWatched(incident)]).toEqual(['fencing', true]);
    const after = withAftermath(incident, detached, NOW + 60_000);
    expect(after).toMatchObject({
      state: 'fencing',
      phases: { attachmentsGone: expect.stringMatching(/T/), fenced: null },
    });
    expect(announcementsOf(incident, after)).toEqual([]);
  });

  it('has fenced the machine if they are detached and the Node is gone', async () => {
    const incident = await waitingAfter(stepped('delete-pod', 'pod/default/db-0'));
    if (!incident) throw new Error('a deleted pod leaves an incident');
    const after = withAftermath(incident, { ...detached, nodeGone: true }, NOW + 60_000);
    expect(after).toMatchObject({
      state: 'fenced',
      ends: [{ outcome: 'waiting' }, { outcome: 'fenced', run: 'watch' }],
    });
    expect(announcementsOf(incident, after).map(({ about }) => about)).toEqual(['fence']);
  });

  it('stays fenced if another run, which waits for the disks, ends after the look', async () => {
    const incident = await waitingAfter(stepped('delete-pod', 'pod/default/db-0'));
    const later = await waitingAfter(stepped('detach-disk', 'disk/vol-1'));
    if (!incident || !later) throw new Error('a deleted pod and a detached disk leave an incident');
    const after = withAftermath(incident, { ...detached, nodeGone: true }, NOW + 60_000);
    const ends = incident.ends.map((end) => ({
      ...end,
      because: because('disks-going', ''),
      at: new Date(NOW + 70_000).toISOString(),
      run: 'another',
    }));
    const both = joined(after, { ...later, ends });
    expect(both).toMatchObject({ state: 'fenced', ends: [{}, { run: 'watch' }, { run: 'another' }] });
    expect(withAftermath(both, { ...detached, nodeGone: true }, NOW + 80_000)).toBe(both);
  });
});

const POWERS_OFF = { unreachable: 'power-off' } as const;

describe('the note of a power-off', () => {
  const { signal } = new AbortController();
  const MINUTE = 60_000;

  const poweredOffAt = async (at: number) => {
    const incident = await waitingAfter(stepped('power-off', 'machine/i-1', at));
    if (!incident || !isOnlyPowerOff(incident)) throw new Error('a machine that was powered off leaves an incident');
    return incident;
  };

  /** A fence of the same machine that began at that time, as a run sees it that did not begin it. */
  const fencedSince = async (begun: number) => {
    const { incident } = await record(stopped(), sweepTrigger);
    if (!incident) throw new Error('a fence leaves an incident');
    const steps = incident.steps.filter(({ step }) => step !== 'mark');
    return { ...incident, steps, begun: new Date(begun).toISOString() };
  };

  const notesIn = (names: readonly string[]) => names.filter((name) => name.startsWith('notes/powered-off/'));

  /** The sweep looks at each note. */
  const sweptAt = async (now: number, { keeper, names }: ReturnType<typeof memoryKeeper>) => {
    for (const name of notesIn(names())) await storePowerOffWithoutFence({ name, written: null }, now, keeper, signal);
  };

  it.each([
    ['is not read for a fence if the policy powers no machine off', defaultPolicy, []],
    ['is read once for a fence if the policy may have powered its machine off', POWERS_OFF, ['i-']],
  ] as const)('%s', async (_, policy, reads) => {
    const memory = memoryKeeper();
    const read: string[] = [];
    const objects = {
      ...memory.keeper.objects,
      read: (...asked: Parameters<ObjectStore['read']>) => {
        read.push(asked[0]);
        return memory.keeper.objects.read(...asked);
      },
    };
    await keepIncident(await fencedSince(NOW), policy, { ...memory.keeper, objects }, signal);
    expect(notesIn(read)).toEqual(reads.map((machine) => expect.stringContaining(`/${machine}`)));
  });

  it('keeps both power-offs if two runs write it at the same time', async () => {
    const memory = memoryKeeper();
    const [one, other] = [await poweredOffAt(NOW), await poweredOffAt(NOW + 1_000)];
    await Promise.all([one, other].map((shown) => keepIncident(shown, POWERS_OFF, memory.keeper, signal)));
    await sweptAt(NOW + 16 * MINUTE, memory);
    expect(memory.incidents()).toMatchObject([{ steps: [{ step: 'power-off' }, { step: 'power-off' }] }]);
  });

  it('waits for a fence since the last power-off, not since the first', async () => {
    const memory = memoryKeeper();
    await keepIncident(await poweredOffAt(NOW), POWERS_OFF, memory.keeper, signal);
    await keepIncident(await poweredOffAt(NOW + 10 * MINUTE), POWERS_OFF, memory.keeper, signal);
    await sweptAt(NOW + 16 * MINUTE, memory);
    expect(memory.incidents()).toEqual([]);
    await sweptAt(NOW + 26 * MINUTE, memory);
    expect(memory.incidents()).toMatchObject([{ state: 'failed' }]);
    expect(notesIn(memory.names())).toEqual([]);
  });

  it('is taken by a later run of the fence if the run that began it died', async () => {
    const memory = memoryKeeper();
    await keepIncident(await poweredOffAt(NOW), POWERS_OFF, memory.keeper, signal);
    await keepIncident(await fencedSince(NOW + MINUTE), POWERS_OFF, memory.keeper, signal);
    expect(memory.incidents()[0]?.steps.map(({ step }) => step)).toContain('power-off');
    await sweptAt(NOW + 16 * MINUTE, memory);
    expect(memory.incidents()).toMatchObject([{ state: 'fenced' }]);
  });

  it('stays until the incident of the fence is written', async () => {
    const memory = memoryKeeper();
    await keepIncident(await poweredOffAt(NOW), POWERS_OFF, memory.keeper, signal);
    const fenced = await fencedSince(NOW + MINUTE);
    const write = () => Promise.reject(new Unavailable('s3:PutObject got no response'));
    const broken = { ...memory.keeper, objects: { ...memory.keeper.objects, write } };
    await expect(keepIncident(fenced, POWERS_OFF, broken, signal)).rejects.toBeInstanceOf(Unavailable);
    expect(notesIn(memory.names())).toHaveLength(1);
    await keepIncident(fenced, POWERS_OFF, memory.keeper, signal);
    expect(memory.incidents()[0]?.steps.map(({ step }) => step)).toContain('power-off');
    expect(notesIn(memory.names())).toEqual([]);
  });

  it('and its fence are kept whatever text names the cluster, the machine, and the fence', async () => {
    const memory = memoryKeeper();
    const named = { cluster: 'prod\ud800', machine: 'i\udc00', id: 'f\ud800' };
    await keepIncident({ ...(await poweredOffAt(NOW)), ...named }, POWERS_OFF, memory.keeper, signal);
    await keepIncident({ ...(await fencedSince(NOW + MINUTE)), ...named }, POWERS_OFF, memory.keeper, signal);
    expect(memory.incidents()).toMatchObject([{ ...named, state: 'fenced' }]);
    expect(memory.incidents()[0]?.steps.map(({ step }) => step)).toContain('power-off');
  });

  it('is not taken by an earlier fence', async () => {
    const memory = memoryKeeper();
    await keepIncident(await poweredOffAt(NOW), POWERS_OFF, memory.keeper, signal);
    await keepIncident(await fencedSince(NOW - MINUTE), POWERS_OFF, memory.keeper, signal);
    expect(memory.incidents()[0]?.steps.map(({ step }) => step)).not.toContain('power-off');
    expect(notesIn(memory.names())).toHaveLength(1);
  });
});
