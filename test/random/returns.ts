import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { FenceRecord } from '../../fencing/model/record.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { isDeleting, bootOf, isReady, nameOf, readySince, uidOf } from './cluster-objects.ts';
import { hasOurTaint, labelledFence } from './fence-on-node.ts';
import type { Interference } from './interference.ts';
import { type Cluster, podKey } from './kubernetes.ts';
import type { Machine } from './machines.ts';
import { volumeNameOf } from './names.ts';
import { EPOCH } from './process.ts';

/** What a release must wait for: a return that is proven, or a person who ends exactly this fence. */

/** How long controllers may act on a cached taint after its removal (ms). */
const SETTLES_MS = 30_000;

interface World {
  readonly now: () => number;
  readonly cluster: Cluster;
  readonly machines: readonly Machine[];
  readonly interference: Interference;
  /** How long a run may act on what it has read (ms). */
  readonly readLasts: number;
  readonly fail: (says: string) => void;
}

/** Whether the cloud has said at some time since then that the machine runs. */
const ranSince = ({ history }: Machine, since: number): boolean =>
  history.some(({ shown }, at) => shown.power === 'running' && (history[at + 1]?.at ?? Infinity) >= since);

export const createReturns = ({ now, cluster, machines, interference, readLasts, fail }: World) => {
  /** By the uid of the Node: when Cloudfence removed our taint from it. */
  const untaintedAt = new Map<string, number>();

  /** A pod on the Node needs the volume of the attachment. */
  const isWanted = (volume: string, node: V1Node): boolean =>
    cluster.workloads
      .filter(({ disks }) => disks.some(({ id }) => volumeNameOf(id) === volume))
      .some(({ name }) => {
        const pod = cluster.objects.pods.get(podKey(name));
        return pod?.spec?.nodeName === nameOf(node) && !isDeleting(pod);
      });
  /** An attachment that the fence should have removed. */
  const leftOf = ({ fence, volumes }: FenceRecord, node: V1Node): string | undefined => {
    const begun = EPOCH + (interference.begun(fence)?.at ?? -Infinity);
    const named = volumes.flatMap(({ attachment }) => cluster.objects.attachments.get(attachment) ?? []);
    const left = named.find(
      (one) =>
        (one.metadata?.creationTimestamp?.getTime() ?? Infinity) < begun &&
        !isWanted(one.spec.source.persistentVolumeName ?? '', node),
    );
    return left && nameOf(left);
  };
  const missingFor = (record: FenceRecord, node: V1Node): string | null => {
    const machine = cluster.machineOfNode.get(uidOf(node));
    if (record.bootID === bootOf(node) || (labelledFence(node) ?? record.fence) !== record.fence)
      return 'in the boot that it is for';
    // The cloud may answer about a machine that has taken over the id.
    const named = machine ? [machine, ...machines.filter(({ id }) => id === machine.id)] : [];
    if (machine && !named.some((one) => ranSince(one, now() - readLasts)))
      return `although ${machine.name} is ${machine.shown.power}`;
    if (!isReady(node) && now() + EPOCH - readySince(node) > readLasts) return 'although its Node is not Ready';
    const left = leftOf(record, node);
    return left === undefined ? null : `although ${left} is left`;
  };
  const released = (step: Extract<Step, { readonly do: 'release-node' }>, node: V1Node): void => {
    const { fence } = step.record;
    const settled = now() - (untaintedAt.get(uidOf(node)) ?? -Infinity);
    // A kubelet may write another time of the removal into the record, which only affects its own Node.
    if (settled < SETTLES_MS && interference.changedFor(node) > settled)
      fail(`${fence} of ${nameOf(node)} is released ${settled} ms after our taint went`);
    if (interference.isAccepted(node, fence)) return;
    if (step.tombstone !== null) return fail(`${fence} of ${nameOf(node)} is released, although no person ends it`);
    const missing = missingFor(step.record, node);
    if (missing !== null) fail(`${fence} of ${nameOf(node)} is released ${missing}`);
  };
  return {
    /** Judges a patch of a Node. */
    onPatch: (before: V1Node, after: V1Node, step: Step): void => {
      if (hasOurTaint(before) && !hasOurTaint(after)) untaintedAt.set(uidOf(before), now());
      if (step.do === 'release-node') return released(step, before);
      const isForPerson = step.do === 'lift-out-of-service' && step.record?.phase === 'releasing';
      if (isForPerson && !interference.isAccepted(before, step.record?.fence ?? ''))
        fail(`the release of ${nameOf(before)} begins, although no person ends its fence`);
    },
  };
};
