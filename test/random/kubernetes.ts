import type { V1Node, V1Pod, V1Toleration, V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { ATTACHED_NODE_ID, CSI_NODE_IDS, OUT_OF_SERVICE, ZONE_LABEL } from '../../kubernetes/names.ts';
import { createLedger, deleteAttachmentIn, deletePodIn } from './api-server.ts';
import {
  bootOf,
  createObjects,
  hasTaintKey,
  isDeleting,
  isReady,
  keyIn,
  nameOf,
  type Objects,
  renewTimeAt,
  taintsOf,
  uidOf,
  withTaints,
} from './cluster-objects.ts';
import { hasOurTaint } from './fence-on-node.ts';
import { driverOf, nodeIdOf, numericIdOf, providerIdOf, systemUuidOf, volumeNameOf } from './names.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { Engine } from './engine.ts';
import { type Disk, type Fleet, isGone, isOff, isUp, type Machine, renewedAt } from './machines.ts';
import { EPOCH } from './process.ts';
import { createRivals, type Rivals } from './rivals.ts';

/**
 * Kubernetes around Cloudfence: kubelets, the node controller, taint eviction, PodGC, attach-detach, the attacher, the
 * controllers of the workloads, the scheduler, and a cloud controller. Each of them looks again at a random moment
 * after a change.
 */

/** A pod that tolerates only our taint is evicted later, because its Node is unreachable. */
export type Tolerated = 'out-of-service' | 'everything';

export interface Workload {
  readonly name: string;
  readonly kind: 'StatefulSet' | 'Deployment' | 'Job' | 'DaemonSet';
  /** The data first, and then the write-ahead log, if it has a disk of its own. */
  readonly disks: readonly Disk[];
  /** Which taints its pods tolerate. Those of a DaemonSet tolerate every taint. */
  readonly tolerates?: Tolerated;
  /** Its pods may only run there. Null for any Node in the zone of the disk. */
  readonly node: string | null;
}

export interface Cluster {
  readonly objects: Objects;
  readonly workloads: readonly Workload[];
  /** The machine of a Node, by the uid of the Node. */
  readonly machineOfNode: ReadonlyMap<string, Machine>;
  /** Returns the Node of the machine. Undefined if it has none, or if another machine has it. */
  readonly nodeBelow: (machine: Machine) => V1Node | undefined;
  /** The machine on which a pod was placed, or to which an attachment attaches, by uid. */
  readonly machineOfPod: ReadonlyMap<string, Machine>;
  readonly machineOfAttachment: ReadonlyMap<string, Machine>;
  readonly leaseOf: (node: string) => string | null;
  readonly leases: () => readonly string[];
  /** Makes every controller look again soon. */
  readonly wake: () => void;
  readonly join: (machine: Machine) => void;
  /** Creates a pod that names its Node. */
  readonly bindPod: (machine: Machine, pod: V1Pod) => void;
  readonly kubeletPosts: (machine: Machine) => void;
  readonly kubeletSilent: (machine: Machine) => void;
  /** Why the attachment of a disk is being deleted, unless a running kubelet has released it. */
  readonly whyDetached: (machine: Machine, disk: Disk) => string;
  readonly noteDeletion: (attachment: string, why: string) => void;
  /** Removes what it knows about objects that are gone. */
  readonly prune: () => void;
  readonly setAttacher: (works: boolean) => void;
  readonly rivals: Rivals;
}

interface Surroundings {
  readonly engine: Engine;
  readonly random: SeededRandom;
  readonly fleet: Fleet;
  readonly workloads: readonly Workload[];
  readonly cloudControllerDeletes: boolean;
  /** The Nodes that run the control plane. */
  readonly controlPlane: readonly string[];
}

const NAMESPACE = 'default';
const GKE_INSTANCE_ID = 'container.googleapis.com/instance_id';
const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const UNREACHABLE = 'node.kubernetes.io/unreachable';
const ATTACHER_FINALIZER = 'external-attacher/simulated';

/** How long each controller waits after a change before it looks again (ms). */
const DELAYS = {
  kubelets: [50, 2_000],
  workloads: [10, 400],
  scheduler: [10, 300],
  'attach-detach': [100, 1_500],
  attacher: [300, 3_000],
  'pod-gc': [100, 20_000],
  'cloud-controller': [2_000, 20_000],
} as const;

type Controller = keyof typeof DELAYS;

const CONTROLLERS: readonly Controller[] = [
  'kubelets',
  'workloads',
  'scheduler',
  'attach-detach',
  'attacher',
  'pod-gc',
  'cloud-controller',
];

const toleratesEverything = ({ spec }: V1Pod): boolean =>
  (spec?.tolerations ?? []).some(({ key, operator }) => key === undefined && operator === 'Exists');

const EVICTION_MS = 300_000;

export const podKey = (name: string): string => keyIn(NAMESPACE, name);

const CLAIMS = ['data', 'wal'] as const;
const claimOf = (workload: Workload, at: number): string => `${CLAIMS[at] ?? at}-${workload.name}`;

const tolerationsOf = ({ kind, tolerates }: Workload): readonly V1Toleration[] => {
  if (kind === 'DaemonSet' || tolerates === 'everything') return [{ operator: 'Exists' }];
  return tolerates ? [{ key: OUT_OF_SERVICE.key, operator: 'Exists' }] : [];
};
export const handleKey = (driver: string, handle: string): string => `kubernetes.io/csi/${driver}^${handle}`;

export const createKubernetes = ({
  engine,
  random,
  fleet,
  workloads,
  cloudControllerDeletes,
  controlPlane,
}: Surroundings): Cluster => {
  let attacherWorks = true;
  const pending = new Set<Controller>();
  const machineOfNode = new Map<string, Machine>();
  const machineOfPod = new Map<string, Machine>();
  const machineOfAttachment = new Map<string, Machine>();
  const deletedBecause = new Map<string, string>();
  const orphanedSince = new Map<string, number>();
  const detaching = new Map<string, string>();
  const now = (): Date => new Date(EPOCH + engine.now());

  const wakeOne = (controller: Controller): void => {
    if (pending.has(controller)) return;
    pending.add(controller);
    const [least, most] = DELAYS[controller];
    engine.after(random.between(least, most), () => {
      pending.delete(controller);
      controllers[controller]();
    });
  };
  const wake = (): void => {
    for (const controller of CONTROLLERS) wakeOne(controller);
  };
  const objects = createObjects(engine.now, wake);
  createLedger(objects);

  const machineAt = (node: string): Machine | undefined => {
    const object = objects.nodes.get(node);
    return object && machineOfNode.get(uidOf(object));
  };
  const nodeBelow = (machine: Machine): V1Node | undefined => {
    const node = objects.nodes.get(machine.node);
    return node && machineOfNode.get(uidOf(node)) === machine ? node : undefined;
  };
  const podOf = (workload: Workload): V1Pod | undefined => objects.pods.get(podKey(workload.name));
  const workloadOf = (pod: V1Pod): Workload | undefined => workloads.find(({ name }) => name === nameOf(pod));
  const disksOf = (pod: V1Pod): readonly Disk[] => workloadOf(pod)?.disks ?? [];
  const attachmentOf = (disk: Disk, node: string): string =>
    attachmentName({ driver: driverOf(disk.cloud), handle: disk.id }, node);
  const diskOf = ({ spec }: V1VolumeAttachment): Disk | undefined =>
    [...fleet.disks.values()].find(({ id }) => volumeNameOf(id) === spec.source.persistentVolumeName);

  const statusWith = (node: V1Node, change: Partial<NonNullable<V1Node['status']>>): V1Node => ({
    ...node,
    status: { ...node.status, ...change },
  });
  const readyCondition = (status: 'True' | 'Unknown') => [{ type: 'Ready', status, lastTransitionTime: now() }];

  const rivals = createRivals({ engine, objects, machineOfNode });
  const leaseOf = (node: string): string | null => {
    const renewed = rivals.leaseOf(node);
    if (renewed !== null) return renewed;
    const machine = machineAt(node) ?? fleet.machines.findLast((one) => one.node === node);
    const at = machine && objects.nodes.get(node) ? renewedAt(machine, engine.now()) : null;
    return machine && at !== null ? renewTimeAt(at + machine.skew, machine.serial % 1_000) : null;
  };

  const putInUse = (machine: Machine): void => {
    const node = nodeBelow(machine);
    if (!node || !machine.connected) return;
    const volumesInUse = [...new Set([...machine.mounted, ...machine.mounting])].map((id) =>
      handleKey(driverOf(machine.cloud), id),
    );
    if (JSON.stringify(node.status?.volumesInUse ?? []) === JSON.stringify(volumesInUse)) return;
    objects.nodes.put(machine.node, statusWith(node, { volumesInUse }));
  };
  const putAttached = (node: string): void => {
    const object = objects.nodes.get(node);
    if (!object) return;
    const volumesAttached = objects.attachments
      .all()
      .filter(({ spec, status }) => spec.nodeName === node && status?.attached === true)
      .map((attachment) => {
        const disk = diskOf(attachment);
        return { name: handleKey(attachment.spec.attacher, disk?.id ?? ''), devicePath: '' };
      });
    if (JSON.stringify(object.status?.volumesAttached ?? []) === JSON.stringify(volumesAttached)) return;
    objects.nodes.put(node, statusWith(object, { volumesAttached }));
  };

  const nodeOf = (machine: Machine): V1Node => ({
    metadata: {
      name: machine.node,
      labels: {
        [ZONE_LABEL]: machine.zone,
        'kubernetes.io/hostname': machine.node,
        ...(controlPlane.includes(machine.node) && { [CONTROL_PLANE]: '' }),
      },
      annotations: {
        [CSI_NODE_IDS]: JSON.stringify({ [driverOf(machine.cloud)]: nodeIdOf(machine) }),
        ...(machine.cloud === 'gcp' && { [GKE_INSTANCE_ID]: numericIdOf(machine) }),
      },
    },
    spec: { providerID: providerIdOf(machine) },
    status: {
      nodeInfo: {
        architecture: '',
        bootID: `${machine.name}-boot-${machine.boot}`,
        containerRuntimeVersion: '',
        kernelVersion: '',
        kubeletVersion: '',
        kubeProxyVersion: '',
        machineID: '',
        operatingSystem: '',
        osImage: '',
        systemUUID: systemUuidOf(machine),
      },
      conditions: readyCondition('True'),
    },
  });
  const putCsiNode = (machine: Machine): void => {
    const drivers = [{ name: driverOf(machine.cloud), nodeID: nodeIdOf(machine) }];
    objects.csiNodes.put(machine.node, { metadata: { name: machine.node }, spec: { drivers } });
  };
  const join = (machine: Machine): void => {
    const node = objects.nodes.put(machine.node, nodeOf(machine));
    machineOfNode.set(uidOf(node), machine);
    putCsiNode(machine);
  };
  const bindPod = (machine: Machine, pod: V1Pod): void =>
    void machineOfPod.set(uidOf(objects.pods.put(podKey(nameOf(pod)), pod)), machine);
  /** The Node of a machine that is gone becomes that of another one, with its pods. Its provider ID stays. */
  const takeOver = (machine: Machine, node: V1Node): V1Node => {
    machineOfNode.set(uidOf(node), machine);
    const annotations = { ...node.metadata?.annotations, ...nodeOf(machine).metadata?.annotations };
    const taken = objects.nodes.put(machine.node, { ...node, metadata: { ...node.metadata, annotations } });
    putCsiNode(machine);
    for (const pod of objects.pods.all())
      if (pod.spec?.nodeName === machine.node) machineOfPod.set(uidOf(pod), machine);
    return taken;
  };
  const kubeletPosts = (machine: Machine): void => {
    const standing = objects.nodes.get(machine.node);
    if (!standing) return join(machine);
    const node = nodeBelow(machine) ?? (machine.takesOver ? takeOver(machine, standing) : undefined);
    if (!node) return;
    const fresh = nodeOf(machine);
    const taints = taintsOf(node).filter(({ key }) => key !== UNREACHABLE);
    const conditions = isReady(node) ? (node.status?.conditions ?? []) : readyCondition('True');
    objects.nodes.put(
      machine.node,
      withTaints(statusWith(node, { ...fresh.status, conditions, ...kept(node) }), taints),
    );
    putInUse(machine);
  };

  const kept = ({ status }: V1Node) => ({
    ...(status?.volumesInUse && { volumesInUse: status.volumesInUse }),
    ...(status?.volumesAttached && { volumesAttached: status.volumesAttached }),
  });

  const evictAt = (machine: Machine, uid: string): void => {
    const node = objects.nodes.get(machine.node);
    if (!node || uidOf(node) !== uid || isReady(node)) return;
    for (const pod of objects.pods.all())
      if (pod.spec?.nodeName === machine.node && !isDeleting(pod) && !toleratesEverything(pod))
        objects.pods.put(podKey(nameOf(pod)), { ...pod, metadata: { ...pod.metadata, deletionTimestamp: now() } });
  };
  const kubeletSilent = (machine: Machine): void => {
    const before = machine.lastRenewal;
    const judge = (): void => {
      const node = objects.nodes.get(machine.node);
      if (!node || machine.lastRenewal !== before || before === null || !isReady(node)) return;
      if (machineOfNode.get(uidOf(node)) !== machine) return;
      const unreachable = [
        { key: UNREACHABLE, effect: 'NoSchedule', timeAdded: now() },
        { key: UNREACHABLE, effect: 'NoExecute', timeAdded: now() },
      ];
      objects.nodes.put(
        machine.node,
        withTaints(statusWith(node, { conditions: readyCondition('Unknown') }), [...taintsOf(node), ...unreachable]),
      );
      engine.after(EVICTION_MS, () => evictAt(machine, uidOf(node)));
    };
    engine.after(random.between(40_000, 52_000), judge);
  };

  const isWanted = (disk: Disk, node: string): boolean =>
    objects.pods
      .all()
      .some((pod) => pod.spec?.nodeName === node && disksOf(pod).includes(disk) && pod.status?.phase !== 'Failed');
  const mayLetGo = (disk: Disk, node: V1Node | undefined): string | null => {
    if (!node) return 'its Node is gone';
    const inUse = node.status?.volumesInUse?.includes(handleKey(driverOf(disk.cloud), disk.id)) ?? false;
    if (!inUse) return 'the kubelet has unmounted it';
    if (isReady(node) || !hasTaintKey(node, OUT_OF_SERVICE.key)) return null;
    return hasOurTaint(node) ? 'our out-of-service taint' : 'a foreign out-of-service taint';
  };

  const mountOn = (machine: Machine, workload: Workload, disk: Disk, uid: string): void => {
    if (machine.mounted.has(disk.id) || machine.mounting.has(disk.id)) return;
    const { boot } = machine;
    // A kubelet reports the disk as in use before it mounts the disk, so that attach-detach waits for it.
    machine.mounting.add(disk.id);
    putInUse(machine);
    // The kubelet has seen its pod and the attachment, and continues, whatever happens to them meanwhile.
    engine.after(random.between(50, 2_500), () => {
      // The same kubelet does not mount a disk that it has let go.
      if (machine.boot !== boot || !isUp(machine) || !machine.mounting.delete(disk.id)) return;
      if (disk.holder !== machine || machine.mountsFrom > engine.now()) return putInUse(machine);
      const pod = podOf(workload);
      machine.mounted.add(disk.id);
      putInUse(machine);
      const isMounted = workload.disks.every(({ id }) => machine.mounted.has(id));
      if (pod && uidOf(pod) === uid && isMounted && machine.connected && pod.status?.phase === 'Pending')
        objects.pods.put(podKey(workload.name), { ...pod, status: { phase: 'Running' } });
      wakeOne('kubelets');
    });
  };
  const letGo = (machine: Machine, disk: string): void => {
    machine.mounted.delete(disk);
    machine.mounting.delete(disk);
  };
  const endPod = (machine: Machine, pod: V1Pod): void => {
    for (const disk of disksOf(pod)) letGo(machine, disk.id);
    putInUse(machine);
    deletePodIn(objects.pods, pod, now());
  };
  const isAttachedTo = (machine: Machine, disk: Disk): boolean => {
    const attachment = objects.attachments.get(attachmentOf(disk, machine.node));
    return attachment?.status?.attached === true && !isDeleting(attachment);
  };
  const lookAsKubelet = (machine: Machine): void => {
    const node = nodeBelow(machine);
    if (!node || !bootOf(node).endsWith(`-boot-${machine.boot}`)) return;
    const own = objects.pods.all().filter(({ spec }) => spec?.nodeName === machine.node);
    for (const pod of own) {
      const workload = workloadOf(pod);
      if (!workload && isDeleting(pod)) endPod(machine, pod);
      if (!workload) continue;
      // A kubelet runs the pods that are bound to the name of its Node, whoever had that name before.
      machineOfPod.set(uidOf(pod), machine);
      if (isDeleting(pod) || pod.status?.phase === 'Failed') endPod(machine, pod);
      else if (workload.disks.length === 0) {
        if (pod.status?.phase === 'Pending')
          objects.pods.put(podKey(nameOf(pod)), { ...pod, status: { phase: 'Running' } });
      }
      if (!isDeleting(pod) && pod.status?.phase !== 'Failed')
        for (const disk of workload.disks)
          if (isAttachedTo(machine, disk)) mountOn(machine, workload, disk, uidOf(pod));
    }
    const wanted = new Set(own.flatMap(disksOf).map(({ id }) => id));
    for (const id of [...machine.mounted, ...machine.mounting]) if (!wanted.has(id)) letGo(machine, id);
    putInUse(machine);
  };

  const requestAttachment = (disk: Disk, node: string, machine: Machine): void => {
    if (objects.attachments.all().some((attachment) => diskOf(attachment) === disk)) return;
    const name = attachmentOf(disk, node);
    const made = objects.attachments.put(name, {
      metadata: { name, finalizers: [ATTACHER_FINALIZER] },
      spec: { attacher: driverOf(disk.cloud), nodeName: node, source: { persistentVolumeName: volumeNameOf(disk.id) } },
      status: { attached: false },
    });
    machineOfAttachment.set(uidOf(made), machine);
  };
  const createPod = (workload: Workload): void => {
    const { name, kind, disks, node } = workload;
    const owner = { apiVersion: 'apps/v1', kind, name, uid: `owner-${name}`, controller: true };
    const volumes = disks.map((_, at) => ({
      name: CLAIMS[at] ?? '',
      persistentVolumeClaim: { claimName: claimOf(workload, at) },
    }));
    const tolerations = [...tolerationsOf(workload)];
    const pod = objects.pods.put(podKey(name), {
      metadata: { name, namespace: NAMESPACE, ownerReferences: [owner] },
      spec: { containers: [], volumes, tolerations, ...(kind === 'DaemonSet' && node !== null && { nodeName: node }) },
      status: { phase: 'Pending' },
    });
    const machine = kind === 'DaemonSet' && node !== null ? machineAt(node) : undefined;
    if (machine) machineOfPod.set(uidOf(pod), machine);
  };

  const controllers: Readonly<Record<Controller, () => void>> = {
    kubelets: () => {
      for (const machine of fleet.machines)
        if (isUp(machine) && machine.connected && machine.mountsFrom <= engine.now()) lookAsKubelet(machine);
    },
    workloads: () => {
      for (const workload of workloads) {
        const pod = podOf(workload);
        if (pod?.status?.phase === 'Failed' && isDeleting(pod)) continue;
        if (pod && pod.status?.phase !== 'Failed') continue;
        if (pod) deletePodIn(objects.pods, pod, now());
        if (podOf(workload)) continue;
        if (workload.kind !== 'DaemonSet' || objects.nodes.get(workload.node ?? '')) createPod(workload);
      }
    },
    scheduler: () => {
      for (const pod of objects.pods.all()) {
        const workload = workloadOf(pod);
        if (!workload || pod.spec?.nodeName !== undefined || isDeleting(pod)) continue;
        const fitting = objects.nodes.all().filter((node) => {
          const machine = machineOfNode.get(uidOf(node));
          const [place] = workload.disks;
          const fits = !place || (machine?.cloud === place.cloud && machine.zone === place.zone);
          return fits && isReady(node) && taintsOf(node).length === 0;
        });
        if (fitting.length === 0) continue;
        const node = random.oneOf(fitting);
        const bound = objects.pods.put(podKey(nameOf(pod)), {
          ...pod,
          spec: { containers: [], ...pod.spec, nodeName: nameOf(node) },
        });
        const machine = machineOfNode.get(uidOf(node));
        if (machine) machineOfPod.set(uidOf(bound), machine);
      }
    },
    'attach-detach': () => {
      for (const attachment of objects.attachments.all()) {
        const disk = diskOf(attachment);
        if (!disk || isDeleting(attachment) || isWanted(disk, attachment.spec.nodeName)) continue;
        const why = mayLetGo(disk, objects.nodes.get(attachment.spec.nodeName));
        if (why === null) continue;
        deletedBecause.set(uidOf(attachment), why);
        deleteAttachmentIn(objects.attachments, attachment, now());
      }
      for (const pod of objects.pods.all()) {
        const node = pod.spec?.nodeName;
        if (node === undefined || pod.status?.phase === 'Failed' || isDeleting(pod)) continue;
        const machine = machineAt(node);
        if (machine) for (const disk of disksOf(pod)) requestAttachment(disk, node, machine);
      }
    },
    attacher: () => {
      if (!attacherWorks) return;
      for (const attachment of objects.attachments.all()) {
        const disk = diskOf(attachment);
        const noted = machineOfAttachment.get(uidOf(attachment));
        // The driver looks up the machine of a Node again, and sees a disk that is not attached any more.
        const standing = isDeleting(attachment) ? undefined : machineAt(attachment.spec.nodeName);
        const machine = standing ?? noted;
        if (!disk || !machine) continue;
        machineOfAttachment.set(uidOf(attachment), machine);
        const isAttached = attachment.status?.attached === true && machine === noted;
        const { name = '', annotations } = attachment.metadata ?? {};
        if (isDeleting(attachment)) {
          detaching.set(`${machine.serial} ${disk.id}`, deletedBecause.get(uidOf(attachment)) ?? 'somebody');
          fleet.detach(machine, disk, false);
          detaching.delete(`${machine.serial} ${disk.id}`);
          objects.attachments.remove(name);
          putAttached(machine.node);
        } else if (!isAttached && fleet.attach(machine, disk)) {
          const withId = { ...annotations, [ATTACHED_NODE_ID]: nodeIdOf(machine) };
          objects.attachments.put(name, {
            ...attachment,
            metadata: { ...attachment.metadata, annotations: withId },
            status: { attached: true },
          });
          putAttached(machine.node);
        }
      }
    },
    'pod-gc': () => {
      let again = false;
      for (const pod of objects.pods.all()) {
        const name = pod.spec?.nodeName;
        const node = objects.nodes.get(name ?? '');
        if (name === undefined) continue;
        if (!node) {
          const since = orphanedSince.get(uidOf(pod)) ?? engine.now();
          orphanedSince.set(uidOf(pod), since);
          if (engine.now() - since >= 40_000) deletePodIn(objects.pods, pod, now());
          else again = true;
        } else if (isDeleting(pod) && !isReady(node) && hasTaintKey(node, OUT_OF_SERVICE.key))
          deletePodIn(objects.pods, pod, now());
      }
      if (again) wakeOne('pod-gc');
    },
    'cloud-controller': () => {
      if (!cloudControllerDeletes) return;
      for (const node of objects.nodes.all()) {
        const machine = machineOfNode.get(uidOf(node));
        if (!machine || !isGone(machine) || isReady(node)) continue;
        objects.nodes.remove(nameOf(node));
        objects.csiNodes.remove(nameOf(node));
      }
    },
  };

  const provision = (disk: Disk, claim: string): void => {
    const volume = volumeNameOf(disk.id);
    const csi = { driver: driverOf(disk.cloud), volumeHandle: disk.id };
    objects.volumes.put(volume, {
      metadata: { name: volume },
      spec: { csi, claimRef: { namespace: NAMESPACE, name: claim } },
    });
    objects.claims.put(keyIn(NAMESPACE, claim), {
      metadata: { name: claim, namespace: NAMESPACE },
      spec: { volumeName: volume },
    });
  };
  for (const workload of workloads)
    for (const [at, disk] of workload.disks.entries()) provision(disk, claimOf(workload, at));
  return {
    objects,
    workloads,
    machineOfNode,
    nodeBelow,
    machineOfPod,
    machineOfAttachment,
    leaseOf,
    leases: () => objects.nodes.all().map(nameOf),
    wake,
    join,
    bindPod,
    kubeletPosts,
    kubeletSilent,
    whyDetached: (machine, disk) =>
      detaching.get(`${machine.serial} ${disk.id}`) ?? (isOff(machine) ? 'the cloud' : ''),
    noteDeletion: (attachment, why) => void deletedBecause.set(attachment, why),
    prune: () => {
      const { nodes, pods, attachments } = objects;
      const uids = new Set([...nodes.all(), ...pods.all(), ...attachments.all()].map(uidOf));
      for (const map of [machineOfNode, machineOfPod, machineOfAttachment, deletedBecause, orphanedSince])
        for (const uid of map.keys()) if (!uids.has(uid)) map.delete(uid);
    },
    rivals,
    setAttacher: (works) => {
      attacherWorks = works;
      wake();
    },
  };
};
