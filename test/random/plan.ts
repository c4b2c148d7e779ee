import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';
import type { CloudName } from './machines.ts';
import type { OptOutBy } from './opt-outs.ts';
import type { PartOfFence } from './people.ts';
import type { Tolerated } from './kubernetes.ts';
import type { Assumption, CallFault, Service, FaultPeriod } from './network.ts';

/**
 * A schedule before it is played: what happens, and when calls fail. A seed gives one plan, and a shrunk plan is
 * shorter.
 */

export type PlannedEvent =
  | { readonly do: 'stop'; readonly machine: number; readonly byGuest: boolean; readonly takes: number }
  | { readonly do: 'terminate'; readonly machine: number; readonly takes: number }
  | { readonly do: 'forget-machine' | 'recreate'; readonly machine: number }
  | { readonly do: 'take-over'; readonly machine: number; readonly within: number }
  | {
      readonly do: 'start' | 'hibernate' | 'reboot' | 'cut-off' | 'reconnect' | 'register-again';
      readonly machine: number;
    }
  | { readonly do: 'kill'; readonly choice: number }
  | { readonly do: 'freeze'; readonly choice: number; readonly ms: number }
  /** `within` (ms): how long the person, or the kubelet, waits until there is something to do. */
  | {
      readonly do:
        | 'remove-taint'
        | 'remove-fence'
        | 'remove-record'
        | PartOfFence
        | 'delete-node'
        | 'foreign-taint'
        | 'release'
        | 'accept';
      readonly machine: number;
      readonly within?: number;
    }
  | { readonly do: 'change-record'; readonly machine: number; readonly choice: number; readonly within: number }
  | { readonly do: 'bind-pod' | 'dry-run'; readonly machine: number }
  | { readonly do: 'hold-pod'; readonly machine: number; readonly ms: number }
  /** `by`: how the Node is opted out, if not by its label. */
  | { readonly do: 'opt-out'; readonly machine: number; readonly by?: OptOutBy }
  | { readonly do: 'opt-in'; readonly machine: number }
  | {
      readonly do:
        | 'pause'
        | 'unpause'
        | 'shadow'
        | 'unshadow'
        | 'attacher-down'
        | 'attacher-up'
        | 'poison'
        | 'deploy-old'
        | 'deploy-newer'
        | 'sweep';
    }
  | { readonly do: 'rotate'; readonly service: Service; readonly overlapMs: number }
  | { readonly do: 'send-again'; readonly choice: number };

export type Planned = { readonly at: number } & PlannedEvent;

