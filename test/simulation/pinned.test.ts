import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../fencing/model/outcome.ts';
import { run } from '../../fencing/loop/run.ts';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import type { Faults } from '../../sandbox/cluster/api/server.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import type { PodObject } from '../../sandbox/cluster/objects.ts';
import { addBarePod, addDeployment } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { terminate } from '../../sandbox/ec2/instances.ts';
import { AFTERMATH_MS, fence } from './ends.ts';
import { stage, stopMachine, UNTIL_STOPPED_MS, type Incident } from './incidents.ts';
import { freshRun, portsOver } from './ports.ts';
import { stateOf } from './state.ts';

/**
 * Workloads that name their Node (`spec.nodeName`) are recreated there as soon as Cloudfence deletes them. They must
 * not block a fence.
 */

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

const nodeOf = ({ scene }: Incident): string => scene.nodeOf(scene.holder);
const taintsOf = (incident: Incident): readonly string[] =>
  (getObject(incident.world, 'nodes', nodeOf(incident))?.spec.taints ?? []).map(({ key }) => key);
const podsNamed = (world: AwsWorld, prefix: string): readonly PodObject[] =>
  listObjects(world, 'pods').filter(({ metadata }) => metadata.name.startsWith(prefix));
const stepsOf = ({ steps }: Outcome): readonly string[] => steps.map(({ step, target }) => `${step} ${target}`);

/** A web server that is pinned to the dying Node, next to the database. */
const pinned = (replicas = 1): Incident => {
  const incident = stage(1);
  addDeployment(incident.world, { name: 'web', replicas, spec: { nodeName: nodeOf(incident) } });
  settle(incident.world);
  return incident;
};

const off = (incident: Incident): Incident => {
  stopMachine(incident.world, incident.scene.holder);
  incident.world.advance(UNTIL_STOPPED_MS);
  return incident;
};

const goneForGood = (incident: Incident): Incident => {
  const instance = instanceIn(incident.world, incident.scene.holder);
  if (instance) terminate(incident.world, instance);
  incident.world.advance(UNTIL_STOPPED_MS);
  return incident;
};

const moved = ({ world, scene }: Incident): void =>
  expect(stateOf(world).disks).toContain(`${scene.volume} at ${scene.spare} attached`);

describe('a workload that is pinned to the dead Node', () => {
  it.each([1, 3])(
    'keeps neither the volumes of other pods nor our taint there, and the outcome names it (%i replicas)',
    async (replicas) => {
      const incident = off(pinned(replicas));
      const outcome = await fence(incident);
      expect(outcome).toMatchObject({
        outcome: 'fenced',
        reason: { says: expect.stringMatching(/A controller recreates pod default\/web-/) },
      });
      expect(taintsOf(incident)).toEqual(expect.not.arrayContaining([OUT_OF_SERVICE]));
      expect(taintsOf(incident)).toContain('cloudfence.dev/quarantine');
      expect(
        stepsOf(outcome).filter((step) => step.startsWith('delete-pod pod/default/web-')).length,
      ).toBeLessThanOrEqual(2 * replicas);
      incident.world.advance(AFTERMATH_MS);
      moved(incident);
    },
  );

  it('is not deleted again by each later run, and causes no other mark', async () => {
    const incident = off(pinned());
    await fence(incident);
    incident.world.advance(60_000);
    expect(await fence(incident)).toMatchObject({ outcome: 'fenced', steps: [] });
  });

  it('is no longer named once someone has deleted it', async () => {
    const incident = off(pinned());
    await fence(incident);
    const web = Object.values(incident.world.parts.cluster.objects.deployments).find(
      ({ metadata }) => metadata.name === 'web',
    );
    if (web) writerAs(incident.world, 'person').change('deployments', web, (draft) => (draft.spec.replicas = 0));
    for (const pod of podsNamed(incident.world, 'web-')) writerAs(incident.world, 'person').remove('pods', pod);
    expect(podsNamed(incident.world, 'web-')).toHaveLength(1);
    expect(await fence(incident)).toMatchObject({ outcome: 'fenced' });
    expect(podsNamed(incident.world, 'web-')).toEqual([]);
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
  });

  it('does not prevent the deletion of the Node of a terminated machine', async () => {
    const incident = goneForGood(pinned());
    expect(await fence(incident)).toMatchObject({ outcome: 'fenced', mode: 'delete' });
    expect(getObject(incident.world, 'nodes', nodeOf(incident))).toBeUndefined();
    incident.world.advance(AFTERMATH_MS);
    moved(incident);
  });

  it('does not keep a disk there that only the cloud can detach', async () => {
    const incident = pinned();
    incident.world.parts.cluster.knobs.attacherDown = true;
    off(incident);
    const outcome = await fence(incident, { lasts: 60_000 });
    expect(outcome.steps.map(({ step }) => step)).toContain('detach-disk');
    expect(stateOf(incident.world).disks).toContain(`${incident.scene.volume} at nobody`);
  });

  it('is freed as usual if it has a volume: our taint stays, and the run delays no other', async () => {
    const incident = stage(1);
    const { world } = incident;
    const handle = addVolume(world);
    addDeployment(world, {
      name: 'own',
      disk: { driver: EBS, handle, zone: volumeIn(world, handle)?.zone ?? '' },
      spec: { nodeName: nodeOf(incident) },
    });
    settle(world);
    off(incident);
    const outcome = await fence(incident, { lasts: 60_000 });
    expect(outcome).toMatchObject({
      outcome: 'waiting',
      reason: { code: 'pods-going', says: expect.stringMatching(/pod default\/own-\S+ is recreated/) },
    });
    expect(taintsOf(incident)).toContain(OUT_OF_SERVICE);
    expect(stepsOf(outcome)).not.toContain(`detach-disk disk/${handle}`);
    expect(outcome.steps.filter(({ step, target }) => step === 'delete-attachment' && target.includes(handle))).toEqual(
      [],
    );
    expect(stepsOf(outcome).filter((step) => step.startsWith('delete-pod')).length).toBeLessThan(40);
    world.advance(AFTERMATH_MS);
    moved(incident);
  });

  it('does not block a fence under new names, either', async () => {
    const incident = off(stage(1));
    const { world } = incident;
    const one = (name: string): void => void addBarePod(world, { name, spec: { nodeName: nodeOf(incident) } });
    one('flood-0');
    let made = 0;
    const before: Faults['before'] = ({ method, path }) => {
      if (method === 'DELETE' && path.includes('/pods/flood-')) one(`flood-${(made += 1)}`);
      return undefined;
    };
    const ports = portsOver(world, { api: { before } });
    const outcome = await run(freshRun(world, ports, { machine: incident.scene.holder }), ports);
    expect(outcome).toMatchObject({
      outcome: 'fenced',
      reason: { says: expect.stringContaining('pod default/flood-') },
    });
    expect(taintsOf(incident)).not.toContain(OUT_OF_SERVICE);
    world.advance(AFTERMATH_MS);
    moved(incident);
  });

  it('is reported among what is left, and its owner is recorded', async () => {
    const incident = off(pinned());
    const first = await fence(incident);
    const [standingNow] = podsNamed(incident.world, 'web-');
    expect(first.record?.recurring).toHaveLength(1);
    expect(first.left).toContainEqual({
      what: `pod/default/${standingNow?.metadata.name}`,
      why: expect.stringContaining('a controller recreates it'),
    });
  });
});
