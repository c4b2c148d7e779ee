import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { isOfShownBoot } from '../../fencing/model/cluster-facts.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import { shortMachine } from '../../kubernetes/ledger-text.ts';
import {
  FENCED_LABEL,
  LEDGER,
  NUDGE_ANNOTATION,
  QUARANTINE,
  RECORD_ANNOTATION,
  SEAL_LABEL,
} from '../../kubernetes/names.ts';
import { nodeFacts } from '../../kubernetes/node-facts.ts';
import { hasTaintKey, keyIn, nameOf, uidOf } from './cluster-objects.ts';
import { fencesOn, isFenced, isQuarantined, oursOn } from './fence-on-node.ts';
import type { Interference } from './interference.ts';
import type { Cluster } from './kubernetes.ts';
import { volumeNameOf } from './names.ts';
import type { OptOuts } from './opt-outs.ts';
import { stayingOn, volumesOf } from './tolerating.ts';
import { EPOCH } from './process.ts';
import { type Fleet, isGone, isOff, isUnknown, type Machine } from './machines.ts';

/**
 * The second promise: when the faults end, every dead machine is fenced to the end, and nothing of Cloudfence stays on
 * the Node of a machine that runs.
 */

interface World {
  readonly cluster: Cluster;
  readonly fleet: Fleet;
  readonly policy: Policy;
  readonly interference: Interference;
  readonly optOuts: OptOuts;
  /** Why the latest run about a machine refused, if it refused. */
  readonly refusals: ReadonlyMap<MachineId, string>;
}

/**
 * The cloud does not know the machine any more, and its kubelet never posted a later boot. So nothing shows that a
 * tombstone is of an earlier one.
 */
const hasTombstoneOfShownBoot = (machine: Machine, node: V1Node): boolean => {
  const facts = nodeFacts(node, []);
  return isUnknown(machine) && facts.tombstone !== null && isOfShownBoot(facts.tombstone, facts);
};

/** A person who opts a Node out, or who removes a fence, decides about this boot. */
const isLeftToPerson = (node: V1Node, { optOuts, interference }: World): boolean =>
  interference.hasPresentTombstone(node) ||
  optOuts.sinceOn(node) !== null ||
  interference.removalOn(node) !== undefined;

const attachmentsOf = (machine: Machine, { cluster: { objects, machineOfAttachment } }: World) =>
  objects.attachments.all().filter((one) => machineOfAttachment.get(uidOf(one)) === machine);

const heldBy = (machine: Machine, world: World): readonly string[] => {
  const { objects, machineOfPod } = world.cluster;
  const pods = objects.pods
    .all()
    .filter((pod) => machineOfPod.get(uidOf(pod)) === machine && !nameOf(pod).startsWith('agent'));
  const staying = stayingOn(machine, world.cluster);
  const kept = volumesOf(staying, world.cluster);
  const attachments = attachmentsOf(machine, world).map(({ spec }) => spec.source.persistentVolumeName ?? '');
  return [
    ...pods.filter((pod) => !staying.includes(pod)).map((pod) => `pod ${nameOf(pod)}`),
    ...attachments.filter((volume) => !kept.has(volume)).map((volume) => `attachment of ${volume}`),
    ...disksOf(machine, world).flatMap(({ id }) => (kept.has(volumeNameOf(id)) ? [] : [`disk ${id}`])),
  ];
};

const disksOf = (machine: Machine, { fleet }: World) =>
  [...fleet.disks.values()].filter(({ holder }) => holder === machine);

/**
 * If a machine never had a disk and its cloud does not know it any more, nothing can confirm that it is gone. A person
 * has to look, or the cloud controller has to delete the Node.
 */
const hasNoWitness = (machine: Machine, world: World): boolean =>
  isUnknown(machine) &&
  world.refusals.get(machine.id) === 'missing-without-witness' &&
  disksOf(machine, world).length === 0 &&
  attachmentsOf(machine, world).every(({ metadata, status }) => metadata?.deletionTimestamp || !status?.attached);

/**
 * A machine that was started after its fence, and terminated before any run saw it running, looks on some clouds like a
 * machine that was off all the time with a Node of another machine. The refusal says how a person ends the fence.
 */
const mayBeAnothers = (machine: Machine, node: V1Node | undefined, { refusals, interference }: World): boolean =>
  isGone(machine) &&
  node !== undefined &&
  refusals.get(machine.id) === 'identity-contradicted' &&
  fencesOn(node).some((fence) => machine.shown.launch > (interference.begun(fence)?.launch ?? Infinity));

/**
 * A pod came to the Node of a fenced machine, and the cloud of that machine does not know it any more. The fence has
 * freed the disks that could confirm that the machine is gone, so nothing allows Cloudfence to delete this pod.
 */
