import type { NodeObject, PodObject } from '../objects.ts';
import type { ObjectWriter } from './object-writer.ts';
import { writerAs } from './object-writer.ts';
import { getObject } from '../get-objects.ts';
import type { CloudView } from './cloud-view.ts';
import { reachesApi, runsOn } from './kubelet-reach.ts';
import type { GuestPod, KubeletMemory } from './memory.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { isFinished, isReadyPod, withCondition } from './pods.ts';
import { between, timestamp } from './times.ts';
import { podsOn, volumesOfPod } from './volumes.ts';

const startTakes = { least: 1_000, most: 2_000 };
const stopTakes = { least: 300, most: 1_000 };

/** Synchronizes the guest's pods with the API server, as far as possible now. */
export const syncPods = (cloudView: CloudView, world: ClusterWorld, machine: string): void => {
  const kubelet = world.parts.cluster.memory.kubelets[machine];
  if (!kubelet || !reachesApi(cloudView, world, kubelet)) return;
  const writer = writerAs(world, `system:node:${kubelet.describes.name}`);
  for (const pod of podsOn(world, kubelet.describes.name)) meetPod(world, writer, kubelet, pod);
  for (const guest of Object.values(kubelet.pods)) missPod(world, kubelet, guest);
  reportVolumesInUse(world, writer, kubelet);
  for (const guest of Object.values(kubelet.pods))
    if (guest.stage === 'waiting') tryStart(cloudView, world, kubelet, guest);
};

const meetPod = (world: ClusterWorld, writer: ObjectWriter, kubelet: KubeletMemory, pod: PodObject): void => {
  const guest = kubelet.pods[pod.metadata.uid];
  const leaving = pod.metadata.deletionTimestamp !== undefined;
  if (!guest) return meetNew(world, writer, kubelet, pod, leaving);
  if (guest.stage === 'stopped') return finish(world, writer, kubelet, pod);
  if (leaving || isFinished(pod)) return stop(world, kubelet, guest);
  if (guest.stage === 'starting') return world.schedule('kubelet/pod', startTakes.most, guestKey(kubelet, guest));
  if (guest.stage === 'running' && !isReadyPod(pod))
    writer.change('pods', pod, (draft) => markRunning(draft, world.now()));
};

/** A pod that does not run on this guest: it is new, or its containers ended with an earlier boot. */
const meetNew = (
  world: ClusterWorld,
  writer: ObjectWriter,
  kubelet: KubeletMemory,
  pod: PodObject,
  leaving: boolean,
): void => {
  if (leaving) finish(world, writer, kubelet, pod);
  else if (!isFinished(pod)) admit(world, writer, kubelet, pod);
};

const admit = (world: ClusterWorld, writer: ObjectWriter, kubelet: KubeletMemory, pod: PodObject): void => {
  const { uid, name, namespace = '' } = pod.metadata;
  kubelet.pods[uid] = { uid, name, namespace, stage: 'waiting', volumes: [] };
  if (pod.status.phase === 'Running') writer.change('pods', pod, (draft) => markWaiting(draft, world.now()));
};

/** Kills a pod that the API server no longer knows, and forgets a pod that has stopped. */
const missPod = (world: ClusterWorld, kubelet: KubeletMemory, guest: GuestPod): void => {
  if (getObject(world, 'pods', guest.name, guest.namespace)?.metadata.uid === guest.uid) return;
  if (guest.stage === 'stopped') delete kubelet.pods[guest.uid];
  else stop(world, kubelet, guest);
};

const stop = (world: ClusterWorld, kubelet: KubeletMemory, guest: GuestPod): void => {
  const takes = between(world, stopTakes.least, stopTakes.most) + world.parts.cluster.knobs.unmountMs;
  guest.stage = 'stopping';
  world.schedule('kubelet/pod', takes, guestKey(kubelet, guest));
};

/** Reports that the containers have ended and the volumes are unmounted, and releases the object. */
const finish = (world: ClusterWorld, writer: ObjectWriter, kubelet: KubeletMemory, pod: PodObject): void => {
  delete kubelet.pods[pod.metadata.uid];
  const ended = isFinished(pod) ? pod : writer.change('pods', pod, (draft) => markTerminated(draft, world.now()));
  reportVolumesInUse(world, writer, kubelet);
  if (ended?.metadata.deletionTimestamp !== undefined) writer.remove('pods', ended, 0);
};

