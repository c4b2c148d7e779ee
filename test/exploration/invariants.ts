import type { Policy } from '../../fencing/model/policy.ts';
import type { Step } from '../../fencing/model/steps.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import { FENCED_LABEL } from '../../kubernetes/names.ts';
import type { Scenario } from './explore.ts';
import { bootIdOf } from './facts.ts';
import { foreignOn, isOnlyRemoved, isQuarantined, isTaintedByUs, recordOn } from './on-node.ts';
import {
  type Assumption,
  isAskedOfEarlierNode,
  isGone,
  isVouchedFor,
  longAgo,
  PROOF_TICKS,
  type World,
} from './world.ts';

/** What must hold in every state of every schedule, by its name. */
const invariants = {
  'one-writer': 'nothing takes a disk from a guest that may write to it',
  'taint-off-a-running-machine':
    'our out-of-service taint is not on the Node of a machine that a run has seen starting, running, or stopping',
  'lift-after-start': 'that taint is lifted only if the machine may have run since the mark',
  'act-under-proof': 'nothing destructive takes effect without a proof that is young enough',
  'act-under-word':
    "nothing destructive takes effect on a machine whose memory is kept, but by a person's word about this very start",
  'nothing-of-another-boot': 'no step takes effect on a Node, or in a boot, for which it was not decided',
  'release-after-return':
    'only a release ends the quarantine; it removes only the fence for which it was decided, and only once the Node shows another boot',
  'no-live-node-deleted':
    'Cloudfence deletes only the Node of a machine that is terminated, unless `policy.deleteNode` is `always`',
  'power-off-by-policy': 'Cloudfence powers a machine off only if the policy allows it',
  'unclaimed-power-off': 'Cloudfence powers no machine off while another Node may be its own',
  'reachable-stays-on': 'no machine is powered off whose kubelet reaches the API server',
  'detach-by-policy': 'Cloudfence detaches no disk if `policy.detach` is `never`',
  'own-disk': 'Cloudfence detaches only the disk of the machine that it fences, and only from that machine',
  'mark-first': 'no pod is deleted from a Node that is not in quarantine',
  'removed-stays-removed':
    'a taint that a person removed does not come back in that boot, and the fence does not continue; if the whole fence is gone, only a run that remembers it, or a tombstone, can know that',
  'only-imagines': 'a dry run changes nothing, and shadow mode only removes what an earlier fence left',
  'pause-holds': 'nothing destructive happens while a person has paused Cloudfence',
  'opt-out-holds': 'no fence begins on a Node that a person has opted out, and its machine is not powered off',
  'cap-holds': 'no fence begins, and no machine is powered off, before the ledger has counted it',
  'nothing-foreign-taken': 'labels, annotations, and an out-of-service taint that others set stay as they are',
} as const;

export type Invariant = keyof typeof invariants;

/** What a story may break: an invariant, or the promise that fresh runs complete every fence. */
export const meanings = {
  ...invariants,
  recovery:
    'when nothing fails any more, fresh runs complete every fence and release every Node of a machine that runs',
} as const;
export type Broken = keyof typeof meanings;

/** What the schedules of a scenario may do. */
type Limits = Pick<Scenario, 'assumption' | 'policy'>;

/** Returns whether a call that was sent before the latest start of the machine may still take effect. */
const mayPredateStart = ({ machine }: World, { staleness, transit }: Assumption): boolean =>
  machine.started < staleness + PROOF_TICKS + transit;

/**
 * Returns whether a person has stated, under a policy that accepts it, that the memory of the machine does not write.
 */
const isVouchedMemory = ({ vouched, machine }: World, { policy }: Limits): boolean =>
  policy.vouching === 'accepted' && vouched?.kernel === machine.kernel;

/**
 * Returns whether the disk begins to go, although a run has seen that the machine has resumed since the statement. What
 * has begun before continues.
 */
const goesAfterReturn = (before: World, after: World): boolean =>
  before.attachment === 'attached' && after.attachment === 'deleting' && before.swept && !isVouchedFor(before);

/** Returns whether the disk was taken from the machine while its guest wrote to it. */
const takenFromWriter = (before: World, after: World, limits: Limits): boolean =>
  before.disk === 'here' &&
  before.machine.writes &&
  (isVouchedMemory(before, limits) ? goesAfterReturn(before, after) : after.disk !== 'here');

const mayRun = ({ machine: { power } }: World): boolean =>
  power === 'running' || power === 'starting' || power === 'stopping';

/** Returns whether our taint is on the Node of a machine that runs, or may resume, although a run has ended since. */
const isTaintedAnyway = (world: World): boolean =>
  (mayRun(world) || (world.machine.power === 'off' && world.machine.hibernates && !isVouchedFor(world))) &&
  world.swept &&
  world.node !== null &&
  isTaintedByUs(world.node);

/** Returns which invariant a change of the world breaks, whoever made it. */
export const brokenIn = (before: World, after: World, limits: Limits): Invariant | null => {
  if (takenFromWriter(before, after, limits)) return 'one-writer';
  return isTaintedAnyway(after) && !isTaintedAnyway(before) ? 'taint-off-a-running-machine' : null;
};

