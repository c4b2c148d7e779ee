import type { Incident } from '../incidents/incident.ts';
import { isSimulated } from '../incidents/watch.ts';
import { between, type PhaseName, phaseRules } from './timeline.ts';

/**
 * Figures about several incidents: the number in each state, the duration of each phase, and the results of shadow
 * mode.
 */

export interface PhaseDuration {
  readonly label: string;
  readonly from: PhaseName;
  readonly to: PhaseName;
  /**
   * The number of incidents in which both ends of the phase are known, and the number in which the second end is known.
   */
  readonly known: number;
  readonly of: number;
  /** In ms. Each is a measured time (nearest rank). Null if none is known. */
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

/** Durations across several phases. */
const WHOLES: readonly (readonly [PhaseName, PhaseName])[] = [
  ['off', 'received'],
  ['received', 'podsDeleted'],
  ['received', 'fenced'],
  ['off', 'attachedElsewhere'],
];

/** Returns a percentile of the values by nearest rank, so the result is one of them. */
export const percentile = (sorted: readonly number[], share: number): number | null =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;

const phaseDuration = (incidents: readonly Incident[], from: PhaseName, to: PhaseName): PhaseDuration => {
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

/** Returns the incidents whose fence began, because only they have all phases. */
const begun = (incidents: readonly Incident[]): readonly Incident[] => incidents.filter(({ fence }) => fence !== null);

interface PhaseDurations {
  readonly phases: readonly PhaseDuration[];
  readonly wholes: readonly PhaseDuration[];
}

export const phaseDurations = (incidents: readonly Incident[]): PhaseDurations => {
  const counted = begun(incidents);
  return {
    phases: DISTANCES.map(([from, to]) => phaseDuration(counted, from, to)),
    wholes: WHOLES.map(([from, to]) => phaseDuration(counted, from, to)),
  };
};

export const countsOf = (incidents: readonly Incident[]): ReadonlyMap<Incident['state'], number> =>
  new Map([...Map.groupBy(incidents, ({ state }) => state)].map(([state, some]) => [state, some.length]));

export interface Refusal {
  readonly code: string;
  readonly count: number;
  /** The sentence of the latest incident with this code. */
  readonly says: string;
}

export interface ShadowSummary {
  readonly incidents: number;
  readonly wouldFence: number;
  readonly refusals: readonly Refusal[];
  /** The simulated steps of shadow mode, by name. */
  readonly steps: ReadonlyMap<string, number>;
  /** The durations without Cloudfence, if they were observed. */
  readonly managed: readonly UnaidedRecovery[];
  /** The number of incidents that Cloudfence would have fenced but whose end was not observed, by reason. */
  readonly notSeen: ReadonlyMap<UnobservedReason, number>;
  /** The time that Cloudfence would have saved in the observed incidents (ms). */
  readonly saved: number;
  /** The duration of a fence on each cloud, with which `saved` was computed. */
  readonly against: readonly FenceDuration[];
}

/** How long a fence of Cloudfence takes from its first look until everything runs elsewhere (ms). */
export interface FenceDuration {
  readonly cloud: string;
  /** The median of the watched fences. Without watched fences, the time that was measured on the testbed. */
  readonly took: number;
  /** The number of fences on the same place and cloud that were watched to the end. */
  readonly watched: number;
}

/** How an incident ended without Cloudfence, and how long that took (ms). */
export interface UnaidedRecovery {
  readonly cloud: string;
  readonly by: 'running' | 'returned';
  /** Counted from when the machine went off, or from the first look if the cloud does not report that time. */
  readonly took: number;
  /** Counted from the first look, because Cloudfence could not have acted earlier. */
  readonly tookFromLook: number;
}

/**
 * `watching`: a sweep still looks. `fenced`: Cloudfence fenced the Node itself. `time-up`: the end was not seen within
 * a day.
 */
export type UnobservedReason = 'watching' | 'fenced' | 'time-up';

/** Returns the last reason of an incident without a fence. */
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
const managedIn = (incident: Incident): UnaidedRecovery | null => {
  const { running, returned } = incident.phases;
  const by = running !== null && (returned === null || running <= returned) ? 'running' : 'returned';
  const look = between(incident, 'received', by);
  if (look === null) return null;
  const [took, tookFromLook] = [between(incident, 'off', by) ?? look, look].map((ms) => Math.max(0, ms));
  return { cloud: incident.cloud, by, took: took ?? 0, tookFromLook: tookFromLook ?? 0 };
};

const whyNotSeen = ({ watch }: Incident): UnobservedReason => {
  if (watch === null) return 'watching';
  return watch.because === 'fenced' ? 'fenced' : 'time-up';
};

/**
 * What Kubernetes does without Cloudfence after a machine has crashed. A test compares each figure with
 * docs/recovery.md, which a measurement writes.
 */

/** In seconds after the start of the remedy. Null: not seen while it was watched. */
export interface Remedy {
  /** The name of its row in the table. */
  readonly row: string;
  /** What a person does. */
  readonly label: string;
  readonly oldPodGone: number | null;
  readonly cloudDetached: number | null;
  readonly attachedElsewhere: number | null;
  readonly running: number | null;
}

interface MeasuredRemedies {
  readonly source: string;
  readonly measured: string;
  readonly kubernetes: string;
  /** How long the slow remedies were watched, in seconds. */
  readonly watched: number;
  readonly remedies: readonly Remedy[];
  /** The same crash with Cloudfence, from the event until the new pod ran, in seconds. */
  readonly cloudfence: { readonly row: string; readonly running: number };
}

export const kubernetesAlone: MeasuredRemedies = {
  source: 'docs/recovery.md',
  measured: '2026-11-21',
  kubernetes: 'v1.36.3',
  watched: 620,
  cloudfence: { row: 'Cloudfence: AWS handler, warm', running: 2.53 },
  remedies: [
    {
      row: 'nothing',
      label: 'Kubernetes alone',
      oldPodGone: null,
      cloudDetached: null,
      attachedElsewhere: null,
      running: null,
    },
    {
      row: 'taint only, NoSchedule',
      label: 'Taint NoSchedule',
      oldPodGone: 353.7,
      cloudDetached: 354.4,
      attachedElsewhere: 356.0,
      running: 356.0,
    },
    {
      row: 'taint only, NoExecute',
      label: 'Taint NoExecute',
      oldPodGone: 53.78,
      cloudDetached: 54.83,
      attachedElsewhere: 55.98,
      running: 56.06,
    },
    {
      row: 'Node deleted',
      label: 'Node deleted',
      oldPodGone: 53.83,
      cloudDetached: 414.9,
      attachedElsewhere: 416.2,
      running: 416.2,
    },
    {
      row: 'Node deleted, then pods and VolumeAttachment',
      label: 'Node and pods deleted',
      oldPodGone: 0.1,
      cloudDetached: 1.0,
      attachedElsewhere: 14.06,
      running: 14.73,
    },
  ],
};

const BENCH_MS = kubernetesAlone.cloudfence.running * 1_000;

const ownFenceOn = (cloud: string, fences: readonly Incident[]): FenceDuration => {
  const times = begun(fences)
    .filter((one) => one.cloud === cloud)
    .map((one) => between(one, 'received', 'running'))
    .filter((ms) => ms !== null)
    .filter((ms) => ms >= 0)
    .sort((a, b) => a - b);
  return { cloud, took: percentile(times, 0.5) ?? BENCH_MS, watched: times.length };
};

/**
 * Summarizes the incidents of shadow mode, the latest first. Times that nobody observed are not guessed. `fences` are
 * from the same place. They show how long Cloudfence itself takes there.
 */
export const shadowSummaryOf = (all: readonly Incident[], fences: readonly Incident[] = all): ShadowSummary => {
  const incidents = all.filter(({ shadow }) => shadow);
  const would = incidents.filter(isSimulated);
  const managed = would.map(managedIn).filter((one) => one !== null);
  const unseen = would.filter((one) => managedIn(one) === null).map(whyNotSeen);
  const against = [...new Set(managed.map(({ cloud }) => cloud))].map((cloud) => ownFenceOn(cloud, fences));
  const ownOn = (cloud: string): number => against.find((own) => own.cloud === cloud)?.took ?? BENCH_MS;
  return {
    incidents: incidents.length,
    wouldFence: would.length,
    refusals: refusalsIn(incidents.filter((one) => !isSimulated(one))),
    steps: imaginedSteps(incidents),
    managed,
    notSeen: new Map([...Map.groupBy(unseen, (why) => why)].map(([why, some]) => [why, some.length])),
    saved: managed.reduce((sum, { cloud, tookFromLook }) => sum + Math.max(0, tookFromLook - ownOn(cloud)), 0),
    against,
  };
};
