import { createHash } from 'node:crypto';
import type { V1Node, V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { ATTACHED_NODE_ID, CSI_NODE_IDS, OUT_OF_SERVICE, ZONE_LABEL } from '../../kubernetes/names.ts';
import { hasFenceTraces, hasOwnLabel } from '../../kubernetes/node-facts.ts';
import { createLedger, type Served, type Write } from './api-server.ts';
import { createObjects, hasTaintKey, keyIn, nameOf, renewTimeAt, taintsOf, withTaints } from './cluster-objects.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { Engine } from './engine.ts';
import { type Disk, type Fleet, type Machine, renewedAt } from './machines.ts';
import { driverOf, nodeIdOf, objectNameOf, providerIdOf, volumeNameOf } from './names.ts';
import { EPOCH } from './process.ts';

/**
 * A cluster of thousands of Nodes, each with one database. The controllers of test/random/kubernetes look at everything
 * after each change, which takes days in a cluster of this size. Here, each change only affects its own Node.
 */
export interface StormCluster {
  readonly served: Served;
  readonly add: (machine: Machine, disk: Disk) => void;
  /** The kubelet of the machine is silent from now on. */
  readonly silent: (machine: Machine) => void;
  /** The kubelet of the machine posts its status, after a boot or after it was cut off. */
  readonly posts: (machine: Machine) => void;
  /** Whether nothing of Cloudfence is on the Node of the machine. */
  readonly isFree: (machine: Machine) => boolean;
}

const NAMESPACES = 40;
const UNREACHABLE = 'node.kubernetes.io/unreachable';
const ATTACHER_FINALIZER = 'external-attacher/simulated';
/**
 * A Node in a busy cluster has about 7 kB. Most of that is the list of images: 40 of the 200 that run in the cluster.
 */
const IMAGES = Array.from({ length: 200 }, (_, nth) => ({
  names: [`registry.example.org/platform/service-${nth}@sha256:${createHash('sha256').update(`${nth}`).digest('hex')}`],
  sizeBytes: 40_000_000 + nth,
}));
const imagesOf = ({ serial }: Machine) =>
  Array.from({ length: 40 }, (_, nth) => IMAGES[(serial * 67 + nth * 7) % IMAGES.length] ?? { names: [] });

interface Home {
  /** The one that has the disk, or had it last. */
  machine: Machine;
  readonly disk: Disk;
  readonly namespace: string;
  readonly pod: string;
}

interface Surroundings {
  readonly engine: Engine;
  readonly random: SeededRandom;
  readonly fleet: Fleet;
}

export const createStormCluster = ({ engine, random, fleet }: Surroundings): StormCluster => {
  const objects = createObjects(engine.now, () => undefined);
  createLedger(objects);
  const machines = new Map<string, Machine>();
  /** By the key of the pod. */
  const homes = new Map<string, Home>();
  const now = (): Date => new Date(EPOCH + engine.now());
  const condition = (status: 'True' | 'Unknown') => [{ type: 'Ready', status, lastTransitionTime: now() }];
  const bootOf = ({ name, boot }: Machine): string => `${name}-boot-${boot}`;
  const handleOf = ({ cloud, id }: Disk): string => `kubernetes.io/csi/${driverOf(cloud)}^${id}`;

  const nodeOf = (machine: Machine, disk: Disk): V1Node => ({
    metadata: {
      name: machine.node,
      labels: { [ZONE_LABEL]: machine.zone, 'kubernetes.io/hostname': machine.node },
      annotations: { [CSI_NODE_IDS]: JSON.stringify({ [driverOf(machine.cloud)]: nodeIdOf(machine) }) },
    },
    spec: { providerID: providerIdOf(machine) },
    status: {
      nodeInfo: {
        architecture: '',
        bootID: bootOf(machine),
        containerRuntimeVersion: '',
        kernelVersion: '',
        kubeletVersion: '',
        kubeProxyVersion: '',
        machineID: '',
        operatingSystem: '',
        osImage: '',
        systemUUID: '',
      },
      conditions: condition('True'),
      images: imagesOf(machine),
      volumesAttached: [{ name: handleOf(disk), devicePath: '' }],
      volumesInUse: [handleOf(disk)],
    },
  });
  const putPod = ({ namespace, pod, disk }: Home, node: string): V1Pod =>
    objects.pods.put(keyIn(namespace, pod), {
      metadata: {
        name: pod,
        namespace,
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'StatefulSet', name: pod, uid: `owner-${pod}`, controller: true },
        ],
      },
      spec: {
        nodeName: node,
        containers: [{ name: 'main', image: 'registry.example.org/db:1' }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: `data-${objectNameOf(disk.id)}` } }],
      },
      status: { phase: 'Running' },
    });
  const putAttachment = (machine: Machine, disk: Disk): void => {
    const name = attachmentName({ driver: driverOf(disk.cloud), handle: disk.id }, machine.node);
    objects.attachments.put(name, {
      metadata: {
        name,
        finalizers: [ATTACHER_FINALIZER],
        annotations: { [ATTACHED_NODE_ID]: nodeIdOf(machine) },
      },
      spec: {
        attacher: driverOf(disk.cloud),
        nodeName: machine.node,
        source: { persistentVolumeName: volumeNameOf(disk.id) },
      },
      status: { attached: true },
    });
  };

  const putVolumes = (name: string, change: (handles: readonly string[]) => readonly string[]): void => {
    const node = objects.nodes.get(name);
    if (!node) return;
    const handles = change(node.status?.volumesAttached?.map((volume) => volume.name) ?? []);
    const volumesAttached = handles.map((handle) => ({ name: handle, devicePath: '' }));
    objects.nodes.put(name, { ...node, status: { ...node.status, volumesAttached, volumesInUse: [...handles] } });
  };
  const attachElsewhere = (home: Home): void => {
    const { namespace, pod, disk } = home;
    const machine = machines.get(objects.pods.get(keyIn(namespace, pod))?.spec?.nodeName ?? '');
    if (!machine || !fleet.attach(machine, disk)) return;
    home.machine = machine;
    putAttachment(machine, disk);
    putVolumes(machine.node, (handles) => [...handles, handleOf(disk)]);
  };
  const detach = (home: Home, attachment: string): void => {
    const { machine, disk } = home;
    fleet.detach(machine, disk, false);
    objects.attachments.remove(attachment);
    putVolumes(machine.node, (handles) => handles.filter((handle) => handle !== handleOf(disk)));
    engine.after(random.between(1_000, 2_000), () => attachElsewhere(home));
  };
  /**
   * Does the work of attach-detach and the attacher: detaches each disk that no pod of an out-of-service Node wants.
   */
  const letGo = (home: Home): void => {
    const { machine, disk, namespace, pod } = home;
    const node = objects.nodes.get(machine.node);
    const name = attachmentName({ driver: driverOf(disk.cloud), handle: disk.id }, machine.node);
    const attachment = objects.attachments.get(name);
    const wanted = objects.pods.get(keyIn(namespace, pod))?.spec?.nodeName === machine.node;
    if (wanted || !hasTaintKey(node, OUT_OF_SERVICE.key) || !attachment || attachment.metadata?.deletionTimestamp)
      return;
    objects.attachments.put(name, { ...attachment, metadata: { ...attachment.metadata, deletionTimestamp: now() } });
    engine.after(random.between(1_000, 1_500), () => detach(home, name));
  };
  const living = (zone: string): readonly Machine[] =>
    fleet.machines.filter((machine) => machine.zone === zone && machine.shown.power === 'running' && machine.connected);
  const deleted = (pod: V1Pod): void => {
    const key = keyIn(pod.metadata?.namespace ?? '', nameOf(pod));
    const home = homes.get(key);
    if (!home) return;
    engine.after(random.between(20, 60), () => void putPod(home, random.oneOf(living(home.disk.zone)).node));
    engine.after(random.between(100, 500), () => letGo(home));
  };
  const seen = (write: Write): void => {
    if (write.kind === 'pod' && write.verb === 'delete') deleted(write.before);
    if (write.kind === 'attachment' || write.kind === 'node') {
      const name = write.kind === 'node' ? nameOf(write.before) : write.before.spec.nodeName;
      for (const home of homes.values())
        if (home.machine.node === name) engine.after(random.between(100, 500), () => letGo(home));
    }
  };

  const judge = (machine: Machine): void => {
    const node = objects.nodes.get(machine.node);
    if (!node || (machine.shown.power === 'running' && machine.connected) || hasTaintKey(node, UNREACHABLE)) return;
    const unreachable = (['NoSchedule', 'NoExecute'] as const).map((effect) => ({
      key: UNREACHABLE,
      effect,
      timeAdded: now(),
    }));
    const silent = { ...node, status: { ...node.status, conditions: condition('Unknown') } };
    objects.nodes.put(machine.node, withTaints(silent, [...taintsOf(node), ...unreachable]));
  };
  const posts = (machine: Machine): void => {
    const node = objects.nodes.get(machine.node);
    if (!node?.status?.nodeInfo) return;
    const nodeInfo = { ...node.status.nodeInfo, bootID: bootOf(machine) };
    const heard = { ...node, status: { ...node.status, nodeInfo, conditions: condition('True') } };
    objects.nodes.put(
      machine.node,
      withTaints(
        heard,
        taintsOf(node).filter(({ key }) => key !== UNREACHABLE),
      ),
    );
  };
  const leaseOf = (name: string): string | null => {
    const machine = machines.get(name);
    const at = machine && renewedAt(machine, engine.now());
    return at === undefined || at === null ? null : renewTimeAt(at, 0);
  };
  return {
    served: {
      objects,
      leaseOf,
      leases: () => [...machines.keys()],
      watch: seen,
      recordEvent: () => undefined,
    },
    add: (machine, disk) => {
      machines.set(machine.node, machine);
      fleet.attach(machine, disk);
      const home = { machine, disk, namespace: `team-${machine.serial % NAMESPACES}`, pod: `db-${machine.serial}` };
      homes.set(keyIn(home.namespace, home.pod), home);
      objects.nodes.put(machine.node, nodeOf(machine, disk));
      const drivers = [{ name: driverOf(machine.cloud), nodeID: nodeIdOf(machine) }];
      objects.csiNodes.put(machine.node, { metadata: { name: machine.node }, spec: { drivers } });
      const claim = `data-${objectNameOf(disk.id)}`;
      objects.volumes.put(volumeNameOf(disk.id), {
        metadata: { name: volumeNameOf(disk.id) },
        spec: {
          csi: { driver: driverOf(disk.cloud), volumeHandle: disk.id },
          claimRef: { namespace: home.namespace, name: claim },
        },
      });
      objects.claims.put(keyIn(home.namespace, claim), {
        metadata: { name: claim, namespace: home.namespace },
        spec: { volumeName: volumeNameOf(disk.id) },
      });
      putAttachment(machine, disk);
      putPod(home, machine.node);
    },
    silent: (machine) => engine.after(random.between(40_000, 52_000), () => judge(machine)),
    posts,
    isFree: ({ node }) => {
      const found = objects.nodes.get(node);
      return found !== undefined && !hasFenceTraces(found) && !hasOwnLabel(found);
    },
  };
};
