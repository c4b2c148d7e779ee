import type { Incident, Phases } from '../incidents/incident.ts';
import { isFollowed } from '../incidents/watch.ts';

/** The phases of one incident: when each was reached, its evidence, and why a time is not known. */

export type PhaseName = keyof Phases;

/** What causes the time before a phase. */
export type PhaseActor = 'unnoticed' | 'cloudfence' | 'kubernetes';

/** The part of the record that shows a phase. `index` is the position in that list. */
export interface PhaseSource {
  readonly list: 'triggers' | 'proofs' | 'steps';
  readonly index: number;
}

/** A phase without a time: it may have happened without being seen, or it has not happened so far. */
export interface Missing {
  readonly says: 'not known' | 'not observed' | 'did not happen';
  readonly why: string;
}

export interface Phase {
  readonly name: PhaseName;
  readonly label: string;
  readonly takes: PhaseActor;
  /** In epoch ms, or null if it is not known. */
  readonly at: number | null;
  /** The previous phase, if it is known. A time that is earlier than that comes from another clock. */
  readonly from: number | null;
  /** Why the phase has no time, or null if it has one. */
  readonly missing: Missing | null;
  readonly behind: readonly PhaseSource[];
}

export interface Timeline {
  /** The first known time, at which the axis begins. */
  readonly start: number;
  /** When everything was free, or when the last known phase of the recovery was reached. */
  readonly end: number;
  /** The phases until the volumes are attached elsewhere and the fence is finished. */
  readonly recovery: readonly Phase[];
  /** The phases after that: the taint is removed, and the Node is released. */
  readonly after: readonly Phase[];
}

interface PhaseRule {
  readonly label: string;
  readonly takes: PhaseActor;
  /** The phases after which this one begins, the likeliest first. */
  readonly follows: readonly (keyof Phases)[];
}

/** The previous phases of each phase. The report calculates its percentiles from these durations. */
export const phaseRules: Readonly<Record<PhaseName, PhaseRule>> = {
  off: { label: 'Machine off', takes: 'unnoticed', follows: [] },
  event: { label: 'Event', takes: 'unnoticed', follows: ['off'] },
  received: { label: 'Cloudfence looks', takes: 'unnoticed', follows: ['event', 'off'] },
  proven: { label: 'Proof', takes: 'cloudfence', follows: ['received'] },
  marked: { label: 'Mark', takes: 'cloudfence', follows: ['proven'] },
  podsDeleted: { label: 'Pods deleted', takes: 'cloudfence', follows: ['marked'] },
  attachmentsGone: { label: 'Attachments gone', takes: 'kubernetes', follows: ['podsDeleted', 'marked'] },
  disksFreed: { label: 'Disks free', takes: 'kubernetes', follows: ['podsDeleted', 'marked'] },
  attachedElsewhere: { label: 'Attached elsewhere', takes: 'kubernetes', follows: ['disksFreed', 'attachmentsGone'] },
  running: { label: 'New pod running', takes: 'kubernetes', follows: ['attachedElsewhere', 'podsDeleted'] },
  fenced: {
    label: 'Fence done',
    takes: 'cloudfence',
    follows: ['attachmentsGone', 'disksFreed', 'podsDeleted', 'marked'],
  },
  lifted: { label: 'Taint lifted', takes: 'cloudfence', follows: ['fenced', 'marked'] },
  released: { label: 'Released', takes: 'cloudfence', follows: ['fenced', 'marked'] },
  returned: { label: 'Node back by itself', takes: 'unnoticed', follows: ['proven', 'off'] },
};

const RECOVERY: readonly PhaseName[] = [
  'off',
  'event',
  'received',
  'proven',
  'marked',
  'podsDeleted',
  'attachmentsGone',
  'disksFreed',
  'attachedElsewhere',
  'running',
  'fenced',
];
const AFTER: readonly PhaseName[] = ['lifted', 'released'];
/** In shadow mode, there is no fence that could end. */
const AFTER_SHADOW: readonly PhaseName[] = ['returned'];

