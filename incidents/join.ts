import { offStates } from '../fencing/model/machine.ts';
import { because } from '../fencing/model/reason.ts';
import type { End, Incident, IncidentStep, Phases, Proof, Trigger } from './incident.ts';

/** Merges the runs of one incident, in any order and any number of times. */

/** The phases that do not follow from a step: the time at which a run first saw them. */
export type ObservedPhase = 'attachmentsGone' | 'disksFreed' | 'attachedElsewhere' | 'running' | 'returned';
export type Seen = Pick<Phases, ObservedPhase>;

export const nothingSeen: Seen = {
  attachmentsGone: null,
  disksFreed: null,
  attachedElsewhere: null,
  running: null,
  returned: null,
};

/**
 * Merges what several runs show about one incident. The order of the runs does not matter, and merging a run twice has
 * no effect. So a replay, a redelivery, and concurrent runs complete the same object.
 */

/** The maximum length of each list. A Node with 110 pods needs about 200 steps. */
const MOST = { triggers: 50, proofs: 300, steps: 2_000, ends: 100 };

/** Merges two lists without duplicates, sorted by `at`. If a list is too long, its middle is dropped. */
const union = <T>(
  before: readonly T[],
  more: readonly T[],
  keyOf: (one: T) => string,
  atOf: (one: T) => string,
  most: number,
): readonly T[] => {
  const byKey = new Map<string, T>();
  for (const one of [...before, ...more].sort((a, b) => atOf(a).localeCompare(atOf(b))))
    if (!byKey.has(keyOf(one))) byKey.set(keyOf(one), one);
  const all = [...byKey.values()];
  return all.length <= most ? all : [...all.slice(0, most / 2), ...all.slice(-most / 2)];
};

/** Lists a simulated step once, and a step that is rejected repeatedly once. */
const stepName = ({ step, target, started, result, message }: IncidentStep): string =>
  result === 'done' || result === 'already'
    ? `${started} ${step} ${target}`
    : `${result} ${step} ${target} ${message ?? ''}`;
const endName = ({ outcome, because: { code } }: End): string => `${outcome} ${code}`;

const triggerName = ({ kind, event }: Trigger): string => `${kind} ${event}`;
const askedAt = ({ asked }: Proof): string => asked;

/** Returns whether a run contains a step or an end that is not in the incident yet. */
const hasNews = (before: Incident, more: Incident): boolean => {
  const steps = new Set(before.steps.map(stepName));
  const ends = new Set(before.ends.map(endName));
  return more.steps.some((one) => !steps.has(stepName(one))) || more.ends.some((one) => !ends.has(endName(one)));
};

export const earlier = (a: string | null, b: string | null): string | null =>
  a !== null && b !== null && b < a ? b : (a ?? b);
const first = (times: readonly (string | null)[]): string | null => times.reduce(earlier, null);

const endsOf = (steps: readonly IncidentStep[], ...kinds: readonly string[]): readonly string[] =>
  steps
    .filter(({ step, result }) => kinds.includes(step) && (result === 'done' || result === 'already'))
    .map(({ ended }) => ended);

const offProofs = ({ proofs }: Pick<Incident, 'proofs'>): readonly Proof[] =>
  proofs.filter(({ power }) => offStates.has(power));

/** Returns when each phase was reached. A phase that does not follow from a step is taken from what the runs saw. */
export const phasesOf = (
  { steps, proofs, triggers, ends, begun }: Pick<Incident, 'steps' | 'proofs' | 'triggers' | 'ends' | 'begun'>,
  seen: Seen,
): Phases => {
  const off = offProofs({ proofs });
  const released = endsOf(steps, 'release-node').at(-1) ?? null;
  // A trigger whose run found the machine running again did not cause the fence.
  const asked = off.length === 0 && released !== null ? [] : triggers;
  return {
    off: off.find(({ since }) => since !== null)?.since ?? null,
    event: first(asked.map(({ happened }) => happened)),
    received: first(asked.map(({ received }) => received)),
    proven: off[0]?.answered ?? null,
    marked: endsOf(steps, 'mark')[0] ?? begun,
    podsDeleted: endsOf(steps, 'delete-pod').at(-1) ?? null,
    ...seen,
    fenced: endsOf(steps, 'park', 'delete-node')[0] ?? ends.find(({ outcome }) => outcome === 'fenced')?.at ?? null,
    lifted: endsOf(steps, 'lift-out-of-service')[0] ?? null,
    released,
  };
};

const REMOVED_BY_HAND: ReadonlySet<string> = new Set(['fence-removed-by-hand', 'taint-removed-by-hand']);

type Shown = Pick<Incident, 'fence' | 'steps' | 'ends' | 'phases'>;

/** Returns the state of a fence, which follows from the last step on the Node. */
const stateOfFence = ({ steps, ends }: Shown): Incident['state'] => {
  const lifted = endsOf(steps, 'lift-out-of-service').at(-1) ?? '';
  // If the Node was deleted in the meantime, it is neither parked nor deleted by a step.
  const ended = ends.findLast(({ outcome }) => outcome === 'fenced')?.at ?? '';
  const over = [...endsOf(steps, 'park', 'delete-node').slice(-1), ended].toSorted().at(-1) ?? '';
  const marked = endsOf(steps, 'mark').at(-1) ?? '';
  if (lifted > marked && lifted > over) return 'returning';
  return over > marked ? 'fenced' : 'fencing';
};

