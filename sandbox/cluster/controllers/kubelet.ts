import type { ObjectWriter } from './object-writer.ts';
import { writerAs } from './object-writer.ts';
import { getObject } from '../get-objects.ts';
import type { CloudView } from './cloud-view.ts';
import { syncPods } from './kubelet-pods.ts';
import { reachesApi } from './kubelet-reach.ts';
import type { KubeletMemory } from './memory.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { bootIdOf, csiNodeOf, isReady, leaseOf, nodeOf, reportBoot, reportHeartbeat } from './nodes.ts';
import { between, microTime } from './times.ts';

const renewEvery = 10_000;
const statusEvery = 300_000;
const lookEvery = 1_000;
const startTakes = { least: 4_000, most: 8_000 };

/** One pass: a new boot starts the kubelet again, and a running kubelet renews its Lease and syncs its pods. */
export const kubeletTick = (cloudView: CloudView, world: ClusterWorld, machine: string): void => {
  const kubelet = world.parts.cluster.memory.kubelets[machine];
  if (!kubelet) return;
  if (cloudView.guestAlive(machine) && cloudView.bootOf(machine) !== kubelet.boot) bootUp(cloudView, world, kubelet);
  if (!reachesApi(cloudView, world, kubelet)) return world.schedule('kubelet', lookEvery, machine);
  const writer = writerAs(world, `system:node:${kubelet.describes.name}`);
  keepStatus(world, writer, kubelet);
  renewLease(world, writer, kubelet);
  syncPods(cloudView, world, machine);
  world.schedule('kubelet', renewEvery, machine);
};

const bootUp = (cloudView: CloudView, world: ClusterWorld, kubelet: KubeletMemory): void => {
  const { machine } = kubelet.describes;
  kubelet.boot = cloudView.bootOf(machine);
  kubelet.started = false;
  kubelet.registered = false;
  kubelet.pods = {};
  world.schedule('kubelet/start', between(world, startTakes.least, startTakes.most), machine);
};

/** The kubelet of a fresh boot has started. */
export const kubeletStart = (cloudView: CloudView, world: ClusterWorld, machine: string): void => {
  const kubelet = world.parts.cluster.memory.kubelets[machine];
  if (!kubelet || !cloudView.guestAlive(machine) || cloudView.bootOf(machine) !== kubelet.boot) return;
  kubelet.started = true;
  world.schedule('kubelet', 0, machine);
};

const keepStatus = (world: ClusterWorld, writer: ObjectWriter, kubelet: KubeletMemory): void => {
  if (!kubelet.registered) register(world, writer, kubelet);
  const node = getObject(world, 'nodes', kubelet.describes.name);
  if (!node || (isReady(node) && world.now() - kubelet.statusWritten < statusEvery)) return;
  kubelet.statusWritten = world.now();
  writer.change('nodes', node, (draft) => reportHeartbeat(draft, world.now()));
};

/** Registers once for each start. If a Node is deleted while its kubelet runs, it returns only with the next boot. */
const register = (world: ClusterWorld, writer: ObjectWriter, kubelet: KubeletMemory): void => {
  const { describes } = kubelet;
  const node = getObject(world, 'nodes', describes.name) ?? writer.create('nodes', nodeOf(describes));
  if (!node) return;
  writer.change('nodes', node, (draft) =>
    reportBoot(draft, describes, bootIdOf(describes.machine, kubelet.boot), world.now()),
  );
  if (!getObject(world, 'csinodes', describes.name)) writer.create('csinodes', csiNodeOf(node, describes));
  kubelet.registered = true;
  kubelet.statusWritten = world.now();
};

const renewLease = (world: ClusterWorld, writer: ObjectWriter, kubelet: KubeletMemory): void => {
  const { name } = kubelet.describes;
  const lease = getObject(world, 'leases', name, 'kube-node-lease');
  if (!lease) writer.create('leases', leaseOf(name, getObject(world, 'nodes', name), world.now()));
  else writer.change('leases', lease, (draft) => void (draft.spec.renewTime = microTime(world.now())));
};
