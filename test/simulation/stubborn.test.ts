import { describe, expect, it } from 'vitest';
import { run } from '../../fencing/loop/run.ts';
import { FENCED_LABEL, RECORD_ANNOTATION, SEAL_LABEL, TAINT_LABEL } from '../../kubernetes/names.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { json, type ApiAnswer, type ApiRequest } from '../../sandbox/cluster/api/wire.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { AFTERMATH_MS, fence } from './ends.ts';
import { attacherDown, crowded, startMachine, stopped } from './incidents.ts';
import { freshRun, portsOver, type Troubles } from './ports.ts';
import { stateOf } from './state.ts';
import { diedAfterMark, walk } from './walk.ts';

/** Faults that a reviewer once found. Each case failed before its fix. */

const forbidden = (says: string): ApiAnswer =>
  json(403, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', message: says, code: 403 });

const refusing = (method: string, path: RegExp): Troubles => ({
  api: {
    before: (request: ApiRequest) =>
      request.method === method && path.test(request.path) ? forbidden('a webhook says no') : undefined,
  },
});

const moved = (world: AwsWorld, volume: string, to: string) =>
  expect(stateOf(world).disks).toContain(`${volume} at ${to} attached`);

it('a pod that the API server refuses to delete does not block the others, and the outcome names it', async () => {
  const { world, scene } = crowded();
  const ports = portsOver(world, refusing('DELETE', /\/pods\/bare/));
  const outcome = await run(freshRun(world, ports, { machine: scene.holder, lasts: 120_000 }), ports);
  expect(outcome).toMatchObject({
    outcome: 'failed',
    retry: true,
    reason: { says: expect.stringContaining('a webhook says no') },
  });
  world.advance(AFTERMATH_MS);
  moved(world, scene.volume, scene.spare);
});

it('a fence ends normally if someone else deletes a pod that the API server refused to delete', async () => {
  const { world, scene } = crowded();
  const ports = portsOver(world, {
    api: {
      before: (request: ApiRequest) => {
        const [, name = ''] = /\/pods\/(bare[^/?]*)/.exec(request.path) ?? [];
        if (request.method !== 'DELETE' || name === '') return undefined;
        delete world.parts.cluster.objects.pods[`default/${name}`];
        return forbidden('a webhook says no');
      },
    },
  });
  const outcome = await run(freshRun(world, ports, { machine: scene.holder, lasts: 120_000 }), ports);
  expect(outcome).toMatchObject({ outcome: 'fenced', retry: false });
  expect(outcome.steps.filter(({ result }) => result === 'refused')).not.toEqual([]);
});

it('a Node whose pod is declined again and again is marked once, and then only the delete is repeated', async () => {
  const { world, scene } = crowded();
  const stepsOf = async (): Promise<string> => {
    const ports = portsOver(world, refusing('DELETE', /\/pods\/bare/));
    const { outcome, steps } = await run(freshRun(world, ports, { machine: scene.holder, lasts: 120_000 }), ports);
    return [outcome, ...steps.map(({ step }) => step)].join(' ');
  };
  expect(await stepsOf()).toMatch(/^failed mark .* park$/);
  world.advance(60_000);
  expect([await stepsOf(), await stepsOf()]).toEqual(['failed delete-pod', 'failed delete-pod']);
});

it('a disk that the driver cannot detach is detached by force in the end, whoever began to detach it', async () => {
  const { world, scene } = attacherDown();
  world.parts.ec2.knobs.detachTakes = 3_600_000;
  const first = portsOver(world);
  await run(freshRun(world, first, { machine: scene.holder, lasts: 15_000 }), first);
  const again = portsOver(world);
  const outcome = await run(freshRun(world, again, { machine: scene.holder, lasts: 60_000 }), again);
  expect(outcome.steps.map(({ step }) => step)).toContain('detach-disk');
  expect(
    Object.values(world.parts.ec2.volumes).some((kept) => kept.present?.attachments.some(({ forced }) => forced)),
  ).toBe(true);
});

it('a slow answer about disks does not make a proof older', async () => {
  const { world, scene } = stopped();
  const ports = portsOver(world, { ec2Takes: (action) => (action === 'DescribeVolumes' ? 1_900 : 100) });
  expect(await run(freshRun(world, ports, { machine: scene.holder, lasts: 120_000 }), ports)).toMatchObject({
    outcome: 'fenced',
  });
});

it.each([700, 1_500])('a cloud that answers slowly does not prevent the detach of a disk (%i ms)', async (takes) => {
  const { world, scene } = attacherDown();
  const ports = portsOver(world, { ec2Takes: () => takes });
  await run(freshRun(world, ports, { machine: scene.holder, lasts: 120_000 }), ports);
  expect(stateOf(world).disks).toContain(`${scene.volume} at nobody`);
  expect(world.parts.ec2.violations).toEqual([]);
});

it('a cloud that is too slow for any proof is waited for with pauses, and nothing is done', async () => {
  const { world, scene } = stopped();
  let calls = 0;
  const ports = portsOver(world, { ec2Takes: () => ((calls += 1), 1_900) });
  const outcome = await run(freshRun(world, ports, { machine: scene.holder, lasts: 60_000 }), ports);
  expect(outcome).toMatchObject({ outcome: 'waiting', steps: [] });
  expect(calls).toBeLessThan(80);
});

it.each([
  ['a dry run', { dryRun: true }],
  ['a run in shadow mode', { shadow: true }],
])('%s ends even if an attachment does not go although its disk is free', async (_, policy) => {
  const { world, scene } = attacherDown();
  await fence({ world, scene }, { lasts: 30_000 });
  for (const attachment of Object.values(world.parts.cluster.objects.volumeattachments))
    attachment.status.detachError = { time: new Date(world.now()).toISOString(), message: 'throttled' };
  const outcome = await fence({ world, scene }, { policy });
  expect(outcome.steps.length).toBeLessThan(10);
});

const FENCE_LABELS = [FENCED_LABEL, TAINT_LABEL, SEAL_LABEL] as const;

/** Someone removes the record, the taints, and these labels of the fence by hand. */
const removeFence = (world: AwsWorld, name: string, labels: readonly string[] = FENCE_LABELS): void => {
  const node = getObject(world, 'nodes', name);
  if (!node) return;
  writerAs(world, 'person').change('nodes', node, (draft) => {
    delete draft.metadata.annotations?.[RECORD_ANNOTATION];
    for (const label of labels) delete draft.metadata.labels?.[label];
    delete draft.spec.taints;
  });
};

describe('a fence that a person removes without a trace', () => {
  it('is not restored during that fence', async () => {
    const { world, scene } = stopped();
    const { crossings } = await walk(world, freshRun(world, portsOver(world), { machine: scene.holder }));
    const during = crossings.filter(
      ({ known, command }) => known.record !== null && known.ending === null && command.do !== 'end',
    );
    expect(during.length).toBeGreaterThanOrEqual(5);
    for (const crossing of during) {
      const other = crossing.world.fork();
      removeFence(other, scene.nodeOf(scene.holder));
      const ports = portsOver(other);
      await run({ ...crossing.known, deadline: other.now() + 60_000 }, ports);
      const mine = () => stateOf(other).nodes.find((line) => line.startsWith(`${scene.nodeOf(scene.holder)} `));
      expect(mine(), `taken back before ${crossing.command.do}`).toMatch(/ \[\] tombstone$/);
      await fence({ world: other, scene });
      expect(mine(), 'a run that remembers nothing').toMatch(/ \[\] tombstone$/);
    }
  });
});

it('a fence that a person removed while no run was active is not restored by a later run', async () => {
  const { world, scene } = await diedAfterMark();
  removeFence(world, scene.nodeOf(scene.holder), [FENCED_LABEL]);
  expect(await fence({ world, scene })).toMatchObject({
    outcome: 'refused',
    reason: { code: 'fence-removed-by-hand' },
  });
  expect(await fence({ world, scene }), 'and the next').toMatchObject({
    outcome: 'refused',
    reason: { code: 'fence-removed-by-hand' },
    steps: [],
  });
  expect(stateOf(world).nodes).toContain(`${scene.nodeOf(scene.holder)} [] tombstone`);
});

it('the pods of another machine with the dead one’s name are not touched, even if its Node is gone', async () => {
  const { world, scene } = stopped();
  const name = scene.nodeOf(scene.holder);
  const node = getObject(world, 'nodes', name);
  if (node) writerAs(world, 'person').remove('nodes', node);
  addBarePod(world, { name: 'living', spec: { nodeName: name } });
  const before = getObject(world, 'pods', 'living', 'default')?.metadata.uid;
  await fence({ world, scene });
  expect(getObject(world, 'pods', 'living', 'default')?.metadata).toMatchObject({ uid: before });
  expect(getObject(world, 'pods', 'living', 'default')?.metadata.deletionTimestamp).toBeUndefined();
});

it('a pod that a foreign finalizer holds, and that cannot be failed, does not keep our taint', async () => {
  const { world, scene } = stopped();
  addBarePod(world, { name: 'held', spec: { nodeName: scene.nodeOf(scene.holder) } });
  const held = getObject(world, 'pods', 'held', 'default');
  if (held)
    writerAs(world, 'person').change('pods', held, (draft) => (draft.metadata.finalizers = ['somebody.example/else']));
  const ports = portsOver(world, refusing('PATCH', /\/pods\/held\/status/));
  const outcome = await run(freshRun(world, ports, { machine: scene.holder, lasts: 120_000 }), ports);
  expect(outcome).toMatchObject({ outcome: 'failed', reason: { says: expect.stringContaining('pod/default/held') } });
  expect(outcome.left).toContainEqual({ what: 'pod/default/held', why: expect.stringContaining('finalizers') });
  expect(
    outcome.steps.filter(({ step, target }) => step === 'delete-pod' && target === 'pod/default/held'),
  ).toHaveLength(1);
  expect(stateOf(world).nodes).toContain(`${scene.nodeOf(scene.holder)} [cloudfence.dev/quarantine] fencing labelled`);
});

it('a pod that only a foreign finalizer holds does not keep a healthy node out of service forever', async () => {
  const { world, scene } = stopped();
  addBarePod(world, { name: 'held', spec: { nodeName: scene.nodeOf(scene.holder) } });
  const held = getObject(world, 'pods', 'held', 'default');
  if (held)
    writerAs(world, 'person').change('pods', held, (draft) => (draft.metadata.finalizers = ['somebody.example/else']));
  await fence({ world, scene });
  startMachine(world, scene.holder);
  world.advance(120_000);
  expect(await fence({ world, scene })).toMatchObject({ outcome: 'released' });
  expect(stateOf(world).nodes).toContain(`${scene.nodeOf(scene.holder)} []`);
});