/** Converts a time of a record to epoch ms. The schema has already validated the text. */
export const epochMs = (time: string): number => Date.parse(time);

const timeOf = ({ phases }: Incident, phase: PhaseName): number | null => {
  const at = phases[phase];
  return at === null ? null : epochMs(at);
};

const unknown = (why: string): Missing => ({ says: 'not known', why });
const unseen = (why: string): Missing => ({ says: 'not observed', why });
const none = (why: string): Missing => ({ says: 'did not happen', why });

const missingOff = ({ proofs }: Incident): Missing =>
  proofs.at(-1)?.power === 'running'
    ? none('the cloud says that the machine runs')
    : unknown('the cloud does not say when the machine went off');

const missingEvent = ({ triggers }: Incident): Missing => {
  if (triggers.some(({ kind }) => kind === 'event')) return unknown('the event names no time');
  return none(triggers.some(({ kind }) => kind === 'sweep') ? 'a sweep found the machine' : 'a person asked');
};

/** Why nothing was done to the Node. */
const withoutFence = ({ state }: Incident): string | null => {
  if (state === 'would-fence') return 'shadow mode changes nothing';
  return state === 'refused' || state === 'failed' ? 'no fence began' : null;
};

const step =
  (why: (incident: Incident) => string) =>
  (incident: Incident): Missing =>
    none(withoutFence(incident) ?? why(incident));

/** Says why a phase was not seen, by the reason for which the watch ended. */
const watchEnds: Readonly<Record<NonNullable<Incident['watch']>['because'], Missing>> = {
  running: unseen('no run and no sweep saw it'),
  returned: none('the Node came back first'),
  fenced: unseen('Cloudfence fenced the Node in the meantime'),
  'time-up': unseen('not seen to end while it was watched'),
};

/** The actions of Kubernetes are seen only while a fence looks, and later by sweeps. */
const sighting = (incident: Incident): Missing =>
  incident.volumes.length === 0 && isSeen(incident) ? none('no volume was on the Node') : sightingOf(incident);

const isSeen = ({ fence, state }: Incident): boolean => fence !== null || (state !== 'refused' && state !== 'failed');

const sightingOf = (incident: Incident): Missing => {
  const { watch } = incident;
  if (!isSeen(incident)) return unseen('no sweep watched, because no Node had a fence');
  return watch === null ? unseen('no run and no sweep saw it so far') : watchEnds[watch.because];
};

const missing: Readonly<Record<PhaseName, (incident: Incident) => Missing>> = {
  off: missingOff,
  event: missingEvent,
  received: () => unknown('it is not recorded'),
  proven: () => none('the cloud never said that the machine is off'),
  marked: step(() => 'no mark is recorded'),
  podsDeleted: step(({ pods }) => (pods.length === 0 ? 'no pod had to be deleted' : 'no run deleted one')),
  attachmentsGone: sighting,
  disksFreed: sighting,
  attachedElsewhere: sighting,
  running: (incident) =>
    isSeen(incident) && !isFollowed(incident)
      ? none('the Node had no volume, and no pod that a controller replaces')
      : sightingOf(incident),
  fenced: step(({ state }) => (state === 'ended-by-hand' ? 'somebody removed the fence' : 'it is not finished so far')),
  lifted: step(() => 'the machine did not come back while the taint was set'),
  released: step(({ state }) =>
    state === 'ended-by-hand' ? 'somebody removed the fence' : 'it is not released so far',
  ),
  returned: ({ watch }) =>
    unseen(
      watch === null ? 'no sweep saw it so far' : `not seen before Cloudfence stopped watching (${watch.because})`,
    ),
};

/** The steps that end each phase. */
const endingSteps: Readonly<Partial<Record<PhaseName, readonly string[]>>> = {
  marked: ['mark'],
  podsDeleted: ['delete-pod'],
  fenced: ['park', 'delete-node'],
  lifted: ['lift-out-of-service'],
  released: ['release-node'],
};