/** The state of an incident without a record, by its last end. Every other end is a refusal. */
const stateByEnd: Readonly<Partial<Record<End['outcome'], Incident['state']>>> = {
  fenced: 'fenced',
  'would-fence': 'would-fence',
  'would-release': 'would-fence',
  failed: 'failed',
};

/** Returns the state of the incident. */
export const incidentState = ({ fence, steps, ends, phases }: Shown): Incident['state'] => {
  if (endsOf(steps, 'release-node').length > 0) return 'released';
  if (ends.some(({ because }) => REMOVED_BY_HAND.has(because.code))) return 'ended-by-hand';
  if (fence !== null) return stateOfFence({ fence, steps, ends, phases });
  const last = ends.at(-1)?.outcome;
  // If no later run can find anything of this machine, only a later look can see the end. A run that waits does not
  // undo an end.
  if (last === 'waiting') return phases.fenced === null ? 'fencing' : 'fenced';
  return (last && stateByEnd[last]) ?? 'refused';
};

/** Returns the earlier of two observations of each phase. */
const firstSeen = (a: Seen, b: Seen): Seen => ({
  attachmentsGone: earlier(a.attachmentsGone, b.attachmentsGone),
  disksFreed: earlier(a.disksFreed, b.disksFreed),
  attachedElsewhere: earlier(a.attachedElsewhere, b.attachedElsewhere),
  running: earlier(a.running, b.running),
  returned: earlier(a.returned, b.returned),
});

/**
 * Returns whether Cloudfence changed anything because of the machine. If it did, the incident does not count as one of
 * shadow mode, even if an earlier run was in shadow mode.
 */
export const hasActed = ({ steps, ends }: Pick<Incident, 'steps' | 'ends'>): boolean =>
  steps.some(({ result }) => result === 'done' || result === 'already') ||
  ends.some(({ outcome }) => outcome === 'fenced' || outcome === 'released');

/** Returns the first list that is not empty. The first run that could read the Node shows what was on it. */
const known = <T>(before: readonly T[], more: readonly T[]): readonly T[] => (before.length > 0 ? before : more);

/** Returns the pods with their replacements, as far as one of the runs saw them. */
const knownPods = (before: Incident['pods'], more: Incident['pods']): Incident['pods'] => {
  const replacedBy = new Map([...more, ...before].flatMap((pod) => (pod.replacedBy === null ? [] : [[pod.uid, pod]])));
  return known(before, more).map((pod) => replacedBy.get(pod.uid) ?? pod);
};

/**
 * Returns the incident with the additions of another run. Returns `before` itself if the run contains nothing new.
 * Pure.
 */
export const joined = (before: Incident | null, more: Incident): Incident => {
  if (before === null) return more;
  if (!hasNews(before, more)) return before;
  const lists = {
    triggers: union(before.triggers, more.triggers, triggerName, ({ received }) => received, MOST.triggers),
    proofs: union(before.proofs, more.proofs, askedAt, askedAt, MOST.proofs),
    steps: union(before.steps, more.steps, stepName, ({ started }) => started, MOST.steps),
    ends: union(before.ends, more.ends, endName, ({ at }) => at, MOST.ends),
  };
  const begun = before.begun ?? more.begun;
  const phases = phasesOf({ ...lists, begun }, firstSeen(before.phases, more.phases));
  return {
    ...before,
    ...lists,
    account: before.account ?? more.account,
    region: before.region ?? more.region,
    zone: before.zone ?? more.zone,
    nodeUid: before.nodeUid ?? more.nodeUid,
    bootID: before.bootID ?? more.bootID,
    begun,
    shadow: (before.shadow || more.shadow) && !hasActed(lists),
    volumes: known(before.volumes, more.volumes),
    pods: knownPods(before.pods, more.pods),
    watch: before.watch ?? more.watch,
    vouched: before.vouched ?? more.vouched,
    left: more.left.length > 0 ? more.left : before.left,
    release: more.release ?? before.release,
    phases,
    state: incidentState({ fence: before.fence, ...lists, phases }),
  };
};

/** Returns whether a run powered the machine off and did nothing else. The fence begins with a later run. */
export const isOnlyPowerOff = ({ fence, state, steps }: Incident): boolean => {
  const done = endsOf(steps, 'power-off').length;
  return fence === null && state === 'fencing' && done > 0 && steps.every(({ step }) => MAY_PRECEDE.has(step));
};

const MAY_PRECEDE: ReadonlySet<string> = new Set(['power-off', 'note-stopping']);

/** Returns when the machine was last powered off (ISO time). Empty if it was not. */
export const lastPowerOff = ({ steps }: Incident): string => endsOf(steps, 'power-off').at(-1) ?? '';

/** Returns the incident of a machine that was powered off, if no fence followed: it ended without one. */
export const endedWithoutFence = (incident: Incident, now: number): Incident => {
  const says = `Cloudfence powered ${incident.machine} off, and no fence followed: look at the machine and its Node`;
  const end: End = {
    outcome: 'failed',
    because: because('not-fenced', says),
    at: new Date(now).toISOString(),
    run: 'watch',
  };
  const ends = [...incident.ends, end];
  return { ...incident, ends, state: incidentState({ ...incident, ends }) };
};
