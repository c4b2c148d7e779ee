import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { type FenceInBoot, fenceInBoot, isOfUnknownBoot } from '../../fencing/model/cluster-facts.ts';
import { nodeFacts } from '../../kubernetes/node-facts.ts';
import { bootOf, uidOf } from './cluster-objects.ts';
import { fencesOn, hasOnlyLabel, isFenced } from './fence-on-node.ts';
import type { Cluster } from './kubernetes.ts';
import { endedBootOf, isUnknown, type Machine } from './machines.ts';

/** What people and kubelets did to fences, and for which boot it counts. */

/** A person removed our taint. That counts for the boot whose fence the record named, whatever has booted since. */
export interface Removal {
  readonly node: string;
  readonly launch: number | undefined;
  readonly at: number;
}

/** Somebody changed something of a fence. */
interface Change {
  readonly at: number;
  /** The boot of the machine that had ended. */
  readonly launch: number | undefined;
  /** The boot that was ending, if the machine was stopping. What is left of an earlier fence may seem to be of it. */
  readonly ending: number | undefined;
  /** The boot that the Node showed. */
  readonly bootID: string;
  readonly isOnlyTaint: boolean;
  /** When somebody who set another out-of-service taint reversed it, or Infinity. */
  readonly reversedAt: number;
}

/** How long a run needs from a look until it writes what it has decided (ms). */
const LOOK_LASTS_MS = 10_000;

/** How long a person's command may need until it has read the Node for the first time, if calls fail (ms). */
const BEGINS_TO_LOOK_MS = 30_000;

/** A person has looked, and ends these fences. */
interface Acceptance {
  readonly at: number;
  readonly named: readonly string[];
}

/** A step began a fence. A mark does so, and a park that moves the quarantine to a later boot. */
interface Begun {
  readonly at: number;
  /** The boot of its machine that had ended. */
  readonly launch: number;
}

export interface Interference {
  /** A person, or a kubelet, removed or changed a part of the fence, or removed all of it. */
  readonly noteChange: (node: V1Node) => void;
  readonly noteRemoval: (node: V1Node) => void;
  /** The removal does not count any more: the whole fence was removed without a trace. */
  readonly forgetRemovals: (node: V1Node) => void;
  /** Somebody sets another out-of-service taint, which reverses that a person removed ours. */
  readonly noteForeignTaint: (node: V1Node) => void;
  /** A person has looked, and ends the fence of the Node with `release --accept`. */
  readonly noteAcceptance: (node: V1Node) => void;
  /** Cloudfence has begun a fence of the machine. */
  readonly noteFence: (fence: string, machine: Machine) => void;
  /** Cloudfence has written the Node, and perhaps a tombstone. */
  readonly notePatch: (before: V1Node, after: V1Node, machine: Machine | undefined) => void;
  /** A sweep has left the label of a fence on a Node that was Ready. */
  readonly noteSweptNode: (node: V1Node) => void;
  /** When the fence began, and in which boot. */
  readonly begun: (fence: string) => Begun | undefined;
  readonly removalOn: (node: V1Node) => Removal | undefined;
  /** Whether a person is ending exactly this fence. */
  readonly isAccepted: (node: V1Node, fence: string) => boolean;
  /** How long ago somebody last changed something of a fence of the Node (ms). */
  readonly changedFor: (node: V1Node) => number;
  /** How long ago the Node may last have had a fence, if it has none (ms). */
  readonly unfencedFor: (node: V1Node) => number;
  /** Whether a run may conclude that a person removed a fence of the Node in the present boot. */
  readonly mayHaveRemovedFence: (node: V1Node) => boolean;
  /** Whether this tombstone is about an earlier boot, which the record on the Node names. Then it has no effect. */
  readonly isOfEarlierBoot: (node: V1Node, tombstone: FenceInBoot) => boolean;
  /** Whether the tombstone of the Node is of the boot that has ended, or of the present one if none has ended. */
  readonly hasPresentTombstone: (node: V1Node) => boolean;
}

interface World {
  readonly now: () => number;
  readonly cluster: Cluster;
  /** How long a run may act on what it has read of a cluster (ms). */
  readonly readLasts: number;
  /** How long a person's statement lasts (ms). */
  readonly acceptedFor: number;
}

const tombstoneKey = (node: V1Node): string | null => {
  const { tombstone, label } = nodeFacts(node, []);
  return tombstone && `${uidOf(node)} ${label}`;
};

