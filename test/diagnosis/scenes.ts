import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod, addBoundClaim, addDeployment } from '../../sandbox/cluster/fixtures.ts';
import { getObject, listObjects } from '../../sandbox/cluster/get-objects.ts';
import type { Condition, PodObject, VolumeAttachmentObject } from '../../sandbox/cluster/objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { volumeIn } from '../../sandbox/ec2/state.ts';
import { stage, type Incident } from '../simulation/incidents.ts';
import { edit } from './ec2-diagnosis.ts';

/** A cluster of two healthy Nodes, and a pod `app` with its own disk that is about to wait. */

export const at = (world: AwsWorld, offset = 0): string =>
  new Date(world.now() + offset).toISOString().replace(/\.\d+Z$/, 'Z');

const podNamed = (world: AwsWorld, name: string): PodObject => {
  const pod = getObject(world, 'pods', name, 'default');
  if (!pod) throw new Error(`no pod ${name}`);
  return pod;
};

/** Adds a claim `app-data` with a disk. Returns the disk. */
export const addClaim = (world: AwsWorld, name = 'app-data'): string => {
  const disk = addVolume(world);
  addBoundClaim(world, name, { driver: EBS, handle: disk, zone: volumeIn(world, disk)?.zone ?? '' });
  return disk;
};

/** Adds a pod that may run on one Node only. */
export const addPod = (world: AwsWorld, name: string, node: string, claim = 'app-data'): void =>
  void addBarePod(world, {
    name,
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': node },
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
    },
  });

/** Adds a pod that the scheduler has not placed, with the words of the scheduler. */
export const addUnplaced = (world: AwsWorld, says: string): void => {
  addPod(world, 'app', 'no-such-node');
  edit(world, 'pods', ['app', 'default'], ({ status }) => {
    status.conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: says }];
  });
};

export interface AppScene extends Incident {
  readonly disk: string;
  /** The Node of the pod, and the other one. */
  readonly node: string;
  readonly other: string;
}

export const twoNodes = (): AppScene => {
  const { world, scene } = stage(1);
  const disk = addClaim(world);
  return { world, scene, disk, node: scene.nodeOf(scene.spare), other: scene.nodeOf(scene.holder) };
};

/** The claim is Pending, without a volume. `provisioner` is the driver that should create one; null if no driver is named. */
export const setClaimPending = (world: AwsWorld, name = 'app-data', provisioner: string | null = EBS): void =>
  edit(world, 'persistentvolumeclaims', [name, 'default'], (claim) => {
    claim.status = { phase: 'Pending' };
    delete claim.spec.volumeName;
    if (provisioner !== null) claim.metadata.annotations = { 'volume.kubernetes.io/storage-provisioner': provisioner };
  });

/** The claim has been Pending for two minutes, and the scheduler has said this about the pod. */
export const unplacedWithPendingClaim = (says: string, provisioner: string | null = EBS): AwsWorld => {
  const { world } = twoNodes();
  setClaimPending(world, 'app-data', provisioner);
  addUnplaced(world, says);
  world.advance(120_000);
  return world;
};

/** The pod `app` was created five minutes ago, and nothing has handled its VolumeAttachment. */
export const unanswered = (): AppScene => {
  const begun = twoNodes();
  begun.world.parts.cluster.knobs.attacherDown = true;
  addPod(begun.world, 'app', begun.node);
  begun.world.advance(300_000);
  return begun;
};

export const attachmentOn = (
  world: AwsWorld,
  node: string,
  volume = 'pvc-default-app-data',
): VolumeAttachmentObject => {
  const found = listObjects(world, 'volumeattachments').find(
    ({ spec }) => spec.nodeName === node && spec.source.persistentVolumeName === volume,
  );
  if (!found) throw new Error(`no attachment to ${node}`);
  return found;
};

/** The driver returned this error a moment ago when it attached the volume of the pod. */
export const attachFailed = (says: string): AppScene => {
  const begun = unanswered();
  const { world, node } = begun;
  edit(world, 'volumeattachments', [attachmentOn(world, node).metadata.name], ({ status }) => {
    status.attachError = { time: at(world, -5_000), message: says };
  });
  return begun;
};

/** A pod runs, and its kubelet now says that a container waits: the mount has not ended. */
export const mountPending = (): AppScene => {
  const begun = twoNodes();
  const { world } = begun;
  addPod(world, 'app', begun.node);
  settle(world);
  world.advance(300_000);
  edit(world, 'pods', ['app', 'default'], ({ status }) => {
    status.phase = 'Pending';
    status.containerStatuses = [{ name: 'main', ready: false, state: { waiting: { reason: 'ContainerCreating' } } }];
    status.conditions = (status.conditions ?? []).map((one): Condition =>
      one.type === 'Ready' ? { ...one, status: 'False' } : one,
    );
  });
  return begun;
};

export const addEvent = (
  world: AwsWorld,
  about: { readonly kind: string; readonly name: string; readonly uid: string },
  reason: string,
  note: string,
): void =>
  void writerAs(world, 'kubelet').create('events', {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${about.name}.${reason.toLowerCase()}`, namespace: 'default' },
    eventTime: at(world, -20_000),
    reason,
    type: 'Warning',
    note,
    regarding: { ...about, namespace: 'default' },
  });

/** An event of the kubelet about the pod. */
export const addPodEvent = (world: AwsWorld, reason: string, note: string, name = 'app'): void =>
  addEvent(world, { kind: 'Pod', name, uid: podNamed(world, name).metadata.uid }, reason, note);

/** A Deployment with one pod of each of two revisions: the old one runs, and the new one waits on the other Node. */
export const rollout = (): AppScene => {
  const begun = twoNodes();
  const { world, node, other } = begun;
  const deployment = addDeployment(world, { name: 'web', replicas: 0 });
  const writer = writerAs(world, 'deployment-controller');
  const owned = (kind: string, owner: { metadata: { name: string; uid: string } } | undefined) => [
    { apiVersion: 'apps/v1', kind, name: owner?.metadata.name ?? '', uid: owner?.metadata.uid ?? '', controller: true },
  ];
  for (const [revision, place] of [
    ['14', other],
    ['15', node],
  ] as const) {
    const set = writer.create('replicasets', {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name: `web-${revision}`,
        namespace: 'default',
        annotations: { 'deployment.kubernetes.io/revision': revision },
        ownerReferences: owned('Deployment', deployment),
      },
      spec: { replicas: 1, template: { metadata: {}, spec: { containers: [] } } },
    });
    addPod(world, `web-${revision}-pod`, place);
    edit(world, 'pods', [`web-${revision}-pod`, 'default'], ({ metadata }) => {
      metadata.ownerReferences = owned('ReplicaSet', set);
    });
    world.advance(120_000);
  }
  return begun;
};

/** An event about the claim. */
export const addClaimEvent = (world: AwsWorld, reason: string, note: string): void => {
  const claim = getObject(world, 'persistentvolumeclaims', 'app-data', 'default');
  addEvent(world, { kind: 'PersistentVolumeClaim', name: 'app-data', uid: claim?.metadata.uid ?? '' }, reason, note);
};

/** The pod `app` runs on the other Node, and `next` has been waiting for its volume for `waits` ms. */
export const held = (waits = 120_000) => {
  const begun = twoNodes();
  const { world, node, other } = begun;
  addPod(world, 'app', other);
  settle(world);
  world.advance(60_000);
  addPod(world, 'next', node);
  world.advance(waits);
  return begun;
};