export interface Plan {
  readonly seed: number;
  /** The cloud in which Cloudfence is installed. */
  readonly home: CloudName;
  readonly clouds: readonly CloudName[];
  readonly mayHibernate: readonly boolean[];
  /** How many databases the machines have together, each with a disk. */
  readonly databases: number;
  /** The databases that keep their write-ahead log on a second disk. */
  readonly twoDisks: readonly number[];
  /** What other pods tolerate, each of which has two disks. */
  readonly tolerating: readonly Tolerated[];
  /** The Nodes that run the control plane. */
  readonly controlPlane: readonly string[];
  /** Pods without a disk. */
  readonly stateless: number;
  readonly policy: Policy;
  readonly assumption: Assumption;
  readonly maxSkew: number;
  /** The clocks of machines are off by this many times as much as those of functions. */
  readonly worseClocks: number;
  /** The share of stops after which the last renewal of the Lease arrives late. */
  readonly lateRenewals: number;
  readonly cloudControllerDeletes: boolean;
  /** Whether the CSI attacher stays down after the faults, until Cloudfence has freed the disks without it. */
  readonly attacherStaysDown: boolean;
  /** The share of the events of the clouds that never arrive, and the share that arrive twice. */
  readonly lostEvents: number;
  readonly doubledEvents: number;
  readonly sweepEvery: number;
  /** Whether events alone must have ended everything by `until`, without any sweep afterwards. */
  readonly byEvents: boolean;
  readonly until: number;
  readonly happenings: readonly Planned[];
  readonly faultPeriods: readonly FaultPeriod[];
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** By then, the cluster has placed its pods. */
export const BEGINS_AT = 60 * SECOND;

const CALL_FAULTS: readonly CallFault[] = [
  'throttled',
  'server-error',
  'denied',
  'request-lost',
  'answer-lost',
  'slow',
  'stale',
  'not-found',
];
const SERVICES: readonly Service[] = ['kubernetes', 'cloud', 'queue'];

const assumptionOf = (random: SeededRandom): Assumption => {
  const staleness = random.oneOf([0, 1_000, 3_000]);
  const transit = random.oneOf([200, 1_000, 2_000]);
  const least = staleness + 2_000 + transit;
  return {
    staleness,
    transit,
    bootToPost: least + random.oneOf([100, 5_000, 15_000]),
    bootToMount: least + random.oneOf([100, 5_000, 20_000]),
  };
};

const policyOf = (random: SeededRandom): Policy => ({
  ...defaultPolicy,
  fenceAfter: random.chance(0.1) ? 30_000 : 0,
  detach: random.oneOf(['when-stuck', 'when-stuck', 'always', 'never']),
  deleteNode: random.oneOf(['when-terminated', 'when-terminated', 'when-terminated', 'always', 'never']),
  unreachable: random.oneOf(['report', 'report', 'power-off']),
  optOut: random.oneOf(['pods', 'nodes', 'none']),
  cap: random.chance(0.3) ? defaultPolicy.cap : { share: 1, atOnce: random.oneOf([1, 1, 0.5]) },
});

const sizeOf = (random: SeededRandom): number => {
  const size = random.next();
  if (size < 0.8) return random.between(2, 4);
  return size < 0.99 ? random.between(5, 9) : random.between(12, 30);
};

const faultPeriodsOf = (random: SeededRandom, until: number): readonly FaultPeriod[] =>
  Array.from({ length: random.between(0, 4) }, () => {
    const from = random.between(BEGINS_AT, until);
    const service = random.oneOf(SERVICES);
    const fault = random.oneOf(
      CALL_FAULTS.filter((one) => service === 'cloud' || (one !== 'stale' && one !== 'not-found')),
    );
    const lasts = random.oneOf([5 * SECOND, 30 * SECOND, 2 * MINUTE]);
    return { fault, service, from, until: Math.min(until, from + lasts), share: random.oneOf([0.1, 0.3, 1]) };
  });

/** What happens to one machine, one event after the other. */
const incident = (random: SeededRandom, machine: number, from: number, mayHibernate: boolean): readonly Planned[] => {
  const happenings: Planned[] = [];
  let at = from;
  const later = (most: number): number =>
    (at += random.oneOf([1, 3, 10, 40, 200]) * random.between(100, Math.floor(most / 60)));
  const takes = (): number => random.oneOf([500, 5_000, 40_000, 700_000]);
  const steps = random.between(1, 4);
  for (let step = 0; step < steps; step += 1) {
    const kind = random.next();
    if (kind < 0.4) {
      happenings.push({ at, do: 'stop', machine, byGuest: random.chance(0.3), takes: takes() });
      if (random.chance(0.6)) happenings.push({ at: later(5 * MINUTE), do: 'start', machine });
    } else if (kind < 0.6) {
      happenings.push({ at, do: 'terminate', machine, takes: random.oneOf([500, 5_000, 40_000]) });
      if (random.chance(0.3)) happenings.push({ at: later(5 * MINUTE), do: 'forget-machine', machine });
      if (random.chance(0.5)) happenings.push({ at: later(5 * MINUTE), do: 'recreate', machine });
    } else if (kind < 0.8) {
      happenings.push({ at, do: 'cut-off', machine });
      if (random.chance(0.7)) happenings.push({ at: later(5 * MINUTE), do: 'reconnect', machine });
    } else if (kind < 0.9 || !mayHibernate) happenings.push({ at, do: 'reboot', machine });
    else {
      happenings.push({ at, do: 'hibernate', machine });
      if (random.chance(0.7)) happenings.push({ at: later(5 * MINUTE), do: 'start', machine });
    }
    later(5 * MINUTE);
  }
  return happenings;
};

const PEOPLE = ['remove-taint', 'remove-fence', 'delete-node', 'foreign-taint', 'opt-out', 'opt-in'] as const;
const CLUSTER_WIDE = ['pause', 'unpause', 'attacher-down', 'attacher-up', 'poison', 'deploy-old', 'sweep'] as const;

const disturbance = (random: SeededRandom, machines: number, until: number): Planned => {
  const at = random.between(BEGINS_AT, until);
  const kind = random.next();
  if (kind < 0.35) return { at, do: 'kill', choice: random.between(0, 20) };
  if (kind < 0.5)
    return { at, do: 'freeze', choice: random.between(0, 20), ms: random.oneOf([500, 3_000, 20_000, 50_000]) };
  if (kind < 0.6) return { at, do: 'send-again', choice: random.between(0, 20) };
  if (kind < 0.8) return { at, do: random.oneOf(PEOPLE), machine: random.between(0, machines - 1) };
  return { at, do: random.oneOf(CLUSTER_WIDE) };
};

/** Plans a schedule without what later versions add. */
export const plainPlanFor = (seed: number): Plan => {
  const random = seededRandom(seed, 'plan');
  const machines = sizeOf(random);
  const mixed = random.chance(0.25);
  const home = random.oneOf<CloudName>(['aws', 'azure', 'gcp']);
  const clouds = Array.from({ length: machines }, () =>
    mixed ? random.oneOf<CloudName>(['aws', 'azure', 'gcp']) : home,
  );
  const mayHibernate = clouds.map(() => random.chance(0.15));
  const until = BEGINS_AT + (random.chance(0.8) ? random.between(2, 5) : random.between(6, 15)) * MINUTE;
  const struck = Math.max(1, Math.min(machines, random.oneOf([1, 1, 2, Math.ceil(machines / 2)])));
  const together = random.chance(0.4);
  const begin = random.between(BEGINS_AT, BEGINS_AT + MINUTE);
  const incidents = Array.from({ length: struck }, (_, at) => {
    const from = together ? begin + random.between(0, 3_000) : random.between(BEGINS_AT, until - MINUTE);
    return incident(random, at, from, mayHibernate[at] ?? false);
  }).flat();
  const disturbances = Array.from({ length: random.between(0, 8) }, () => disturbance(random, struck, until));
  return {
    seed,
    home,
    clouds,
    mayHibernate,
    databases: random.between(1, Math.max(1, Math.ceil(machines * 0.8))),
    twoDisks: [],
    tolerating: [],
    controlPlane: [],
    stateless: random.between(0, 2),
    policy: policyOf(random),
    assumption: assumptionOf(random),
    maxSkew: random.oneOf([0, 1_000, 5_000]),
    worseClocks: 1,
    lateRenewals: 0,
    cloudControllerDeletes: random.chance(0.3),
    attacherStaysDown: false,
    lostEvents: random.oneOf([0, 0.3, 1]),
    doubledEvents: random.oneOf([0, 0.3]),
    sweepEvery: 5 * MINUTE,
    byEvents: false,
    until,
    happenings: [...incidents, ...disturbances].filter(({ at }) => at < until).sort((a, b) => a.at - b.at),
    faultPeriods: faultPeriodsOf(random, until),
  };
};

/** A plan without faults and sweeps: one machine is stopped or terminated, and must be fenced within two minutes. */
export const eventPlanFor = (seed: number): Plan => {
  const plan = plainPlanFor(seed);
  const random = seededRandom(seed, 'events alone');
  const at = random.between(BEGINS_AT, BEGINS_AT + MINUTE);
  const takes = random.oneOf([500, 5 * SECOND, 40 * SECOND]);
  const ends: Planned = random.chance(0.7)
    ? // Azure sends no event when a guest shuts itself down.
      { at, do: 'stop', machine: 0, byGuest: plan.clouds[0] !== 'azure' && random.chance(0.3), takes }
    : { at, do: 'terminate', machine: 0, takes };
  const until = at + takes + 2 * MINUTE;
  const calm = { faultPeriods: [], lostEvents: 0, sweepEvery: until, byEvents: true };
  return { ...plan, ...calm, databases: 2 * plan.clouds.length, until, happenings: [ends] };
};

/** What a person does who watches a fence, and who looks for a moment. */
const watcher = (random: SeededRandom, machine: number, until: number): Planned => {
  const at = random.between(BEGINS_AT, until);
  const kind = random.next();
  if (kind < 0.15) return { at, do: 'bind-pod', machine };
  if (kind < 0.3) return { at, do: 'hold-pod', machine, ms: random.oneOf([20 * SECOND, 2 * MINUTE, 20 * MINUTE]) };
  if (kind < 0.4) return { at, do: 'dry-run', machine };
  const acts = ['remove-taint', 'remove-taint', 'remove-fence', 'foreign-taint', 'release', 'accept'] as const;
  return { at, do: random.oneOf(acts), machine, within: 2 * MINUTE };
};

const withMore = (plan: Plan, more: readonly Planned[]): Plan => ({
  ...plan,
  happenings: [...plan.happenings, ...more].toSorted((a, b) => a.at - b.at),
});

/** Shadow mode begins before or during an incident, and ends again, or lasts until the faults end. */
const shadowPeriod = (random: SeededRandom, until: number): readonly Planned[] => {
  const at = random.between(0, until);
  const end: Planned = { at: random.between(at, until), do: 'unshadow' };
  return [{ at, do: 'shadow' }, ...(random.chance(0.5) ? [end] : [])];
};

/** A person asks for a dry run soon after each machine is off. */
const dryRuns = (random: SeededRandom, { happenings, until }: Plan): readonly Planned[] =>
  happenings.flatMap((one): readonly Planned[] => {
    if (one.do !== 'stop' && one.do !== 'terminate') return [];
    const at = one.at + one.takes + random.oneOf([0, 1, 10]) * random.between(100, 3_000);
    return at < until ? [{ at, do: 'dry-run', machine: one.machine }] : [];
  });

/** In every fourth plan, Cloudfence imagines: in a dry run after each stop, or in shadow mode. */
const imaginedPlanFor = (seed: number): Plan => {
  const plan = tamperedPlanFor(seed);
  const random = seededRandom(seed, 'imagining');
  if (random.chance(3 / 4)) return plan;
  return withMore(plan, random.chance(0.5) ? dryRuns(random, plan) : shadowPeriod(random, plan.until));
};

/** One of the machines whose fence others disturb, and when. */
const interference = (
  random: SeededRandom,
  { clouds, until }: Plan,
): { readonly machine: number; readonly at: number } => ({
  machine: random.between(0, Math.min(2, clouds.length) - 1),
  at: random.between(BEGINS_AT, until),
});

const PARTS: readonly PartOfFence[] = ['remove-label', 'remove-seal', 'remove-taint-label', 'remove-quarantine'];

/**
 * In every tenth plan, the CSI attacher goes down, and a machine that was stopped is started and stopped again soon. So
 * perhaps no run sees it running while its fence is unfinished.
 */
const withBriefReturn = (plan: Plan): Plan => {
  const random = seededRandom(plan.seed, 'returns');
  const stop = plan.happenings.find((what) => what.do === 'stop');
  if (random.chance(9 / 10) || stop?.do !== 'stop') return plan;
  const { machine, byGuest } = stop;
  const at = stop.at + stop.takes + random.between(10, 120) * SECOND;
  const takes = random.oneOf([500, 700 * SECOND]);
  const stops = [1, 2, 3, 4].map((nth): Planned => ({
    at: at + nth * 4 * SECOND,
    do: 'stop',
    machine,
    byGuest,
    takes,
  }));
  const more: readonly Planned[] = [{ at: stop.at, do: 'attacher-down' }, { at, do: 'start', machine }, ...stops];
  return withMore(
    plan,
    more.filter((what) => what.at < plan.until),
  );
};

/**
 * In every tenth, the CSI attacher goes down during the incidents and stays down, as if its pod was
 * on the dead machine. Every tenth machine runs the control plane. People opt out by labels and annotations.
 */
export const attacherPlanFor = (seed: number): Plan => {
  const plan = partedPlanFor(seed);
  const random = seededRandom(seed, 'attacher');
  const opts = seededRandom(seed, 'opt-outs');
  const happenings = plan.happenings.map((what) =>
    what.do === 'opt-out' ? { ...what, by: opts.oneOf<OptOutBy>(['label', 'annotation', 'pod']) } : what,
  );
  const controlPlane = plan.clouds.flatMap((_, at) => (opts.chance(0.1) ? [`node-${at}`] : []));
  const varied = withBriefReturn({ ...plan, happenings, controlPlane });
  if (plan.policy.detach === 'never' || random.chance(9 / 10)) return varied;
  const down: Planned = { at: plan.happenings[0]?.at ?? BEGINS_AT, do: 'attacher-down' };
  return { ...withMore(varied, [down]), attacherStaysDown: true };
};

/** In every sixth plan, a person removes one part of a fence. */
export const partedPlanFor = (seed: number): Plan => {
  const plan = imaginedPlanFor(seed);
  const random = seededRandom(seed, 'parts');
  if (random.chance(5 / 6)) return plan;
  const { machine, at } = interference(random, plan);
  // Without its seal, a record counts as one of an earlier version, which a kubelet can change.
  const part = random.oneOf(PARTS);
  const isChanged = plan.happenings.some((what) => what.do === 'change-record');
  if (isChanged && part === 'remove-seal') return plan;
  return withMore(plan, [{ at, do: part, machine, within: 5 * MINUTE }]);
};

/** In every sixth plan, a kubelet removes or changes the record of a fence. */
export const tamperedPlanFor = (seed: number): Plan => {
  const plan = watchedPlanFor(seed);
  const random = seededRandom(seed, 'kubelets');
  if (random.chance(5 / 6)) return plan;
  const { machine, at } = interference(random, plan);
  const happening: Planned = random.chance(0.5)
    ? { at, do: 'remove-record', machine, within: 5 * MINUTE }
    : { at, do: 'change-record', machine, choice: random.between(0, 100), within: 5 * MINUTE };
  return withMore(plan, [happening]);
};

/** Every second plan has people who watch, clocks that are wrong, and Leases that are late. */
export const watchedPlanFor = (seed: number): Plan => {
  const plan = plainPlanFor(seed);
  const random = seededRandom(seed, 'watchers');
  if (random.chance(0.5)) return plan;
  const watchers = Array.from({ length: random.between(0, 3) }, () =>
    watcher(random, random.between(0, Math.min(2, plan.clouds.length) - 1), plan.until),
  );
  return {
    ...withMore(plan, watchers),
    worseClocks: random.oneOf([1, 1, 20]),
    lateRenewals: random.oneOf([0, 0.5]),
  };
};