const hasPodWithoutWitness = (machine: Machine, node: V1Node | undefined, world: World): boolean =>
  node !== undefined &&
  (nodeFacts(node, []).record?.phase === 'fencing' || lostRecord(node, world)) &&
  hasNoWitness(machine, world) &&
  heldBy(machine, world).length > 0;

/**
 * Another machine has its name, and was stopped before its kubelet posted. So the Node shows the immutable id of a
 * machine that is gone.
 */
const isNameTaken = (machine: Machine, { fleet, refusals }: World): boolean =>
  isGone(machine) &&
  refusals.get(machine.id) === 'identity-contradicted' &&
  fleet.machines.some(({ id, serial }) => id === machine.id && serial > machine.serial);

/**
 * Returns the machines at which a person has to look. Either their name is taken, an attachment is older than the
 * Node that it names, so nobody knows whether its disk was ever attached to this machine, or a pod has come without a
 * witness. A cloud controller deletes such a Node.
 */
export const toLookAt = (world: World): readonly Machine[] =>
  world.fleet.machines.filter((machine) => {
    const node = world.cluster.nodeBelow(machine);
    const made = node?.metadata?.creationTimestamp ?? new Date(0);
    const isOlder = attachmentsOf(machine, world).some(({ metadata }) => (metadata?.creationTimestamp ?? made) < made);
    const isUnproven = isGone(machine) && world.refusals.get(machine.id) === 'missing-without-witness';
    return isNameTaken(machine, world) || (isUnproven && (isOlder || hasPodWithoutWitness(machine, node, world)));
  });

/**
 * A machine that its cloud knew when its fence began, and does not know any more. The fence has freed the disks that
 * could confirm that it is gone, so its parked Node stays until the cloud controller or a person deletes it.
 */
const isKeptFor = (machine: Machine, node: V1Node | undefined): boolean => {
  const record = node && nodeFacts(node, []).record;
  return isUnknown(machine) && record?.phase === 'fenced' && record.generation !== null;
};

/** A kubelet or a person removed or changed the record. */
const lostRecord = (node: V1Node | undefined, { interference }: World): boolean =>
  node !== undefined && interference.changedFor(node) < Infinity && nodeFacts(node, []).record === null;

/**
 * The trace of a fence that has ended, and a record that a kubelet has changed. They have no effect if their boot has
 * ended, and no fence is there.
 */
const hasOnlyTombstone = (node: V1Node | undefined, ours: readonly string[], world: World): boolean => {
  if (node === undefined || nodeFacts(node, []).tombstone === null) return false;
  const isLost = lostRecord(node, world);
  return ours.every((key) => key === FENCED_LABEL || (isLost && (key === RECORD_ANNOTATION || key === SEAL_LABEL)));
};

/** A person removed all of a fence but its record and the seal, which count for nothing without the rest. */
const isBareRecord = (node: V1Node | undefined, { interference }: World): boolean =>
  node !== undefined && interference.changedFor(node) < Infinity && nodeFacts(node, []).strayRecord !== null;

/** Without its own record, a fence is released only by a person. Our out-of-service taint does not stay. */
const isRecordLost = (machine: Machine, ours: readonly string[], world: World): boolean =>
  world.refusals.get(machine.id) === 'record-lost' &&
  lostRecord(world.cluster.nodeBelow(machine), world) &&
  !ours.includes('our out-of-service taint');

/**
 * A person removed only the quarantine, while our out-of-service taint was set. That ends the fence in this boot, as
 * the removal of the taint does. The refusal names the command that removes the rest.
 */
const isQuarantineTakenBack = (machine: Machine, node: V1Node, { interference, refusals }: World): boolean =>
  (interference.removalOn(node) !== undefined || hasTombstoneOfShownBoot(machine, node)) &&
  !hasTaintKey(node, QUARANTINE.key) &&
  refusals.has(machine.id);

/** EC2 and Azure do not say whether a guest that switched itself off did so to hibernate. Only a person knows. */
const mayHaveHibernated = ({ cloud, mayHibernate, shown }: Machine): boolean =>
  cloud !== 'gcp' && mayHibernate && shown.byGuest;

