import type { V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import { OUT_OF_SERVICE } from '../../kubernetes/names.ts';
import { isDeleting, nameOf, uidOf } from './cluster-objects.ts';
import type { Cluster } from './kubernetes.ts';
import type { Machine } from './machines.ts';
import { volumeNameOf } from './names.ts';

/** Pods that tolerate our taint: they stay on a dead machine, with their disks, until somebody else deletes them. */

const stays = (pod: V1Pod): boolean =>
  !isDeleting(pod) &&
  (pod.spec?.tolerations ?? []).some(
    ({ key, operator }) => key === OUT_OF_SERVICE.key || (key === undefined && operator === 'Exists'),
  );

type Pods = Pick<Cluster, 'objects' | 'workloads' | 'machineOfPod' | 'nodeBelow'>;

/** A pod is bound to the name of a Node. So the next machine that joins under that name also has the pod. */
const isOn = (pod: V1Pod, machine: Machine, { machineOfPod, nodeBelow }: Pods): boolean =>
  machineOfPod.get(uidOf(pod)) === machine || (pod.spec?.nodeName === machine.node && nodeBelow(machine) !== undefined);

/** Returns the pods that must stay on the machine. */
export const stayingOn = (machine: Machine, cluster: Pods): readonly V1Pod[] =>
  cluster.objects.pods.all().filter((pod) => stays(pod) && isOn(pod, machine, cluster));

/** Returns the names of the PersistentVolumes that these pods use. */
export const volumesOf = (pods: readonly V1Pod[], { workloads }: Pods): ReadonlySet<string> =>
  new Set(
    pods.flatMap((pod) => {
      const disks = workloads.find(({ name }) => name === nameOf(pod))?.disks ?? [];
      return disks.map(({ id }) => volumeNameOf(id));
    }),
  );