const tryStart = (cloudView: CloudView, world: ClusterWorld, kubelet: KubeletMemory, guest: GuestPod): void => {
  const node = getObject(world, 'nodes', kubelet.describes.name);
  const pod = getObject(world, 'pods', guest.name, guest.namespace);
  if (!node || !pod || volumesOfPod(world, pod) === 'unbound' || !attachedAll(node, guest)) return;
  const { machine } = kubelet.describes;
  if (!guest.volumes.every(({ handle }) => cloudView.mount(handle, machine)))
    return world.schedule('kubelet/pods', 1_000, machine);
  guest.stage = 'starting';
  world.schedule('kubelet/pod', between(world, startTakes.least, startTakes.most), guestKey(kubelet, guest));
};

const attachedAll = (node: NodeObject, guest: GuestPod): boolean =>
  guest.volumes.every(({ unique }) => (node.status.volumesAttached ?? []).some((attached) => attached.name === unique));

/** Completes a start or a stop in the guest, which may be disconnected from the API server. */
export const kubeletPod = (cloudView: CloudView, world: ClusterWorld, about: string): void => {
  const [machine = '', uid = ''] = about.split(' ');
  const kubelet = world.parts.cluster.memory.kubelets[machine];
  const guest = kubelet?.pods[uid];
  if (!kubelet || !guest || !runsOn(cloudView, kubelet)) return;
  if (guest.stage === 'starting') guest.stage = 'running';
  if (guest.stage === 'stopping') unmountAll(cloudView, kubelet, guest);
  syncPods(cloudView, world, machine);
};

const unmountAll = (cloudView: CloudView, kubelet: KubeletMemory, guest: GuestPod): void => {
  guest.stage = 'stopped';
  const others = Object.values(kubelet.pods).filter((other) => other.stage !== 'stopped');
  const kept = new Set(others.flatMap((other) => other.volumes.map(({ handle }) => handle)));
  for (const { handle } of guest.volumes) if (!kept.has(handle)) cloudView.unmount(handle, kubelet.describes.machine);
};

/** `volumesInUse` contains a volume from the time when a pod on the node uses it until it is unmounted. */
const reportVolumesInUse = (world: ClusterWorld, writer: ObjectWriter, kubelet: KubeletMemory): void => {
  const node = getObject(world, 'nodes', kubelet.describes.name);
  for (const guest of Object.values(kubelet.pods)) if (guest.stage === 'waiting') noteVolumes(world, guest);
  const guests = Object.values(kubelet.pods).filter((guest) => guest.stage !== 'stopped');
  const inUse = [...new Set(guests.flatMap((guest) => guest.volumes.map(({ unique }) => unique)))].toSorted();
  if (!node || inUse.join() === (node.status.volumesInUse ?? []).join()) return;
  writer.change('nodes', node, (draft) => void (draft.status.volumesInUse = inUse));
};

const noteVolumes = (world: ClusterWorld, guest: GuestPod): void => {
  const pod = getObject(world, 'pods', guest.name, guest.namespace);
  const volumes = pod?.metadata.uid === guest.uid ? volumesOfPod(world, pod) : 'unbound';
  if (volumes !== 'unbound') guest.volumes = volumes.map(({ unique, handle }) => ({ unique, handle }));
};

const guestKey = (kubelet: KubeletMemory, guest: GuestPod): string => `${kubelet.describes.machine} ${guest.uid}`;

type ContainerState =
  | { running: { startedAt: string } }
  | { waiting: { reason: string } }
  | { terminated: { exitCode: number; finishedAt: string } };

const setContainers = (pod: PodObject, state: ContainerState, at: number): void => {
  const ready = 'running' in state;
  pod.status.containerStatuses = pod.spec.containers.map(({ name }) => ({ name, ready, state }));
  pod.status.conditions = withCondition(pod.status.conditions, { type: 'Ready', status: ready ? 'True' : 'False' }, at);
};

const markRunning = (pod: PodObject, at: number): void => {
  pod.status.phase = 'Running';
  setContainers(pod, { running: { startedAt: timestamp(at) } }, at);
};

/** After a boot, the pod is still bound to this node, and its containers must be created again. */
const markWaiting = (pod: PodObject, at: number): void =>
  setContainers(pod, { waiting: { reason: 'ContainerCreating' } }, at);

const markTerminated = (pod: PodObject, at: number): void => {
  pod.status.phase = 'Failed';
  setContainers(pod, { terminated: { exitCode: 143, finishedAt: timestamp(at) } }, at);
};
