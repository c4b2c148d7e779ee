import type { Incident } from '../incidents/incident.ts';
import { isImagined } from '../incidents/watch.ts';
import { kubernetesAlone } from './kubernetes-alone.ts';
import { between, type PhaseName, phaseRules } from './timeline.ts';

/** What several incidents show together: how many of each state, how long each phase took, and what shadow mode saw. */

export interface Spread {
  readonly label: string;
  readonly from: PhaseName;
  readonly to: PhaseName;
  /** In how many incidents both ends are known, and in how many the second one is. */
  readonly known: number;
  readonly of: number;
  /** In ms. Each is a time that was measured (nearest rank). Null if none is known. */
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly longest: number | null;
}

const DISTANCES: readonly (readonly [PhaseName, PhaseName])[] = [
  ['off', 'event'],
  ['event', 'received'],
  ['received', 'proven'],
  ['proven', 'marked'],
  ['marked', 'podsDeleted'],
  ['podsDeleted', 'attachmentsGone'],
  ['podsDeleted', 'disksFreed'],
  ['disksFreed', 'attachedElsewhere'],
  ['received', 'running'],
];

/** Across several phases. */
const WHOLES: readonly (readonly [PhaseName, PhaseName])[] = [
  ['off', 'received'],
  ['received', 'podsDeleted'],
  ['received', 'fenced'],
  ['off', 'attachedElsewhere'],
];

/** Returns the value below which that share of the values lies: the nearest rank, so it is one of them. */
export const percentile = (sorted: readonly number[], share: number): number | null =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;

const spreadOf = (incidents: readonly Incident[], from: PhaseName, to: PhaseName): Spread => {
  const times = incidents
    .map((one) => between(one, from, to))
    .filter((ms) => ms !== null)
    .filter((ms) => ms >= 0)
    .sort((a, b) => a - b);
  return {
    label: `${phaseRules[from].label} → ${phaseRules[to].label}`,
    from,
    to,
    known: times.length,
    of: incidents.length,
    p50: percentile(times, 0.5),
    p90: percentile(times, 0.9),
    p99: percentile(times, 0.99),
    longest: times.at(-1) ?? null,
  };
};

/** Incidents whose fence began: only they have all phases. */
const begun = (incidents: readonly Incident[]): readonly Incident[] => incidents.filter(({ fence }) => fence !== null);

export interface Spreads {
  readonly phases: readonly Spread[];
  readonly wholes: readonly Spread[];
}

export const spreadsOf = (incidents: readonly Incident[]): Spreads => {
  const counted = begun(incidents);
  return {
    phases: DISTANCES.map(([from, to]) => spreadOf(counted, from, to)),
    wholes: WHOLES.map(([from, to]) => spreadOf(counted, from, to)),
  };
};

export const countsOf = (incidents: readonly Incident[]): ReadonlyMap<Incident['state'], number> =>
  new Map([...Map.groupBy(incidents, ({ state }) => state)].map(([state, some]) => [state, some.length]));

export interface Refusal {
  readonly code: string;
  readonly count: number;
  /** The sentence of the newest incident with this code. */
  readonly says: string;
}

export interface ShadowSummary {
  readonly incidents: number;
  readonly wouldFence: number;
  readonly refusals: readonly Refusal[];
  /** The steps that shadow mode only imagined, by their name. */
  readonly steps: ReadonlyMap<string, number>;
  /** How long it took without Cloudfence, where that was observed. */
  readonly managed: readonly Managed[];
  /** Of the incidents that Cloudfence would have fenced, those in which no end was observed, by why. */
  readonly notSeen: ReadonlyMap<NotSeen, number>;
  /** What Cloudfence would have saved in the observed incidents (ms). */
  readonly saved: number;
  /** How long a fence takes on each of their clouds: what `saved` counts against. */
  readonly against: readonly OwnFence[];
}

/** How long a fence of Cloudfence takes from its first look until everything runs elsewhere (ms). */
export interface OwnFence {
  readonly cloud: string;
  /** Half of the watched fences took no longer. Without any, the time of the test bench. */
  readonly took: number;
  /** How many fences of the same place and cloud were watched to the end. */
  readonly watched: number;
}