/**
 * The machine may have been started after the proof was read, but no longer ago than the age of the proof. A proof
 * about the former machine of the Node is no proof once the Node shows the boot of another one.
 */
const isWithoutProof = (world: World, assumption: Assumption): boolean =>
  mayRun(world) &&
  (isAskedOfEarlierNode(world) ? world.node?.boot === world.machine.kernel : !mayPredateStart(world, assumption));

/** The machine may have been started, and hibernated, after the proof was read, within the proof's age. */
const isWithoutWord = (world: World, assumption: Assumption, { vouching }: Policy): boolean =>
  world.machine.power === 'off' &&
  world.machine.hibernates &&
  world.asked === 'about it' &&
  !mayPredateStart(world, assumption) &&
  !(isVouchedFor(world) && vouching === 'accepted');

/** Steps that destroy something if the machine is not off, or that let others destroy it. */
export const DESTRUCTIVE: ReadonlySet<Step['do']> = new Set<Step['do']>([
  'mark',
  'fail-pod',
  'delete-pod',
  'delete-attachment',
  'delete-node',
  'detach-disk',
  'power-off',
]);

/** Steps that write what holds for one boot only. */
const OF_ONE_BOOT: ReadonlySet<Step['do']> = new Set<Step['do']>(['mark', 'park', 'release-node', 'delete-node']);

const isOfAnotherBoot = (step: Step, { node }: World): boolean =>
  'node' in step &&
  OF_ONE_BOOT.has(step.do) &&
  node !== null &&
  (step.node.uid !== node.uid || step.node.bootID !== bootIdOf(node));

/**
 * A Node that a machine left behind is not the Node of the next machine of its name. If the cloud does not know the
 * machine, nothing distinguishes a machine that is off and has no disk from one that is gone.
 */
const isOfLiveMachine = (world: World): boolean =>
  !isGone(world) &&
  !(world.asked === 'elsewhere' && world.machine.power === 'off') &&
  world.node?.incarnation === world.machine.incarnation;

/** The statement of a person ends every fence of the boot in which it was given, and of earlier boots. */
const isWithinWord = ({ word }: World): boolean => word !== null && !word.laterFence;

/** Another run may have left the tombstone earlier. */
const isLabelOf = ({ fence }: FenceRecord, label: string | undefined): boolean =>
  label === undefined || label === fence || label.startsWith(`${fence}_removed_`);

/** A release that leaves a tombstone, or has not waited for a return, needs the statement of a person. */
const releasesTooMuch = (step: Step, world: World): boolean => {
  const { node } = world;
  if (node === null) return false;
  if (step.do === 'lift-out-of-service') return step.record?.phase === 'releasing' && !isWithinWord(world);
  if (step.do !== 'release-node') return false;
  if (!isLabelOf(step.record, node.labels[FENCED_LABEL])) return true;
  return (step.tombstone !== null || step.record.bootID === bootIdOf(node)) && !isWithinWord(world);
};

/** Returns whether the step continues a fence that a person removed. A call that was sent before may still take effect. */
const continuesAfter = (removed: NonNullable<World['removed']>, step: Step, { transit }: Assumption): boolean =>
  DESTRUCTIVE.has(step.do) && (step.do === 'mark' || removed.age > PROOF_TICKS + transit);

/** Returns whether the step of a run that may have seen only the previous stop is not about the stop of the word. */
const isMistaken = ({ mistakable, age }: NonNullable<World['removed']>, step: Step, assumption: Assumption): boolean =>
  mistakable !== undefined &&
  !(step.do === 'mark' && (step.record.generation === mistakable || age >= longAgo(assumption)));

const isAfterRemoval = (step: Step, { removed, node, machine }: World, assumption: Assumption): boolean =>
  removed !== null &&
  !isMistaken(removed, step, assumption) &&
  removed.boot === node?.boot &&
  [null, machine.boot].includes(removed.start) &&
  continuesAfter(removed, step, assumption);

/**
 * Returns whether the step continues or restores the fence that a person has removed as a whole in this start of the
 * machine. Only a run that remembers the fence can know that.
 */
export const restoresFence = (step: Step, { removed, machine }: World, assumption: Assumption): boolean =>
  removed?.boot === null && removed.start === machine.boot && continuesAfter(removed, step, assumption);

/** Returns whether a call that was sent before a person intervened may still take effect. */
const isLong = (age: number | null, assumption: Assumption): boolean => age !== null && age >= longAgo(assumption);

/**
 * Returns whether the step begins a fence: that of another boot, or one that was parked and gets its taint again. A
 * mark that only adds the quarantine to a Node with nothing to free begins none. A power-off begins one.
 */
const begins = (step: Step, { node }: World): boolean => {
  if (step.do !== 'mark') return step.do === 'power-off';
  const record = node && recordOn(node);
  return step.record.released === null && (step.record.fence !== record?.fence || record.released !== null);
};