/** Returns the index of the phase's time in a list of the incident, or -1. */
const indexIn = ({ triggers, proofs, steps }: Incident, phase: PhaseName, at: string): PhaseSource => {
  if (phase === 'off') return { list: 'proofs', index: proofs.findIndex(({ since }) => since === at) };
  if (phase === 'proven') return { list: 'proofs', index: proofs.findIndex(({ answered }) => answered === at) };
  if (phase === 'event') return { list: 'triggers', index: triggers.findIndex(({ happened }) => happened === at) };
  if (phase === 'received') return { list: 'triggers', index: triggers.findIndex(({ received }) => received === at) };
  const kinds = endingSteps[phase] ?? [];
  return { list: 'steps', index: steps.findIndex(({ step, ended }) => ended === at && kinds.includes(step)) };
};

const behindOf = (incident: Incident, phase: PhaseName): readonly PhaseSource[] => {
  const at = incident.phases[phase];
  if (at === null) return [];
  const behind = indexIn(incident, phase, at);
  return behind.index < 0 ? [] : [behind];
};

/**
 * Returns when the phase before this one was reached, or null if that is not known. The event of a stop can be older
 * than the power-off: nobody waits for its delivery before the machine is off.
 */
const beginOf = (incident: Incident, phase: PhaseName, at: number | null): number | null => {
  const before = phaseRules[phase].follows.map((one) => timeOf(incident, one)).filter((time) => time !== null);
  const possible = phase === 'received' ? before.filter((time) => at !== null && time <= at) : [];
  return possible.length > 0 ? Math.max(...possible) : (before[0] ?? null);
};

const phaseOf = (incident: Incident, phase: PhaseName): Phase => {
  const { label, takes } = phaseRules[phase];
  const at = timeOf(incident, phase);
  return {
    name: phase,
    label,
    takes,
    at,
    from: beginOf(incident, phase, at),
    missing: at === null ? missing[phase](incident) : null,
    behind: behindOf(incident, phase),
  };
};

const knownTimes = (phases: readonly Phase[]): readonly number[] =>
  phases.flatMap(({ at }) => (at === null ? [] : [at]));

/** Returns when an incident began, which is its first known time. */
export const beganAt = (incident: Incident): number => {
  const { ends, triggers, begun } = incident;
  const own = RECOVERY.map((phase) => timeOf(incident, phase)).filter((at) => at !== null);
  const others = [begun, triggers[0]?.received ?? null, ends[0]?.at ?? null].flatMap((at) =>
    at === null ? [] : epochMs(at),
  );
  return own.length > 0 ? Math.min(...own) : (others[0] ?? 0);
};

/** Returns when something last happened in an incident. */
export const lastAt = (incident: Incident): number => {
  const { steps, ends, proofs } = incident;
  const times = [
    ...steps.map(({ ended }) => ended),
    ...ends.map(({ at }) => at),
    ...proofs.map(({ answered }) => answered),
  ];
  return times.reduce((last, time) => Math.max(last, epochMs(time)), beganAt(incident));
};

export const timelineOf = (incident: Incident): Timeline => {
  const recovery = RECOVERY.map((phase) => phaseOf(incident, phase));
  const start = beganAt(incident);
  return {
    start,
    end: Math.max(start, ...knownTimes(recovery)),
    recovery,
    after: (incident.state === 'would-fence' ? AFTER_SHADOW : AFTER).map((phase) => phaseOf(incident, phase)),
  };
};

/**
 * Returns whether the machine was ever proven off. Until then its guest may write, so no remedy without Cloudfence is
 * offered for comparison.
 */
export const isProvenOff = ({ recovery }: Timeline): boolean =>
  recovery.some(({ name, at }) => name === 'proven' && at !== null);

/**
 * Returns how long a phase took, or null if that is not known. Returns 0 if the clocks differ so much that the result
 * would be negative.
 */
export const tookOf = ({ at, from }: Phase): number | null =>
  at === null || from === null ? null : Math.max(0, at - from);

/** Returns the time from one phase to another in an incident (ms), or null if one is not known. */
export const between = (incident: Incident, from: PhaseName, to: PhaseName): number | null => {
  const [began, ended] = [timeOf(incident, from), timeOf(incident, to)];
  return began === null || ended === null ? null : ended - began;
};
