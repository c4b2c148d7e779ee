import type { WorkloadObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { listObjects } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { isActive, isFinished, ownedBy, podOf, randomSuffix } from './pods.ts';

export const jobTracking = 'batch.kubernetes.io/job-tracking';

/** Removes its finalizer from pods that have ended, and replaces pods that did not succeed. */
export const keepJob = (world: ClusterWorld, key: string): void => {
  const job = world.parts.cluster.objects.jobs[key];
  if (!job || job.metadata.deletionTimestamp !== undefined) return;
  const writer = writerAs(world, 'job-controller');
  for (const pod of listObjects(world, 'pods').filter((other) => ownedBy(other, job))) {
    if (!isFinished(pod) || !pod.metadata.finalizers?.includes(jobTracking)) continue;
    writer.change('pods', pod, (draft) => {
      draft.metadata.finalizers = (draft.metadata.finalizers ?? []).filter((finalizer) => finalizer !== jobTracking);
    });
  }
  replaceFailed(world, job);
};

const replaceFailed = (world: ClusterWorld, job: WorkloadObject): void => {
  const own = listObjects(world, 'pods').filter((pod) => ownedBy(pod, job));
  const counted = own.filter((pod) => isActive(pod) || pod.status.phase === 'Succeeded').length;
  for (let missing = job.spec.replicas - counted; missing > 0; missing -= 1) {
    const draft = podOf(job, `${job.metadata.name}-${randomSuffix(world)}`, job.spec.template.spec);
    writerAs(world, 'job-controller').create('pods', {
      ...draft,
      metadata: { ...draft.metadata, finalizers: [jobTracking] },
    });
  }
};
