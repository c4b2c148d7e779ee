import type { End, Incident, IncidentStep, Phases, Proof, Trigger } from './incident.ts';

/** Joins the runs of one incident, in any order and however often. */

/** The phases that no step marks: when they were first seen. */
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
 * Joins what several runs show of one incident. The order of the runs does not matter, and a run that is joined twice
 * changes nothing: so a replay, a redelivery, and two runs side by side complete the same object.
 */

/** The most entries of a list. A Node with 110 pods needs about 200. */
const MOST = { triggers: 50, proofs: 300, steps: 2_000, ends: 100 };

/** Joins two lists without repetition, in the order of `at`. Of a list that is too long, the middle goes. */
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

/** Lists an imagined step once, and also a step that is declined again and again. */
const stepName = ({ step, target, started, result, message }: IncidentStep): string =>
  result === 'done' || result === 'already'
    ? `${started} ${step} ${target}`
    : `${result} ${step} ${target} ${message ?? ''}`;
const endName = ({ outcome, because: { code } }: End): string => `${outcome} ${code}`;

const triggerName = ({ kind, event }: Trigger): string => `${kind} ${event}`;
const askedAt = ({ asked }: Proof): string => asked;

/** Returns whether a run shows a step or an end that the incident does not contain yet. */
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

const OFF: ReadonlySet<string> = new Set(['off', 'off-if-repeated', 'missing']);

const offProofs = ({ proofs }: Pick<Incident, 'proofs'>): readonly Proof[] =>
  proofs.filter(({ power }) => OFF.has(power));

/** Returns when each phase was reached. What no step marks comes from what the runs saw. */
export const phasesOf = (
  { steps, proofs, triggers, ends, begun }: Pick<Incident, 'steps' | 'proofs' | 'triggers' | 'ends' | 'begun'>,
  seen: Seen,
): Phases => {
  const off = offProofs({ proofs });
  const released = endsOf(steps, 'release-node').at(-1) ?? null;
  // What asked for a look that found the machine running again did not ask for the fence.
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

/** Returns how far a fence is: what was done last to the Node says it. */
const stateOfFence = ({ steps, ends }: Shown): Incident['state'] => {
  const lifted = endsOf(steps, 'lift-out-of-service').at(-1) ?? '';
  // If the Node went in the meantime, nobody parks or deletes it.
  const ended = ends.findLast(({ outcome }) => outcome === 'fenced')?.at ?? '';
  const over = [...endsOf(steps, 'park', 'delete-node').slice(-1), ended].toSorted().at(-1) ?? '';
  const marked = endsOf(steps, 'mark').at(-1) ?? '';
  if (lifted > marked && lifted > over) return 'returning';
  return over > marked ? 'fenced' : 'fencing';
};

/** How far an incident without a record is, by its last end. Every other end is a refusal. */
const stateByEnd: Readonly<Partial<Record<End['outcome'], Incident['state']>>> = {
  fenced: 'fenced',
  'would-fence': 'would-fence',
  'would-release': 'would-fence',
  failed: 'failed',
};

/** Returns how far the incident is. */
export const stateOf = ({ fence, steps, ends, phases }: Shown): Incident['state'] => {
  if (endsOf(steps, 'release-node').length > 0) return 'released';
  if (ends.some(({ because }) => REMOVED_BY_HAND.has(because.code))) return 'ended-by-hand';
  if (fence !== null) return stateOfFence({ fence, steps, ends, phases });
  const last = ends.at(-1)?.outcome;
  // No later run may find anything of this machine: only a later look sees the end. A run that waits undoes no end.
  if (last === 'waiting') return phases.fenced === null ? 'fencing' : 'fenced';
  return (last && stateByEnd[last]) ?? 'refused';
};

/** What was first seen by one of two. */
const firstSeen = (a: Seen, b: Seen): Seen => ({
  attachmentsGone: earlier(a.attachmentsGone, b.attachmentsGone),
  disksFreed: earlier(a.disksFreed, b.disksFreed),
  attachedElsewhere: earlier(a.attachedElsewhere, b.attachedElsewhere),
  running: earlier(a.running, b.running),
  returned: earlier(a.returned, b.returned),
});

/**
 * Returns whether Cloudfence did something about the machine. Then the incident does not count as one of shadow mode, even if an
 * earlier run was in it.
 */
export const hasActed = ({ steps, ends }: Pick<Incident, 'steps' | 'ends'>): boolean =>
  steps.some(({ result }) => result === 'done' || result === 'already') ||
  ends.some(({ outcome }) => outcome === 'fenced' || outcome === 'released');

/** Returns the list that has entries. What was on the Node is known from the first run that could read it. */
const known = <T>(before: readonly T[], more: readonly T[]): readonly T[] => (before.length > 0 ? before : more);

/** Returns the pods, each with what replaces it, as far as one of the runs saw that. */
const knownPods = (before: Incident['pods'], more: Incident['pods']): Incident['pods'] => {
  const replacedBy = new Map([...more, ...before].flatMap((pod) => (pod.replacedBy === null ? [] : [[pod.uid, pod]])));
  return known(before, more).map((pod) => replacedBy.get(pod.uid) ?? pod);
};

/**
 * Returns the incident with what another run shows of it. Returns `before` itself if the run shows nothing new. Pure.
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
    state: stateOf({ fence: before.fence, ...lists, phases }),
  };
};
