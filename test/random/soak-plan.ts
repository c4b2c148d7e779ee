import { defaultPolicy } from '../../fencing/model/policy.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';
import type { CloudName } from './machines.ts';
import type { FaultPeriod } from './network.ts';
import { BEGINS_AT, type Plan, type Planned } from './plan.ts';

/** A plan for many hours: incidents on a few machines of three clouds, upgrades, and rotated keys. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

const CLOUDS: readonly CloudName[] = ['aws', 'aws', 'aws', 'azure', 'azure', 'azure', 'gcp', 'gcp', 'gcp'];

/** At the end of each incident, the machine runs before the next one begins. */
const incident = (random: SeededRandom, machine: number, at: number): readonly Planned[] => {
  const later = at + random.between(2 * MINUTE, 8 * MINUTE);
  const kind = random.next();
  if (kind < 0.45)
    return [
      { at, do: 'stop', machine, byGuest: random.chance(0.3), takes: random.oneOf([500, 5_000, 40_000]) },
      { at: later, do: 'start', machine },
    ];
  if (kind < 0.65)
    return [
      { at, do: 'terminate', machine, takes: random.oneOf([500, 5_000]) },
      { at: later, do: 'recreate', machine },
      { at: later + 10 * MINUTE, do: 'recreate', machine },
    ];
  if (kind < 0.85)
    return [
      { at, do: 'cut-off', machine },
      { at: later, do: 'reconnect', machine },
    ];
  return [{ at, do: 'reboot', machine }];
};

const BEGIN_AND_END = [
  ['pause', 'unpause'],
  ['attacher-down', 'attacher-up'],
] as const;

const disturbance = (random: SeededRandom, at: number): readonly Planned[] => {
  const kind = random.next();
  if (kind < 0.4) return [{ at, do: 'kill', choice: random.between(0, 20) }];
  if (kind < 0.55) return [{ at, do: 'freeze', choice: random.between(0, 20), ms: random.oneOf([500, 3_000, 20_000]) }];
  if (kind < 0.65) return [{ at, do: 'send-again', choice: random.between(0, 20) }];
  if (kind < 0.75) return [{ at, do: 'poison' }];
  if (kind < 0.85) return [{ at, do: random.oneOf(['deploy-old', 'deploy-newer']) }];
  const [begin, end] = random.oneOf(BEGIN_AND_END);
  return [
    { at, do: begin },
    { at: at + random.between(MINUTE, 5 * MINUTE), do: end },
  ];
};

/** With or without a period in which the previous key is accepted, too. */
const rotation = (random: SeededRandom, at: number): Planned => ({
  at,
  do: 'rotate',
  service: random.oneOf(['kubernetes', 'kubernetes', 'cloud', 'queue']),
  overlapMs: random.oneOf([0, 0, 2 * MINUTE, 20 * MINUTE]),
});

const every = <T>(
  random: SeededRandom,
  least: number,
  most: number,
  until: number,
  make: (at: number) => readonly T[],
): readonly T[] => {
  const made: T[] = [];
  for (let at = BEGINS_AT + random.between(0, most); at < until; at += random.between(least, most))
    made.push(...make(at));
  return made;
};

const faultPeriodsOf = (random: SeededRandom, until: number): readonly FaultPeriod[] =>
  every(random, 5 * MINUTE, 20 * MINUTE, until, (from): readonly FaultPeriod[] => {
    const service = random.oneOf(['kubernetes', 'cloud', 'queue'] as const);
    const fault = random.oneOf(['throttled', 'server-error', 'denied', 'request-lost', 'answer-lost', 'slow'] as const);
    const lasts = random.oneOf([5 * SECOND, 30 * SECOND, 2 * MINUTE]);
    return [{ service, fault, from, until: from + lasts, share: random.oneOf([0.1, 0.3, 1]) }];
  });

export const soakPlan = (seed: number, hours: number): Plan => {
  const random = seededRandom(seed, 'soak');
  const until = hours * HOUR;
  const incidents = CLOUDS.flatMap((_, machine) =>
    every(random, 20 * MINUTE, 40 * MINUTE, until - HOUR, (at) => incident(random, machine, at)),
  );
  // Most keys are rotated during a fence.
  const rotations = incidents.flatMap(({ at, do: what }) =>
    (what === 'stop' || what === 'terminate') && random.chance(0.2)
      ? [rotation(random, at + random.between(0, 30_000))]
      : [],
  );
  const disturbances = every(random, 2 * MINUTE, 8 * MINUTE, until - HOUR, (at) => disturbance(random, at));
  return {
    seed,
    home: random.oneOf(CLOUDS),
    clouds: CLOUDS,
    mayHibernate: CLOUDS.map(() => false),
    databases: CLOUDS.length,
    twoDisks: [0],
    tolerating: [],
    controlPlane: [],
    stateless: 3,
    policy: { ...defaultPolicy, unreachable: 'power-off' },
    assumption: { staleness: 1_000, transit: 1_000, bootToPost: 15_000, bootToMount: 15_000 },
    maxSkew: 1_000,
    worseClocks: 1,
    lateRenewals: 0.2,
    cloudControllerDeletes: true,
    attacherStaysDown: false,
    lostEvents: 0.1,
    doubledEvents: 0.2,
    sweepEvery: 5 * MINUTE,
    byEvents: false,
    until,
    happenings: [...incidents, ...disturbances, ...rotations].toSorted((a, b) => a.at - b.at),
    faultPeriods: faultPeriodsOf(random, until),
  };
};