/** Returns what is still missing for a machine that is off. */
const lacksWhenOff = (machine: Machine, world: World): readonly string[] => {
  const node = world.cluster.nodeBelow(machine);
  const ours = node ? oursOn(node) : [];
  const { power } = machine.shown;
  if (node && isQuarantineTakenBack(machine, node, world)) return [];
  if (ours.includes('our out-of-service taint'))
    return [`our taint is on the Node of ${machine.name}, which is ${power}`];
  if (node && (isLeftToPerson(node, world) || hasTombstoneOfShownBoot(machine, node))) return [];
  if (node && isFenced(node) && !isQuarantined(node) && world.interference.changedFor(node) === Infinity)
    return [`the Node of ${machine.name} has a fence without its quarantine`];
  if (hasNoWitness(machine, world) || mayBeAnothers(machine, node, world)) return [];
  if (
    isGone(machine) &&
    ours.length > 0 &&
    !hasOnlyTombstone(node, ours, world) &&
    !isKeptFor(machine, node) &&
    world.policy.deleteNode !== 'never'
  )
    return [`the fenced Node of ${machine.name} stays, although it is gone`];
  if (mayHaveHibernated(machine) && world.refusals.get(machine.id) === 'suspended') return [];
  const held = heldBy(machine, world);
  return held.length > 0 ? [`${machine.name} is ${power}, and still holds ${held.join(', ')}`] : [];
};

const machineLacks = (machine: Machine, world: World): readonly string[] => {
  const { power } = machine.shown;
  if (power === 'suspended') return [];
  if (isOff(machine)) return lacksWhenOff(machine, world);
  if (power !== 'running') return [`${machine.name} is still ${power}`];
  const node = world.cluster.nodeBelow(machine);
  const ours = node ? oursOn(node) : [];
  if (isRecordLost(machine, ours, world) || isBareRecord(node, world)) return [];
  return ours.length > 0 ? [`${machine.name} runs, and its Node has ${ours.join(', ')}`] : [];
};

/**
 * A fence that ends within this time (ms) after its entry was written is finished by a sweep before the entry leaves
 * the window of the cap.
 */
const ENDS_IN_TIME_MS = 12 * 60_000;

/** When the fence of a machine that is off ended, if nobody interfered with it (epoch ms). */
const fenceEndedAt = (machine: Machine, world: World): number | null => {
  const node = world.cluster.nodeBelow(machine);
  if (!node || !isOff(machine) || isLeftToPerson(node, world) || !isQuarantined(node)) return null;
  const { record } = nodeFacts(node, []);
  return record?.phase === 'fenced' ? Date.parse(record.released ?? '') : null;
};

/** An entry for a power-off is of the boot that the power-off ends. It stays for a while if the cloud rejects that. */
const isOfPowerOff = ({ history }: Machine, begun: number): boolean => {
  const power = history.findLast(({ at }) => at <= begun - EPOCH)?.shown.power;
  return power === 'running' || power === 'stopping';
};

/** A fence that has ended gives its place under the cap back, at the latest in the next sweep. */
const openEntries = (world: World): readonly string[] => {
  const map = world.cluster.objects.maps.get(keyIn(LEDGER.namespace, LEDGER.name));
  const lines = (map?.data?.[LEDGER.fences] ?? '').split('\n').map((line) => line.split(' '));
  const open = new Map(
    lines.flatMap(([name = '', , at, state]) => (state === 'o' ? [[name, Number(at)] as const] : [])),
  );
  return world.fleet.machines.flatMap((machine) => {
    const begun = (open.get(shortMachine(machine.id)) ?? NaN) * 1_000;
    const ended = fenceEndedAt(machine, world) ?? NaN;
    return ended - begun < ENDS_IN_TIME_MS && !isOfPowerOff(machine, begun)
      ? [`the fence of ${machine.name} has ended, and is unfinished in the ledger`]
      : [];
  });
};

/**
 * Returns what Cloudfence has not freed without the CSI attacher: the pods and disks of a machine that is off. The
 * attachments stay, because only the attacher removes its finalizer from them.
 */
export const heldWithoutAttacher = (world: World): readonly string[] => {
  const undecided = toLookAt(world);
  return world.fleet.machines.filter(isOff).flatMap((machine) => {
    if (undecided.includes(machine)) return [];
    const isHeld = lacksWhenOff(machine, world).length > 0;
    const held = heldBy(machine, world).filter((one) => !one.startsWith('attachment'));
    return isHeld && held.length > 0 ? [`${machine.name} still holds ${held.join(', ')} without the attacher`] : [];
  });
};

/** Returns what is still missing, in words. */
export const lacksOf = (world: World): readonly string[] => [
  ...world.fleet.machines.flatMap((machine) => machineLacks(machine, world)),
  ...openEntries(world),
];

/**
 * Returns how many attachments have a nudge that nothing removes, because the run that set it on the attachment of the
 * next Node ended before it could remove it. The nudge goes with the attachment, and changes nothing until then.
 */
export const countNudges = ({ objects }: Cluster): number =>
  objects.attachments.all().filter(({ metadata }) => metadata?.annotations?.[NUDGE_ANNOTATION] !== undefined).length;