export const createInterference = ({ now, cluster, readLasts, acceptedFor }: World): Interference => {
  let removals: readonly Removal[] = [];
  // All of these are by the uid of the Node.
  const acceptances = new Map<string, Acceptance>();
  const changes = new Map<string, Change>();
  const fences = new Map<string, Begun>();
  /** By the uid of the Node and its tombstone: the boot of the machine that had ended when Cloudfence wrote it. */
  const tombstones = new Map<string, number>();
  /** The boot in which a sweep left a label without a fence on a Ready Node. */
  const labelKeptIn = new Map<string, number>();
  /** When Cloudfence last wrote a Node that had a fence. */
  const fencedAt = new Map<string, number>();
  const launchOf = (node: V1Node): number | undefined => {
    const machine = cluster.machineOfNode.get(uidOf(node));
    return machine && endedBootOf(machine);
  };
  const endingOf = (node: V1Node): number | undefined => {
    const shown = cluster.machineOfNode.get(uidOf(node))?.shown;
    return shown?.power === 'stopping' ? shown.launch : undefined;
  };
  const hasOtherChange = (node: V1Node): boolean => {
    const change = changes.get(uidOf(node));
    return change !== undefined && change.launch === launchOf(node) && !change.isOnlyTaint;
  };
  const noteChange = (node: V1Node, isOnlyTaint = false): void =>
    void changes.set(uidOf(node), {
      at: now(),
      launch: launchOf(node),
      ending: endingOf(node),
      bootID: bootOf(node),
      isOnlyTaint: isOnlyTaint && !hasOtherChange(node),
      reversedAt: Infinity,
    });
  const forgetRemovals = (node: V1Node): void => {
    removals = removals.filter((one) => one.node !== uidOf(node));
  };
  const hasBareLabel = (node: V1Node): boolean => hasOnlyLabel(node) && nodeFacts(node, []).record === null;
  /** A label alone names no boot. So until a run removes it from a Node that is Ready, it applies to any stop. */
  const labelMayMeanRemoval = (node: V1Node): boolean =>
    hasBareLabel(node) && labelKeptIn.get(uidOf(node)) !== cluster.machineOfNode.get(uidOf(node))?.boot;
  /** Whether somebody changed something of a fence of the Node since its machine was last off. */
  const isChanged = (node: V1Node): boolean => {
    const change = changes.get(uidOf(node));
    if (!change || now() - change.reversedAt > LOOK_LASTS_MS) return false;
    // If the cloud does not know the machine any more, or did not know it when a person ended the fence, and its
    // kubelet has posted no later boot, nothing shows that the change was in an earlier one.
    const machine = cluster.machineOfNode.get(uidOf(node));
    const { record } = nodeFacts(node, []);
    const isUnnamed =
      (machine !== undefined && isUnknown(machine)) || (record?.phase === 'releasing' && record.generation === null);
    const isLast = isUnnamed && change.bootID === bootOf(node);
    return isLast || now() - change.at < readLasts || [change.launch, change.ending].includes(launchOf(node));
  };
  /** A person's command is about the fence that it finds when it begins to look. */
  const isFoundByCommand = ({ at }: Acceptance, begun: Begun): boolean =>
    begun.at >= at && begun.at - at < BEGINS_TO_LOOK_MS;
  /**
   * A person's command ends the fence of this boot, which began before that command had read the Node. If the command
   * does not last long enough, another run finishes that.
   */
  const isEndedByCommand = (node: V1Node): boolean => {
    const acceptance = acceptances.get(uidOf(node));
    if (!acceptance) return false;
    const begun = fencesOn(node).flatMap((fence) => fences.get(fence) ?? []);
    return begun.some((one) => one.launch === launchOf(node) && isFoundByCommand(acceptance, one));
  };
  /** The boot of the record's fence, if the tombstone is about that boot, and the cloud knew it. */
  const recordedLaunch = (node: V1Node, { boot }: FenceInBoot): number | undefined => {
    const { record } = nodeFacts(node, []);
    if (!record || record.generation === null) return undefined;
    return boot === fenceInBoot(record.fence, record, record).boot ? fences.get(record.fence)?.launch : undefined;
  };
  const changedFor = (node: V1Node): number => now() - (changes.get(uidOf(node))?.at ?? -Infinity);
  return {
    noteChange: (node) => noteChange(node),
    noteRemoval: (node) => {
      noteChange(node, true);
      const { record, taintedFor } = nodeFacts(node, []);
      const launch = fences.get(record?.fence ?? taintedFor?.fence ?? '')?.launch;
      removals = [...removals, { node: uidOf(node), launch, at: now() }];
    },
    forgetRemovals,
    noteForeignTaint: (node) => {
      forgetRemovals(node);
      const change = changes.get(uidOf(node));
      if (change?.isOnlyTaint === true) changes.set(uidOf(node), { ...change, reversedAt: now() });
    },
    noteAcceptance: (node) => {
      noteChange(node);
      acceptances.set(uidOf(node), { at: now(), named: fencesOn(node) });
    },
    noteFence: (fence, machine) => {
      if (!fences.has(fence)) fences.set(fence, { at: now(), launch: endedBootOf(machine) });
    },
    notePatch: (before, after, machine) => {
      if (isFenced(before)) fencedAt.set(uidOf(before), now());
      const key = tombstoneKey(after);
      const { tombstone } = nodeFacts(after, []);
      if (key !== null && tombstone && key !== tombstoneKey(before) && machine)
        tombstones.set(key, recordedLaunch(before, tombstone) ?? endedBootOf(machine));
    },
    noteSweptNode: (node) => {
      const machine = cluster.machineOfNode.get(uidOf(node));
      if (machine && hasBareLabel(node)) labelKeptIn.set(uidOf(node), machine.boot);
    },
    begun: (fence) => fences.get(fence),
    removalOn: (node) => removals.find((one) => one.node === uidOf(node) && one.launch === launchOf(node)),
    isAccepted: (node, fence) => {
      const acceptance = acceptances.get(uidOf(node));
      if (!acceptance || now() - acceptance.at >= acceptedFor) return false;
      const begun = fences.get(fence);
      return !begun || acceptance.named.includes(fence) || isFoundByCommand(acceptance, begun);
    },
    changedFor,
    unfencedFor: (node) => Math.min(changedFor(node), now() - (fencedAt.get(uidOf(node)) ?? -Infinity)),
    isOfEarlierBoot: (node, tombstone) => {
      const launch = recordedLaunch(node, tombstone);
      return launch !== undefined && launch !== launchOf(node);
    },
    mayHaveRemovedFence: (node) => labelMayMeanRemoval(node) || isChanged(node) || isEndedByCommand(node),
    hasPresentTombstone: (node) => {
      const { tombstone, bootID } = nodeFacts(node, []);
      if (!tombstone) return false;
      // If the cloud did not know the boot, only the kubelet distinguishes it from the next one.
      return isOfUnknownBoot(tombstone, { bootID }) || tombstones.get(tombstoneKey(node) ?? '') === launchOf(node);
    },
  };
};