/** What ended an incident without Cloudfence, and how long that took (ms). */
export interface Managed {
  readonly cloud: string;
  readonly by: 'running' | 'returned';
  /** From when the machine went off, or from the first look if the cloud does not say when. */
  readonly took: number;
  /** From the first look, because before it Cloudfence could have done nothing. */
  readonly tookFromLook: number;
}

/** `watching`: a sweep still looks. `fenced`: Cloudfence fenced the Node itself. `time-up`: not seen to end in a day. */
export type NotSeen = 'watching' | 'fenced' | 'time-up';

/** Returns the reason with which an incident without a fence ended last. */
const refusalOf = ({ state, ends }: Incident): Incident['ends'][number]['because'] | null =>
  state === 'refused' || state === 'failed' ? (ends.at(-1)?.because ?? null) : null;

const refusalsIn = (incidents: readonly Incident[]): readonly Refusal[] => {
  const reasons = incidents.map(refusalOf).filter((reason) => reason !== null);
  return [...Map.groupBy(reasons, ({ code }) => code)]
    .map(([code, some]) => ({ code, count: some.length, says: some[0]?.says ?? '' }))
    .sort((a, b) => b.count - a.count);
};

const imaginedSteps = (incidents: readonly Incident[]): ReadonlyMap<string, number> => {
  const steps = incidents.flatMap(({ steps }) => steps.filter(({ result }) => result === 'dry-run'));
  return new Map([...Map.groupBy(steps, ({ step }) => step)].map(([step, some]) => [step, some.length]));
};

/** Returns how an incident ended without Cloudfence, or null if that was not observed. */
const managedIn = (incident: Incident): Managed | null => {
  const { running, returned } = incident.phases;
  const by = running !== null && (returned === null || running <= returned) ? 'running' : 'returned';
  const look = between(incident, 'received', by);
  if (look === null) return null;
  const [took, tookFromLook] = [between(incident, 'off', by) ?? look, look].map((ms) => Math.max(0, ms));
  return { cloud: incident.cloud, by, took: took ?? 0, tookFromLook: tookFromLook ?? 0 };
};

const whyNotSeen = ({ watch }: Incident): NotSeen => {
  if (watch === null) return 'watching';
  return watch.because === 'fenced' ? 'fenced' : 'time-up';
};

const BENCH_MS = kubernetesAlone.cloudfence.running * 1_000;

const ownFenceOn = (cloud: string, fences: readonly Incident[]): OwnFence => {
  const times = begun(fences)
    .filter((one) => one.cloud === cloud)
    .map((one) => between(one, 'received', 'running'))
    .filter((ms) => ms !== null)
    .filter((ms) => ms >= 0)
    .sort((a, b) => a - b);
  return { cloud, took: percentile(times, 0.5) ?? BENCH_MS, watched: times.length };
};

/**
 * Sums up the incidents of shadow mode, the newest first. A time that nobody observed is not guessed. `fences` are those
 * of the same place: they show how long Cloudfence itself takes there.
 */
export const shadowSummaryOf = (all: readonly Incident[], fences: readonly Incident[] = all): ShadowSummary => {
  const incidents = all.filter(({ shadow }) => shadow);
  const would = incidents.filter(isImagined);
  const managed = would.map(managedIn).filter((one) => one !== null);
  const unseen = would.filter((one) => managedIn(one) === null).map(whyNotSeen);
  const against = [...new Set(managed.map(({ cloud }) => cloud))].map((cloud) => ownFenceOn(cloud, fences));
  const ownOn = (cloud: string): number => against.find((own) => own.cloud === cloud)?.took ?? BENCH_MS;
  return {
    incidents: incidents.length,
    wouldFence: would.length,
    refusals: refusalsIn(incidents.filter((one) => !isImagined(one))),
    steps: imaginedSteps(incidents),
    managed,
    notSeen: new Map([...Map.groupBy(unseen, (why) => why)].map(([why, some]) => [why, some.length])),
    saved: managed.reduce((sum, { cloud, tookFromLook }) => sum + Math.max(0, tookFromLook - ownOn(cloud)), 0),
    against,
  };
};
