import type { PodObject } from '../objects.ts';
import { withCondition } from './pods.ts';
import { timestamp } from './times.ts';

type ContainerState =
  | { running: { startedAt: string } }
  | { waiting: { reason: string } }
  | { terminated: { exitCode: number; finishedAt: string } };

const setContainers = (pod: PodObject, state: ContainerState, at: number): void => {
  const ready = 'running' in state;
  pod.status.containerStatuses = pod.spec.containers.map(({ name }) => ({ name, ready, state }));
  pod.status.conditions = withCondition(pod.status.conditions, { type: 'Ready', status: ready ? 'True' : 'False' }, at);
};

export const markRunning = (pod: PodObject, at: number): void => {
  pod.status.phase = 'Running';
  setContainers(pod, { running: { startedAt: timestamp(at) } }, at);
};

/** After a boot, the pod is still bound to this node, and its containers must be created again. */
export const markWaiting = (pod: PodObject, at: number): void =>
  setContainers(pod, { waiting: { reason: 'ContainerCreating' } }, at);

export const markTerminated = (pod: PodObject, at: number): void => {
  pod.status.phase = 'Failed';
  setContainers(pod, { terminated: { exitCode: 143, finishedAt: timestamp(at) } }, at);
};