/** Returns what a step breaks that people have forbidden. */
const forbiddenBy = (step: Step, world: World, assumption: Assumption): Invariant | null => {
  if (DESTRUCTIVE.has(step.do) && isLong(world.paused, assumption)) return 'pause-holds';
  if (begins(step, world) && isLong(world.optedOut, assumption)) return 'opt-out-holds';
  return isUncounted(step, world) ? 'cap-holds' : null;
};

/**
 * Returns whether the step begins what the ledger does not count. Where the ledger counts by boot, a mark that keeps
 * the taint of an earlier boot is a beginning, too.
 */
const isUncounted = (step: Step, world: World): boolean =>
  world.cap === 'by boot'
    ? step.do === 'mark' && step.record.released === null && step.record.generation !== world.reserved
    : begins(step, world) && world.cap !== 'counted';

/** Returns which invariant a step of Cloudfence breaks by what it removed from the Node, or added to it. */
export const brokenOnNode = (
  step: Step,
  { node: before }: World,
  { node: after }: World,
  { shadow }: Policy,
): Invariant | null => {
  if (before && shadow && !(after && isOnlyRemoved(before, after))) return 'only-imagines';
  if (!before || !after) return null;
  if (step.do !== 'release-node' && isQuarantined(before) && !isQuarantined(after)) return 'release-after-return';
  return foreignOn(before) === foreignOn(after) ? null : 'nothing-foreign-taken';
};

/** Returns what a power-off breaks. A survey that was made before another Node registered may still count. */
const powersOffWrongly = ({ rival, readyFor }: World, assumption: Assumption, policy: Policy): Invariant | null => {
  if (policy.unreachable !== 'power-off') return 'power-off-by-policy';
  if (isLong(readyFor ?? null, assumption)) return 'reachable-stays-on';
  return isLong(rival?.age ?? null, assumption) ? 'unclaimed-power-off' : null;
};

/**
 * Returns whether the machine has been off since the mark. Where the world does not track that, a machine that has been
 * started since has another kernel than the Node shows.
 */
const isOffSinceMark = ({ machine, node, offSinceMark }: World): boolean =>
  (machine.power === 'off' || machine.power === 'gone' || machine.power === 'forgotten') &&
  !machine.hibernates &&
  (offSinceMark ?? node?.boot === machine.kernel);

/**
 * Returns whether the step lifts the mark of a machine that has been off since. A Node that has posted another boot
 * than the record names is another matter.
 */
const liftsTooEarly = (step: Step, world: World): boolean =>
  step.do === 'lift-out-of-service' &&
  step.record?.phase === 'lifted' &&
  world.node !== null &&
  step.record.bootID === bootIdOf(world.node) &&
  isOffSinceMark(world) &&
  world.asked === 'about it';

/**
 * Returns whether the step deletes a pod that the scheduler would place on the same Node again. A call may still be
 * under way when a person takes the quarantine off, or ends the fence.
 */
const deletesUnmarked = (step: Step, world: World, assumption: Assumption): boolean =>
  step.do === 'delete-pod' &&
  world.node !== null &&
  !isQuarantined(world.node) &&
  ![world.removed, world.word].some((person) => person && isAboutThisStart(person, world, assumption));

/** Returns whether what a person has done applies to the present start of the machine, or to calls that left before. */
const isAboutThisStart = (
  { start }: { readonly start: number | null },
  world: World,
  assumption: Assumption,
): boolean => start === null || start === world.machine.boot || mayPredateStart(world, assumption);

/** Returns whether the step is more than shadow mode, or a dry run, takes, whatever it changes on the Node. */
const isMoreThanImagined = (step: Step, { dryRun, shadow }: Policy): boolean =>
  dryRun || (shadow && !('node' in step) && !(step.do === 'nudge' && !step.on));

/** Returns which invariant a step of Cloudfence breaks if it takes effect in this world. */
export const brokenBy = (
  step: Step,
  world: World,
  { assumption, policy, cloud }: Limits & Pick<Scenario, 'cloud'>,
): Invariant | null => {
  const forbidden = forbiddenBy(step, world, assumption);
  if (forbidden) return forbidden;
  if (isMoreThanImagined(step, policy)) return 'only-imagines';
  if (step.do === 'power-off') return powersOffWrongly(world, assumption, policy);
  if (DESTRUCTIVE.has(step.do) && isWithoutProof(world, assumption)) return 'act-under-proof';
  if (DESTRUCTIVE.has(step.do) && isWithoutWord(world, assumption, policy)) return 'act-under-word';
  if (step.do === 'detach-disk' && policy.detach === 'never') return 'detach-by-policy';
  if (step.do === 'detach-disk' && !(step.from.machine === cloud.machine && step.disk === cloud.disk))
    return 'own-disk';
  if (isOfAnotherBoot(step, world)) return 'nothing-of-another-boot';
  if (deletesUnmarked(step, world, assumption)) return 'mark-first';
  if (liftsTooEarly(step, world)) return 'lift-after-start';
  if (releasesTooMuch(step, world)) return 'release-after-return';
  if (step.do === 'delete-node' && policy.deleteNode !== 'always' && isOfLiveMachine(world))
    return 'no-live-node-deleted';
  return isAfterRemoval(step, world, assumption) ? 'removed-stays-removed' : null;
};
