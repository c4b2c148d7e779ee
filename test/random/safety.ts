import type { V1ConfigMap, V1Node, V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import type { MachineId } from '../../fencing/model/machine.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import { type Step, stepProperties } from '../../fencing/model/steps.ts';
import type { LookAgain } from '../../functions/messages.ts';
import { shortMachine } from '../../kubernetes/ledger-text.ts';
import { nodeFacts } from '../../kubernetes/node-facts.ts';
import { FENCED_LABEL, LEDGER, RECORD_ANNOTATION, SEAL_LABEL } from '../../kubernetes/names.ts';
import { DESTRUCTIVE } from '../exploration/invariants.ts';
import type { Write } from './api-server.ts';
import type { CloudWrite } from './clouds/side.ts';
import { bootOf, isReady, keyIn, nameOf, readySince, uidOf } from './cluster-objects.ts';
import { fencesOn, foreignOn, hasOurTaint, isFenced, isQuarantined, oursOn } from './fence-on-node.ts';
import { createInterference, type Interference } from './interference.ts';
import type { Cluster } from './kubernetes.ts';
import {
  type Disk,
  endedBootOf,
  isGone,
  isOff,
  type Machine,
  mayWrite,
  offSinceOf,
  RENEWS_EVERY_MS,
} from './machines.ts';
import { type EndedSweep, FUNCTION_LASTS_MS } from './install.ts';
import { isImagined, type Mandate } from './mandates.ts';
import { volumeNameOf } from './names.ts';
import type { Assumption } from './network.ts';
import { createOptOuts, type OptOuts } from './opt-outs.ts';
import { createPowerOffs } from './power-offs.ts';
import { createReturns } from './returns.ts';
import { EPOCH } from './process.ts';
import { stayingOn, volumesOf } from './tolerating.ts';

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
  | 'tolerating-stays'
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

/** These times are in docs/safety.md. A check must not follow a time of the shipped code (ms). */
const PROOF_LASTS_MS = 2_000;
const CAP_WINDOW_MS = 15 * 60_000;
const CLOCKS_DIFFER_MS = 60_000;

/** How long a run may act on what it has read of a cluster, with slow answers before and after (ms). */
const READ_LASTS_MS = 45_000;

/** Clouds give times in whole seconds. */
const SECOND_MS = 1_000;

export interface Safety {
  readonly interference: Interference;
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
  readonly notePause: (paused: boolean) => void;
  readonly optOuts: OptOuts;
  /** The cap has admitted the fence of the machine. The fence counts from then on, whenever its mark is written. */
  readonly noteAdmission: (machine: MachineId) => void;
  readonly noteNodes: (count: number) => void;
  readonly break: (breaks: Invariant, says: string) => void;
}

interface World {
  readonly now: () => number;
  readonly cluster: Cluster;
  readonly machines: readonly Machine[];
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

/** A mark that only moves the quarantine to this boot frees nothing. So it needs no place, and does not wait. */
const freesSomething = (step: Step): boolean => step.do === 'mark' && step.record.phase === 'fencing';

export const createSafety = ({
  now,
  cluster,
  machines,
  disks,
  policy,
  assumption,
  lastOffAt,
  maxSkew,
  mandate,
}: World): Safety => {
  const violations: Violation[] = [];
  const begun: { readonly at: number; readonly machine: string }[] = [];
  const admitted = new Map<MachineId, number>();
  /** When the cap last admitted the machine, whenever its fence began. */
  const counted = new Map<MachineId, number>();
  let pausedSince: number | null = null;
  let mostNodes = 0;
  const optOuts = createOptOuts({ now, cluster, policy });
  /** By the uid of the Node: when the sweep ended that first left our taint on a machine that runs. */
  const suspectedAt = new Map<string, { readonly boot: number; readonly at: number }>();
  /** By disk: the machine that it left last. */
  const lastLeft = new Map<string, { readonly machine: Machine; readonly at: number }>();
  const fail = (breaks: Invariant, says: string): void => void violations.push({ at: now(), breaks, says });
  const acceptedFor = FUNCTION_LASTS_MS + assumption.transit;
  const interference = createInterference({ now, cluster, readLasts: READ_LASTS_MS, acceptedFor });
  const returns = createReturns({
    now,
    cluster,
    machines,
    interference,
    readLasts: FUNCTION_LASTS_MS,
    fail: (says) => fail('release-after-return', `the fence ${says}`),
  });
  const mayBePoweredOff = createPowerOffs({
    now,
    cluster,
    interference,
    maxSkew,
    proofLasts: PROOF_LASTS_MS + assumption.transit,
    readLasts: READ_LASTS_MS,
    fail,
  });
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
  const notRemoved = (node: V1Node | undefined, what: string, isMark: boolean): void => {
    const removal = node && interference.removalOn(node);
    if (removal && (isMark || now() - removal.at > PROOF_LASTS_MS + assumption.transit))
      fail('removed-stays-removed', `${what} takes effect although a person removed our taint in this boot`);
  };
  /** A run that has read the cluster since the machine went off has seen a pod that ran there. */
  const leavesTolerating = (
    machine: Machine | undefined,
    target: { readonly pod?: V1Pod; readonly volume?: string },
  ) => {
    const off = machine ? offSinceOf(machine) : null;
    if (!machine || off === null || now() - off <= READ_LASTS_MS) return;
    const staying = stayingOn(machine, cluster).filter(({ status }) => status?.phase === 'Running');
    const isStaying = staying.some((pod) => uidOf(pod) === (target.pod && uidOf(target.pod)));
    if (isStaying || volumesOf(staying, cluster).has(target.volume ?? ''))
      fail(
        'tolerating-stays',
        `${target.volume ?? 'a pod'} is taken from ${machine.name}, although the pod stays there`,
      );
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
    const window = CAP_WINDOW_MS - 2 * maxSkew - 60_000;
    const recent = begun.filter(({ at }) => now() - at < window);
    const others = new Set(recent.map((one) => one.machine));
    others.delete(machine.id);
    const limit = Math.max(1, Math.floor(policy.cap.share * mostNodes + 1e-9));
    if (others.size >= limit) fail('cap', `${what} takes effect although ${others.size} of ${limit} fences have begun`);
    begun.splice(0, begun.length, ...recent, { at: claimedAt(machine.id), machine: machine.id });
  };
  const notOptedOut = (node: V1Node, what: string): void => {
    const since = optOuts.sinceOn(node);
    if (since !== null && now() - since > READ_LASTS_MS)
      fail('opt-out', `${what} takes effect although the Node has been opted out for ${now() - since} ms`);
  };
  /** A mark for the boot whose fence is on the Node, or is no longer named there, continues that fence. */
  const continues = (node: V1Node, machine: Machine | undefined): boolean => {
    const named = fencesOn(node).flatMap((fence) => interference.begun(fence)?.launch ?? []);
    return isFenced(node) && (named.length === 0 || !machine || named.includes(endedBootOf(machine)));
  };
  const marked = (before: V1Node, machine: Machine | undefined, step: Step): void => {
    if (continues(before, machine)) return;
    const what = `the fence of ${nameOf(before)}`;
    notOptedOut(before, what);
    if (machine && freesSomething(step)) withinCap(machine, what);
  };
  /**
   * The delay counts from the power-off. If the cloud does not say when that was, it counts from the last renewal of
   * the Lease, if that is not in the future. So the earlier of the two counts here.
   */
  const notBeforeDelay = (machine: Machine): void => {
    const off = offSinceOf(machine);
    const lease = Date.parse(cluster.leaseOf(machine.node) ?? '') - EPOCH;
    if (off === null || lease - now() > CLOCKS_DIFFER_MS - maxSkew) return;
    // A run may have read the Lease before the last renewal arrived.
    const unread = now() - (machine.lateRenewalAt ?? -Infinity) < READ_LASTS_MS ? RENEWS_EVERY_MS : 0;
    const earliest = Math.min(off, Number.isNaN(lease) ? off : lease) - unread - SECOND_MS - maxSkew;
    if (now() - earliest < policy.fenceAfter)
      fail('policy-holds', `${machine.name} is marked ${now() - off} ms after its power-off`);
  };
  const OF_ONE_BOOT: ReadonlySet<string> = new Set(['mark', 'park', 'release-node', 'delete-node']);
  const ofThisBoot = (step: Step, node: V1Node): void => {
    if ('node' in step && OF_ONE_BOOT.has(step.do) && step.node.bootID !== bootOf(node))
      fail('nothing-of-another-boot', `${step.do} was decided for ${step.node.bootID} and meets ${bootOf(node)}`);
  };
  const notSpurious = (step: Step, node: V1Node): void => {
    if (step.do !== 'set-tombstone' || step.tombstone === null) return;
    if (!interference.mayHaveRemovedFence(node) && !interference.isOfEarlierBoot(node, step.tombstone))
      fail('removed-stays-removed', `${nameOf(node)} gets a tombstone, although nobody changed its fence in this boot`);
  };
  const patches = (before: V1Node, after: V1Node, step: Step): void => {
    const machine = cluster.machineOfNode.get(uidOf(before));
    interference.notePatch(before, after, machine);
    if (foreignOn(before) !== foreignOn(after))
      fail('nothing-foreign', `${step.do} changes on ${nameOf(before)} what is not ours`);
    if (isQuarantined(before) && !isQuarantined(after) && step.do !== 'release-node')
      fail('release-after-return', `${step.do} ends the quarantine of ${nameOf(before)}`);
    ofThisBoot(step, before);
    returns.onPatch(before, after, step);
    notSpurious(step, before);
    if (DESTRUCTIVE.has(step.do)) destroys(step.do, machine, before, nameOf(before));
    if (step.do === 'mark') marked(before, machine, step);
    if ((step.do !== 'mark' && step.do !== 'park') || !machine) return;
    interference.noteFence(step.record.fence, machine);
    if (freesSomething(step)) notBeforeDelay(machine);
  };
  const deletesNode = (before: V1Node, step: Step): void => {
    const machine = cluster.machineOfNode.get(uidOf(before));
    ofThisBoot(step, before);
    destroys('delete-node', machine, before, nameOf(before));
    if (policy.deleteNode === 'never') fail('policy-holds', `the Node ${nameOf(before)} is deleted`);
    if (machine && policy.deleteNode !== 'always' && !isGone(machine))
      fail('no-live-node-deleted', `the Node of ${machine.name} is deleted, which is ${machine.shown.power}`);
  };

  const nodeBelow = (machine: Machine | undefined): V1Node | undefined => machine && cluster.nodeBelow(machine);
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
    if (write.kind === 'pod') leavesTolerating(machine, { pod: write.before });
    if (write.kind === 'attachment' && write.verb === 'delete') {
      leavesTolerating(machine, { volume: write.before.spec.source.persistentVolumeName ?? '' });
      cluster.noteDeletion(uidOf(write.before), 'Cloudfence');
    }
    if (write.verb !== 'nudge') destroys(tag.do, machine, nodeBelow(machine), nameOf(write.before));
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
    if (node && !isFenced(node) && interference.changedFor(node) > actsWithin)
      fail('detach-target', `a detach names ${disk} of ${machine.name}, which is not fenced`);
  };
  const powersOff = (machine: Machine): void => {
    const node = nodeBelow(machine);
    const what = `the power-off of ${machine.name}`;
    if (policy.unreachable !== 'power-off')
      return fail('power-off-by-policy', `${machine.name} is powered off although the policy is to report`);
    notPaused(what);
    mayBePoweredOff(machine, node);
    if (node) notOptedOut(node, what);
    if (now() - (counted.get(machine.id) ?? -Infinity) > READ_LASTS_MS + FUNCTION_LASTS_MS)
      fail('cap', `${what} takes effect although the cap has not counted it`);
    withinCap(machine, what);
  };
  return {
    violations,
    interference,
    optOuts,
    onWrite,
    onMessage: ({ machine, dryRun }) => {
      if (!dryRun && isImagined(mandate(), machine)) fail('dry-run', `a dry run asks for a run about ${machine}`);
    },
    onCloudWrite: ({ verb, machine, disk }) => {
      writesByMandate(`${verb} ${disk?.id ?? ''} ${machine.name}`, machine.id, false);
      if (verb === 'power-off') return powersOff(machine);
      destroys('detach-disk', machine, nodeBelow(machine), disk?.id ?? '');
      leavesTolerating(machine, { volume: volumeNameOf(disk?.id ?? '') });
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
        const isUp = machine && mayWrite(machine) && machine.startedAt < began - assumption.staleness;
        if (isUp && isReady(node) && readySince(node) < EPOCH + began) interference.noteSweptNode(node);
        const stays = isUp && hasOurTaint(node);
        const suspected = suspectedAt.get(uidOf(node));
        if (!stays) suspectedAt.delete(uidOf(node));
        else if (suspected?.boot !== machine.boot) suspectedAt.set(uidOf(node), { boot: machine.boot, at: ended });
        else if (suspected.at < began)
          fail('taint-off-a-running-machine', `two sweeps leave our taint on ${nameOf(node)}, whose guest may write`);
      }
    },
    notePause: (paused) => void (pausedSince = paused ? (pausedSince ?? now()) : null),
    noteAdmission: (machine) => {
      counted.set(machine, now());
      const before = admitted.get(machine) ?? -Infinity;
      if (now() - before >= CAP_WINDOW_MS - maxSkew) admitted.set(machine, now());
    },
    noteNodes: (count) => void (mostNodes = Math.max(mostNodes, count)),
    break: fail,
  };
};
