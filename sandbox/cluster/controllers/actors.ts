import type { UnderlyingCloud } from '../../underlying-cloud.ts';
import type { Actors, World } from '../../world.ts';
import { reconcileVolumes, syncAttachedVolumes } from './attach-detach.ts';
import { attacherRuns } from './attacher-leader.ts';
import { askCloud } from './cloud-controller.ts';
import { keepDaemonSet } from './daemonset.ts';
import { keepDeployment } from './deployment.ts';
import { callDriver, syncAttachment } from './external-attacher.ts';
import { collectOwnedByNodes } from './garbage-collector.ts';
import type { CloudView } from './cloud-view.ts';
import { cloudViewOf } from './cloud-view.ts';
import { keepJob } from './job.ts';
import { kubeletPod, syncPods } from './kubelet-pods.ts';
import { kubeletStart, kubeletTick } from './kubelet.ts';
import type { ClusterParts, ClusterWorld } from '../cluster-world.ts';
import { monitorNodes, taintByCondition } from './node-lifecycle.ts';
import { collectPods, removeFailed } from './pod-gc.ts';
import { keepDisks } from './provisioner.ts';
import { schedulePods } from './scheduler.ts';
import { keepStatefulSet } from './statefulset.ts';
import { evictByName } from './taint-eviction.ts';
import { schedulePeriodic } from './times.ts';
import { lookAtOperation } from './volume-operations.ts';
import { taintQueued } from './zone-limiter.ts';

type CloudActor = (cloudView: CloudView, world: ClusterWorld, about: string) => void;

const leaseEvery = 2_000;

const renewLeadership: CloudActor = (cloudView, world) => {
  attacherRuns(cloudView, world);
  world.schedule('external-attacher/lease', leaseEvery);
};

/** The actors that need the cloud. */
const cloudActors: Readonly<Record<string, CloudActor>> = {
  kubelet: kubeletTick,
  'kubelet/start': kubeletStart,
  'kubelet/pods': syncPods,
  'kubelet/pod': kubeletPod,
  'external-attacher': syncAttachment,
  'external-attacher/call': callDriver,
  'external-attacher/lease': renewLeadership,
  'cloud-controller': askCloud,
  provisioner: keepDisks,
};

const inCluster: Actors<ClusterParts> = {
  'node-lifecycle': monitorNodes,
  'node-lifecycle/condition': taintByCondition,
  'node-lifecycle/taint': taintQueued,
  'taint-eviction': evictByName,
  'pod-gc': collectPods,
  'pod-gc/remove': removeFailed,
  'garbage-collector': collectOwnedByNodes,
  'attach-detach': reconcileVolumes,
  'attach-detach/look': lookAtOperation,
  'attach-detach/sync': syncAttachedVolumes,
  scheduler: schedulePods,
  statefulset: keepStatefulSet,
  deployment: keepDeployment,
  daemonset: keepDaemonSet,
  job: keepJob,
};

/** All kubelets and controllers, ported from Kubernetes, on the given cloud. */
export const clusterActors = <Parts extends ClusterParts>(underlying: UnderlyingCloud<Parts>): Actors<Parts> => ({
  ...inCluster,
  ...Object.fromEntries(Object.entries(cloudActors).map(([name, act]) => [name, withCloudView(underlying, act)])),
});

const withCloudView =
  <Parts extends ClusterParts>(underlying: UnderlyingCloud<Parts>, act: CloudActor) =>
  (world: World<Parts>, about: string): void =>
    act(cloudViewOf(underlying, world), world, about);

/** Schedules the periodic actors, each with its own offset. */
export const startControlPlane = (world: ClusterWorld): void => {
  schedulePeriodic(world, 'node-lifecycle', 5_000);
  schedulePeriodic(world, 'pod-gc', 20_000);
  schedulePeriodic(world, 'attach-detach/sync', 60_000);
  schedulePeriodic(world, 'cloud-controller', 5_000);
  schedulePeriodic(world, 'external-attacher/lease', leaseEvery);
};
