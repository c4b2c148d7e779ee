import { createAwsSandbox, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { addBarePod, addDaemonSet, addJob, addMirrorPod } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { defaultStop, start, stopByUser, terminate } from '../../sandbox/ec2/instances.ts';
import { forget } from '../../sandbox/ec2/scenario.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { databaseOnTwoNodes, type DatabaseScene } from '../../sandbox/scenes/ec2-database.ts';

/** Incidents, up to the moment when an event reaches Cloudfence. */
export interface Incident {
  readonly world: AwsWorld;
  readonly scene: DatabaseScene;
}

export const stage = (seed: number): Incident => {
  const world = createAwsSandbox({ seed, now: Date.UTC(2026, 0, 1) });
  return { world, scene: databaseOnTwoNodes(world) };
};

export const stopMachine = (world: AwsWorld, id: string): void => {
  const instance = instanceIn(world, id);
  if (instance) stopByUser(world, instance, defaultStop);
};

export const startMachine = (world: AwsWorld, id: string): void => {
  const instance = instanceIn(world, id);
  if (instance?.state === 'stopped') start(world, instance);
};

export const UNTIL_STOPPED_MS = 25_000;

export const stopped = (seed = 1): Incident => {
  const incident = stage(seed);
  stopMachine(incident.world, incident.scene.holder);
  incident.world.advance(UNTIL_STOPPED_MS);
  return incident;
};

export const terminated = (seed = 1): Incident => {
  const incident = stage(seed);
  const instance = instanceIn(incident.world, incident.scene.holder);
  if (instance) terminate(incident.world, instance);
  incident.world.advance(UNTIL_STOPPED_MS);
  return incident;
};

/** The machine was terminated so long ago that EC2 no longer knows the ID. Only its disk shows that it is gone. */
export const forgotten = (seed = 1): Incident => {
  const incident = terminated(seed);
  incident.world.advance(10_000);
  forget(incident.world, incident.scene.holder);
  return incident;
};

/** Someone deleted the Node of the stopped machine before the event arrived. */
export const nodeGone = (seed = 1): Incident => {
  const incident = stopped(seed);
  const node = getObject(incident.world, 'nodes', incident.scene.nodeOf(incident.scene.holder));
  if (node) writerAs(incident.world, 'person').remove('nodes', node);
  incident.world.advance(50);
  return incident;
};

/** The CSI attacher is down: Kubernetes requests the detach, and nothing executes it. */
export const attacherDown = (seed = 1): Incident => {
  const incident = stage(seed);
  incident.world.parts.cluster.knobs.attacherDown = true;
  stopMachine(incident.world, incident.scene.holder);
  incident.world.advance(UNTIL_STOPPED_MS);
  return incident;
};

/** Pods of every kind next to the database, all on the node that stops. */
export const crowded = (seed = 1): Incident => {
  const incident = stage(seed);
  const { world, scene } = incident;
  const here = { nodeSelector: { 'kubernetes.io/hostname': scene.nodeOf(scene.holder) } };
  addDaemonSet(world, { name: 'agent', tolerateAll: true });
  addDaemonSet(world, { name: 'logs' });
  addJob(world, { name: 'import', spec: here });
  addBarePod(world, { name: 'bare', spec: { ...here, priority: 2_000_000_000 } });
  addMirrorPod(world, { name: 'static', node: scene.nodeOf(scene.holder) });
  settle(world);
  stopMachine(world, scene.holder);
  world.advance(UNTIL_STOPPED_MS);
  return incident;
};

/** A fenced machine that was started again and has booted. */
export const comingBack =
  (fence: (incident: Incident) => Promise<void>) =>
  async (seed = 1): Promise<Incident> => {
    const incident = stopped(seed);
    await fence(incident);
    startMachine(incident.world, incident.scene.holder);
    incident.world.advance(90_000);
    return incident;
  };
