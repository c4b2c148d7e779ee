import type { V1ConfigMap, V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { STALE_LEASE_MS } from '../../fencing/loop/ports.ts';
import { isOfUnknownBoot } from '../../fencing/model/cluster-facts.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import { timing } from '../../fencing/model/policy.ts';
import { PROOF_LASTS_MS } from '../../fencing/model/permit.ts';
import { type Step, stepProperties } from '../../fencing/model/steps.ts';
import type { LookAgain } from '../../functions/messages.ts';
import { shortMachine } from '../../kubernetes/ledger-text.ts';
import { nodeFacts } from '../../kubernetes/node-facts.ts';
import { FENCED_LABEL, LEDGER, RECORD_ANNOTATION, SEAL_LABEL, ZONE_LABEL } from '../../kubernetes/names.ts';
import type { Write } from './api-server.ts';
import type { CloudWrite } from './clouds/side.ts';
import { bootOf, isReady, keyIn, nameOf, uidOf } from './cluster-objects.ts';
import { foreignOn, hasOurTaint, isFenced, isQuarantined, oursOn } from './fence-on-node.ts';
import type { Cluster } from './kubernetes.ts';
import { type Disk, endedBootOf, isGone, isOff, type Machine, mayWrite, offSinceOf } from './machines.ts';
import { providerIdOf } from './names.ts';
import { type EndedSweep, FUNCTION_LASTS_MS } from './install.ts';
import { isImagined, type Mandate } from './mandates.ts';
import type { Assumption } from './network.ts';
import { EPOCH } from './process.ts';

/** What must hold whenever something takes effect. If the exploration has the same invariant, the name is the same. */
export type Invariant =
  | 'one-writer'
  | 'act-under-proof'
  | 'taint-off-a-running-machine'
  | 'nothing-of-another-boot'
  | 'release-after-return'
  | 'no-live-node-deleted'
  | 'power-off-by-policy'
  | 'policy-holds'
  | 'detach-target'
  | 'unclaimed-power-off'
  | 'network-power-off'
  | 'removed-stays-removed'
  | 'nothing-foreign'
  | 'pause'
  | 'opt-out'
  | 'cap'
  | 'dry-run'
  | 'shadow'
  | 'no-fault'
  | 'recovery';

export interface Violation {
  readonly at: number;
  readonly breaks: Invariant;
  readonly says: string;
}

/** How long a run may act on what it has read of a cluster, with slow answers before and after (ms). */
const READ_LASTS_MS = 45_000;

/** Clouds give times in whole seconds. */
const SECOND_MS = 1_000;

/** How long a person's statement lasts: as long as the command to which it was given (ms). */
const ACCEPTED_MS = 60_000;

/** A person removed our taint. That counts for the boot whose fence the record named, whatever has booted since. */
interface Removal {
  readonly node: string;
  readonly launch: number | undefined;
  readonly at: number;
}

export interface Safety {
  readonly violations: readonly Violation[];
  readonly onWrite: (write: Write, tag: unknown) => void;
  readonly onCloudWrite: (write: CloudWrite) => void;
  /** A detach through the cloud begins, or arrives at the cloud, whether or not the cloud accepts it. */
  readonly onDetachRequest: (machine: Machine | null, disk: string) => void;
  readonly onDetach: (machine: Machine, disk: Disk, why: string) => void;
  /** Cloudfence sends a message to itself. */
  readonly onMessage: (message: Pick<LookAgain, 'machine' | 'dryRun'>) => void;
  /** A sweep has ended that nothing disturbed: all its calls were answered, and its process was not frozen. */
  readonly onSweep: (sweep: Pick<EndedSweep, 'began' | 'ended'>) => void;
  /** A person removed a part of the fence, or all of it. */
  readonly noteChange: (node: V1Node) => void;
  readonly noteRemoval: (node: V1Node) => void;
  /**
   * The removal does not count any more: the whole fence was removed without a trace, or someone set such a taint
   * again.
   */
  readonly forgetRemovals: (node: V1Node) => void;
  /** A person has looked, and ends the fence of the Node with `release --accept`. */
  readonly noteAcceptance: (node: V1Node) => void;
  readonly isRemoved: (node: V1Node) => boolean;
  /** Whether the tombstone of the Node is of the boot that has ended, or of the present one if none has ended. */
  readonly hasPresentTombstone: (node: V1Node) => boolean;
  readonly notePause: (paused: boolean) => void;
  readonly noteOptOut: (node: V1Node, out: boolean) => void;
  /** The cap has admitted the fence of the machine. The fence counts from then on, whenever its mark is written. */
  readonly noteAdmission: (machine: MachineId) => void;
  readonly noteNodes: (count: number) => void;
  readonly break: (breaks: Invariant, says: string) => void;
}

interface World {
  readonly now: () => number;
  readonly cluster: Cluster;
  readonly disks: ReadonlyMap<string, Disk>;
  readonly policy: Policy;
  readonly assumption: Assumption;
  readonly lastOffAt: (machine: Machine) => number;
  readonly maxSkew: number;
  /** What the invocation may write whose call takes effect at this moment. */
  readonly mandate: () => Mandate;
}

const isStep = (tag: unknown): tag is Step =>
  typeof tag === 'object' && tag !== null && 'do' in tag && typeof tag.do === 'string' && tag.do in stepProperties;

/** Returns the uid of the object for which a step was decided. */
const uidOfTarget = (step: Step): string | null => {
  if ('node' in step) return step.node.uid;
  if ('pod' in step) return step.pod.uid;
  return 'attachment' in step ? step.attachment.uid : null;
};

/** A patch that removes our taint or ends a fence may write these again, if a person has removed them. */
const REWRITTEN: ReadonlySet<string> = new Set([FENCED_LABEL, SEAL_LABEL, RECORD_ANNOTATION]);

/** Whether a write only removes what Cloudfence has left, or corrects the time at which it removed its taint. */
const removes = (write: Write, step: Step): boolean => {
  if (write.kind === 'attachment') return step.do === 'nudge' && !step.on;
  if (write.kind !== 'node' || write.verb !== 'patch') return false;
  const before = new Set(oursOn(write.before));
  const after = oursOn(write.after);
  if (after.some((one) => !before.has(one) && !REWRITTEN.has(one))) return false;
  if (step.do === 'note') return step.record.released !== (nodeFacts(write.before, []).record?.released ?? null);
  const isFewer = after.length < before.size;
  return isFewer || step.do === 'lift-out-of-service' || step.do === 'release-node';
};

export const createSafety = ({
  now,
  cluster,
  disks,
  policy,
  assumption,
  lastOffAt,
  maxSkew,
  mandate,
}: World): Safety => {
  const violations: Violation[] = [];
  let removals: readonly Removal[] = [];
  /** By the uid of the Node. */
  const accepted = new Map<string, number>();
  /** By fence: the boot of its machine that had ended when its mark was written. */
  const endedBoots = new Map<string, number>();
  const begun: { readonly at: number; readonly machine: string }[] = [];
  const admitted = new Map<MachineId, number>();
  /** When the cap last admitted the machine, whenever its fence began. */
  const counted = new Map<MachineId, number>();
  let pausedSince: number | null = null;
  let mostNodes = 0;
  /** By the uid of the Node. A later Node with the same name is not opted out. */
  const optedOutSince = new Map<string, number>();
  /** By the uid of the Node: when the sweep ended that first left our taint on a machine that runs. */
  const suspectedAt = new Map<string, { readonly boot: number; readonly at: number }>();
  /** By the uid of the Node and its tombstone: the boot of the machine that had ended when Cloudfence wrote it. */
  const tombstones = new Map<string, number>();
  /** By disk: the machine that it left last. */
  const lastLeft = new Map<string, { readonly machine: Machine; readonly at: number }>();
  /** By the uid of the Node: when a person last removed something of a fence from it. */
  const changedAt = new Map<string, number>();
  const fail = (breaks: Invariant, says: string): void => void violations.push({ at: now(), breaks, says });
  const mayAct = (machine: Machine): boolean =>
    isOff(machine) || now() - lastOffAt(machine) <= assumption.staleness + PROOF_LASTS_MS + assumption.transit;

  const proven = (machine: Machine | undefined, what: string): void => {
    if (!machine) return fail('act-under-proof', `${what} takes effect although it is on no machine`);
    if (!mayAct(machine))
      fail('act-under-proof', `${what} takes effect although ${machine.name} is ${machine.shown.power}`);
  };
  const notPaused = (what: string): void => {
    if (pausedSince !== null && now() - pausedSince > READ_LASTS_MS)
      fail('pause', `${what} takes effect although everything has been paused for ${now() - pausedSince} ms`);
  };
  const removalOn = (node: V1Node): Removal | undefined => {
    const machine = cluster.machineOfNode.get(uidOf(node));
    const launch = machine && endedBootOf(machine);
    return removals.find((one) => one.node === uidOf(node) && one.launch === launch);
  };
  const notRemoved = (node: V1Node | undefined, what: string, isMark: boolean): void => {
    const removal = node && removalOn(node);
    if (removal && (isMark || now() - removal.at > PROOF_LASTS_MS + assumption.transit))
      fail('removed-stays-removed', `${what} takes effect although a person removed our taint in this boot`);
  };
  const destroys = (step: Step['do'], machine: Machine | undefined, node: V1Node | undefined, target: string): void => {
    const what = `${step} ${target}`;
    proven(machine, what);
    notPaused(what);
    notRemoved(node, what, step === 'mark');
  };

  /**
   * When the fence began according to the ledger. A process may be killed before it learns that its reservation took
   * effect.
   */
  const claimedAt = (machine: MachineId): number => {
    const map = cluster.objects.maps.get(keyIn(LEDGER.namespace, LEDGER.name));
    const lines = (map?.data?.[LEDGER.fences] ?? '').split('\n').map((line) => line.split(' '));
    const entries = lines.filter(([name]) => name === shortMachine(machine));
    const begins = entries.map(([, , at]) => Number(at) * 1_000 - EPOCH);
    return Math.min(admitted.get(machine) ?? now(), begins.length > 0 ? Math.max(...begins) : Infinity);
  };
  // A machine that took over an id counts as the one before, because the ledger cannot always distinguish them.
  const withinCap = (machine: Machine, what: string): void => {
    const window = timing.capWindow - 2 * maxSkew - 60_000;
    const recent = begun.filter(({ at }) => now() - at < window);
    const others = new Set(recent.map((one) => one.machine));
    others.delete(machine.id);
    const limit = Math.max(1, Math.floor(policy.cap.share * mostNodes + 1e-9));
    if (others.size >= limit) fail('cap', `${what} takes effect although ${others.size} of ${limit} fences have begun`);
    begun.splice(0, begun.length, ...recent, { at: claimedAt(machine.id), machine: machine.id });
  };
  const notOptedOut = (node: V1Node, what: string): void => {
    const since = optedOutSince.get(uidOf(node));
    if (since !== undefined && policy.optOut !== 'none' && now() - since > READ_LASTS_MS)
      fail('opt-out', `${what} takes effect although the Node has been opted out for ${now() - since} ms`);
  };
  const marked = (before: V1Node, machine: Machine | undefined): void => {
    if (isFenced(before)) return;
    const what = `the fence of ${nameOf(before)}`;
    notOptedOut(before, what);
    if (machine) withinCap(machine, what);
  };
  /**
   * The delay counts from the power-off. If the cloud does not say when that was, it counts from the last renewal of
   * the Lease, if that is not in the future. So the earlier of the two counts here.
   */
  const notBeforeDelay = (machine: Machine): void => {
    const off = offSinceOf(machine);
    const lease = Date.parse(cluster.leaseOf(machine.node) ?? '') - EPOCH;
    if (off === null || lease - now() > timing.clocksDiffer - maxSkew) return;
    const earliest = Math.min(off, Number.isNaN(lease) ? off : lease) - SECOND_MS - maxSkew;
    if (now() - earliest < policy.fenceAfter)
      fail('policy-holds', `${machine.name} is marked ${now() - off} ms after its power-off`);
  };
  const noteFence = (fence: string, machine: Machine): void => {
    if (!endedBoots.has(fence)) endedBoots.set(fence, endedBootOf(machine));
  };
  const OF_ONE_BOOT: ReadonlySet<string> = new Set(['mark', 'park', 'release-node', 'delete-node']);
  const ofThisBoot = (step: Step, node: V1Node): void => {
    if ('node' in step && OF_ONE_BOOT.has(step.do) && step.node.bootID !== bootOf(node))
      fail('nothing-of-another-boot', `${step.do} was decided for ${step.node.bootID} and meets ${bootOf(node)}`);
  };
  const releases = (step: Step, node: V1Node): void => {
    if (step.do !== 'release-node' || step.tombstone !== null) return;
    if (now() - (accepted.get(uidOf(node)) ?? -Infinity) < ACCEPTED_MS) return;
    const [fence] = (node.metadata?.labels?.[FENCED_LABEL] ?? step.record.fence).split('_removed_');
    if (step.record.bootID === bootOf(node) || fence !== step.record.fence)
      fail(
        'release-after-return',
        `the fence ${step.record.fence} of ${nameOf(node)} is released in the boot that it is for`,
      );
  };
  const tombstoneKey = (node: V1Node): string | null => {
    const { tombstone, label } = nodeFacts(node, []);
    return tombstone && `${uidOf(node)} ${label}`;
  };
  const noteTombstone = (before: V1Node, after: V1Node, machine: Machine | undefined): void => {
    const key = tombstoneKey(after);
    if (key !== null && key !== tombstoneKey(before) && machine) tombstones.set(key, endedBootOf(machine));
  };
  const patches = (before: V1Node, after: V1Node, step: Step): void => {
    const machine = cluster.machineOfNode.get(uidOf(before));
    noteTombstone(before, after, machine);
    if (foreignOn(before) !== foreignOn(after))
      fail('nothing-foreign', `${step.do} changes on ${nameOf(before)} what is not ours`);
    if (isQuarantined(before) && !isQuarantined(after) && step.do !== 'release-node')
      fail('release-after-return', `${step.do} ends the quarantine of ${nameOf(before)}`);
    ofThisBoot(step, before);
    releases(step, before);
    if (stepProperties[step.do].destructive) destroys(step.do, machine, before, nameOf(before));
    if (step.do === 'mark') marked(before, machine);
    if (step.do !== 'mark' || !machine) return;
    noteFence(step.record.fence, machine);
    // A mark that only moves the quarantine to this boot frees nothing, so it does not wait.
    if (step.record.phase === 'fencing') notBeforeDelay(machine);
  };
  const deletesNode = (before: V1Node, step: Step): void => {
    const machine = cluster.machineOfNode.get(uidOf(before));
    ofThisBoot(step, before);
    destroys('delete-node', machine, before, nameOf(before));
    if (policy.deleteNode === 'never') fail('policy-holds', `the Node ${nameOf(before)} is deleted`);
    if (machine && policy.deleteNode !== 'always' && !isGone(machine))
      fail('no-live-node-deleted', `the Node of ${machine.name} is deleted, which is ${machine.shown.power}`);
  };

  const nodeBelow = (machine: Machine | undefined): V1Node | undefined => {
    const node = machine && cluster.objects.nodes.get(machine.node);
    return node && cluster.machineOfNode.get(uidOf(node)) === machine ? node : undefined;
  };
  /** Nothing of another uid is touched. */
  const ofThisObject = (write: Exclude<Write, { readonly kind: 'ledger' | 'event' }>, step: Step): void => {
    const uid = uidOfTarget(step);
    if (uid !== uidOf(write.before))
      fail(
        'nothing-of-another-boot',
        `${step.do} was decided for ${uid ?? 'nothing'}, and meets ${uidOf(write.before)}`,
      );
  };
  const machineOf = (write: Write): Machine | undefined => {
    switch (write.kind) {
      case 'node':
        return cluster.machineOfNode.get(uidOf(write.before));
      case 'pod':
        return cluster.machineOfPod.get(uidOf(write.before));
      case 'attachment':
        return cluster.machineOfAttachment.get(uidOf(write.before));
      case 'ledger':
      case 'event':
        return undefined;
    }
  };
  /** A dry run writes nothing. In shadow mode, nothing is written except to remove what an earlier fence left. */
  const writesByMandate = (what: string, machine: MachineId | null, removes: boolean): void => {
    if (isImagined(mandate(), machine)) fail('dry-run', `a dry run writes: ${what}`);
    if (mandate().shadow && !removes) fail('shadow', `shadow mode writes: ${what}`);
  };
  /** The entries, without the stand-ins for fences that are only counted. */
  const linesOf = (map: V1ConfigMap | undefined): readonly string[] =>
    (map?.data?.[LEDGER.fences] ?? '').split('\n').filter((line) => line.includes(' '));
  const registers = (before: V1ConfigMap | undefined, after: V1ConfigMap): void => {
    const known = new Set(linesOf(before));
    const written = linesOf(after).filter((line) => !known.has(line));
    const names = new Set(linesOf(before).map((line) => line.split(' ')[0]));
    const { imagines } = mandate();
    const own = imagines === 'everything' ? [] : [...imagines];
    const machine = own.find((id) => written.some((line) => line.startsWith(shortMachine(id)))) ?? null;
    writesByMandate(
      'the ledger',
      machine,
      written.every((line) => names.has(line.split(' ')[0])),
    );
  };
  const onWrite: Safety['onWrite'] = (write, tag) => {
    if (write.kind === 'ledger') return registers(write.before, write.after);
    if (write.kind === 'event') return writesByMandate(`an Event about ${write.about}`, null, true);
    if (!isStep(tag)) return fail('act-under-proof', `a ${write.verb} of a ${write.kind} is no step`);
    const machine = machineOf(write);
    ofThisObject(write, tag);
    // A nudge is for another machine: the attachment is that of the next Node.
    const about = tag.do === 'nudge' ? null : (machine?.id ?? null);
    writesByMandate(`${tag.do} ${nameOf(write.before)}`, about, removes(write, tag));
    if (write.kind === 'node')
      return write.verb === 'patch' ? patches(write.before, write.after, tag) : deletesNode(write.before, tag);
    if (write.kind === 'attachment' && write.verb === 'delete') cluster.noteDeletion(uidOf(write.before), 'Cloudfence');
    if (write.verb !== 'nudge') destroys(tag.do, machine, nodeBelow(machine), nameOf(write.before));
  };
  /** How long a Node has been silent, according to its Lease (ms). Without a Lease, it has always been silent. */
  const silentFor = (node: string): number => {
    const renewed = Date.parse(cluster.leaseOf(node) ?? '');
    return Number.isNaN(renewed) ? Infinity : EPOCH + now() - renewed;
  };
  /** No survey is so old that it does not show such a silence. */
  const isLongSilent = (node: V1Node): boolean =>
    silentFor(nameOf(node)) > STALE_LEASE_MS + timing.survey + maxSkew + PROOF_LASTS_MS + assumption.transit;
  /**
   * If other Nodes are silent too, the network may be down. A fenced Node that is silent shows nothing about the
   * network. One that is not silent shows that its zone reaches the API server.
   */
  const networkWorks = (machine: Machine, node: V1Node): void => {
    const nodes = cluster.objects.nodes.all();
    const silent = nodes.filter((one) => one !== node && !isFenced(one) && isLongSilent(one));
    const zone = nodes.filter(({ metadata }) => metadata?.labels?.[ZONE_LABEL] === machine.zone);
    if (silent.length > 0)
      fail(
        'network-power-off',
        `${machine.name} is powered off although ${silent.map(nameOf).join(', ')} is silent too`,
      );
    if (zone.every((one) => one === node || isLongSilent(one)))
      fail('network-power-off', `${machine.name} is powered off although its whole zone is silent`);
  };
  const unclaimed = (machine: Machine, node: V1Node): void => {
    const other = cluster.objects.nodes
      .all()
      .find(
        (one) => one !== node && one.spec?.providerID !== undefined && one.spec.providerID === providerIdOf(machine),
      );
    if (other && now() - (other.metadata?.creationTimestamp?.getTime() ?? 0) + EPOCH > timing.survey + READ_LASTS_MS)
      fail('unclaimed-power-off', `${machine.name} is powered off although ${nameOf(other)} names it too`);
  };
  /** What Cloudfence has read may be this old when it acts on it. */
  const actsWithin = assumption.staleness + PROOF_LASTS_MS + assumption.transit;
  const holds = (machine: Machine, disk: string): boolean => {
    const left = lastLeft.get(disk);
    const isHeld = disks.get(disk)?.holder === machine;
    // A stale answer of the simulated cloud names a machine that is gone for as long as such answers last.
    const isNamed = isGone(machine) && machine.history.at(-1)?.shown.disks.includes(disk) === true;
    // Only the state of the machine is read again right before a detach. If the disk has left the machine, the cloud
    // refuses the call.
    return isHeld || isNamed || (left?.machine === machine && now() - left.at <= FUNCTION_LASTS_MS);
  };
  const detachesRightDisk = (machine: Machine | null, disk: string): void => {
    const node = nodeBelow(machine ?? undefined);
    if (!machine || !holds(machine, disk))
      return fail(
        'detach-target',
        `a detach names ${disk}, which is not attached to ${machine?.name ?? 'that machine'}`,
      );
    if (node && !isFenced(node) && now() - (changedAt.get(uidOf(node)) ?? -Infinity) > actsWithin)
      fail('detach-target', `a detach names ${disk} of ${machine.name}, which is not fenced`);
  };
  const powersOff = (machine: Machine): void => {
    const node = nodeBelow(machine);
    const what = `the power-off of ${machine.name}`;
    if (policy.unreachable !== 'power-off')
      return fail('power-off-by-policy', `${machine.name} is powered off although the policy is to report`);
    notPaused(what);
    if (!node) return;
    notOptedOut(node, what);
    if (isReady(node)) fail('power-off-by-policy', `${machine.name} is powered off although its Node is Ready`);
    if (silentFor(nameOf(node)) < STALE_LEASE_MS - maxSkew - SECOND_MS)
      fail('power-off-by-policy', `${machine.name} is powered off although its kubelet renews its Lease`);
    networkWorks(machine, node);
    unclaimed(machine, node);
    if (now() - (counted.get(machine.id) ?? -Infinity) > READ_LASTS_MS + FUNCTION_LASTS_MS)
      fail('cap', `${what} takes effect although the cap has not counted it`);
    withinCap(machine, what);
  };
  return {
    violations,
    onWrite,
    onMessage: ({ machine, dryRun }) => {
      if (!dryRun && isImagined(mandate(), machine)) fail('dry-run', `a dry run asks for a run about ${machine}`);
    },
    onCloudWrite: ({ verb, machine, disk }) => {
      writesByMandate(`${verb} ${disk?.id ?? ''} ${machine.name}`, machine.id, false);
      if (verb === 'power-off') return powersOff(machine);
      destroys('detach-disk', machine, nodeBelow(machine), disk?.id ?? '');
      if (policy.detach === 'never') fail('policy-holds', `${disk?.id ?? ''} is detached from ${machine.name}`);
    },
    onDetachRequest: detachesRightDisk,
    onDetach: (machine, disk, why) => {
      lastLeft.set(disk.id, { machine, at: now() });
      if (mayWrite(machine) && machine.mounted.has(disk.id) && why !== 'a foreign out-of-service taint')
        fail('one-writer', `${disk.id} leaves ${machine.name}, whose guest writes to it, because of ${why}`);
    },
    // The first sweep may have read the cluster before the mark took effect. The next one sees the mark.
    onSweep: ({ began, ended }) => {
      for (const node of cluster.objects.nodes.all()) {
        const machine = cluster.machineOfNode.get(uidOf(node));
        const stays =
          machine?.shown.power === 'running' && hasOurTaint(node) && machine.startedAt < began - assumption.staleness;
        const suspected = suspectedAt.get(uidOf(node));
        if (!stays) suspectedAt.delete(uidOf(node));
        else if (suspected?.boot !== machine.boot) suspectedAt.set(uidOf(node), { boot: machine.boot, at: ended });
        else if (suspected.at < began)
          fail('taint-off-a-running-machine', `two sweeps leave our taint on ${nameOf(node)}, whose machine runs`);
      }
    },
    noteChange: (node) => void changedAt.set(uidOf(node), now()),
    noteRemoval: (node) => {
      const { record, taintedFor } = nodeFacts(node, []);
      const launch = endedBoots.get(record?.fence ?? taintedFor?.fence ?? '');
      removals = [...removals, { node: uidOf(node), launch, at: now() }];
    },
    forgetRemovals: (node) => {
      removals = removals.filter((one) => one.node !== uidOf(node));
    },
    noteAcceptance: (node) => void accepted.set(uidOf(node), now()),
    isRemoved: (node) => removalOn(node) !== undefined,
    hasPresentTombstone: (node) => {
      const { tombstone, bootID } = nodeFacts(node, []);
      const machine = cluster.machineOfNode.get(uidOf(node));
      if (!tombstone || !machine) return false;
      // If the cloud did not know the boot, only the kubelet distinguishes it from the next one.
      return (
        isOfUnknownBoot(tombstone, { bootID }) || tombstones.get(tombstoneKey(node) ?? '') === endedBootOf(machine)
      );
    },
    notePause: (paused) => void (pausedSince = paused ? (pausedSince ?? now()) : null),
    noteOptOut: (node, out) => {
      if (out) optedOutSince.set(uidOf(node), optedOutSince.get(uidOf(node)) ?? now());
      else optedOutSince.delete(uidOf(node));
    },
    noteAdmission: (machine) => {
      counted.set(machine, now());
      const before = admitted.get(machine) ?? -Infinity;
      if (now() - before >= timing.capWindow - maxSkew) admitted.set(machine, now());
    },
    noteNodes: (count) => void (mostNodes = Math.max(mostNodes, count)),
    break: fail,
  };
};
