import { defaultPolicy } from '../../fencing/model/policy.ts';
import { type Dice, diceFor } from './dice.ts';
import type { CloudName } from './machines.ts';
import type { FaultPeriod } from './network.ts';
import { BEGINS_AT, type Plan, type Planned } from './plan.ts';

/** A plan for many hours: incidents on a few machines of three clouds, upgrades, and rotated keys. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

const CLOUDS: readonly CloudName[] = ['aws', 'aws', 'aws', 'azure', 'azure', 'azure', 'gcp', 'gcp', 'gcp'];

/** At the end of each incident, the machine runs before the next one begins. */
const incident = (dice: Dice, machine: number, at: number): readonly Planned[] => {
  const later = at + dice.between(2 * MINUTE, 8 * MINUTE);
  const kind = dice.roll();
  if (kind < 0.45)
    return [
      { at, do: 'stop', machine, byGuest: dice.chance(0.3), takes: dice.oneOf([500, 5_000, 40_000]) },
      { at: later, do: 'start', machine },
    ];
  if (kind < 0.65)
    return [
      { at, do: 'terminate', machine, takes: dice.oneOf([500, 5_000]) },
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

const disturbance = (dice: Dice, at: number): readonly Planned[] => {
  const kind = dice.roll();
  if (kind < 0.4) return [{ at, do: 'kill', choice: dice.between(0, 20) }];
  if (kind < 0.55) return [{ at, do: 'freeze', choice: dice.between(0, 20), ms: dice.oneOf([500, 3_000, 20_000]) }];
  if (kind < 0.65) return [{ at, do: 'send-again', choice: dice.between(0, 20) }];
  if (kind < 0.75) return [{ at, do: 'poison' }];
  if (kind < 0.85) return [{ at, do: dice.oneOf(['deploy-old', 'deploy-newer']) }];
  const [begin, end] = dice.oneOf(BEGIN_AND_END);
  return [
    { at, do: begin },
    { at: at + dice.between(MINUTE, 5 * MINUTE), do: end },
  ];
};

/** With or without a period in which the previous key is accepted, too. */
const rotation = (dice: Dice, at: number): Planned => ({
  at,
  do: 'rotate',
  service: dice.oneOf(['kubernetes', 'kubernetes', 'cloud', 'queue']),
  overlapMs: dice.oneOf([0, 0, 2 * MINUTE, 20 * MINUTE]),
});

const every = <T>(
  dice: Dice,
  least: number,
  most: number,
  until: number,
  make: (at: number) => readonly T[],
): readonly T[] => {
  const made: T[] = [];
  for (let at = BEGINS_AT + dice.between(0, most); at < until; at += dice.between(least, most)) made.push(...make(at));
  return made;
};

const faultPeriodsOf = (dice: Dice, until: number): readonly FaultPeriod[] =>
  every(dice, 5 * MINUTE, 20 * MINUTE, until, (from): readonly FaultPeriod[] => {
    const service = dice.oneOf(['kubernetes', 'cloud', 'queue'] as const);
    const fault = dice.oneOf(['throttled', 'server-error', 'denied', 'request-lost', 'answer-lost', 'slow'] as const);
    const lasts = dice.oneOf([5 * SECOND, 30 * SECOND, 2 * MINUTE]);
    return [{ service, fault, from, until: from + lasts, share: dice.oneOf([0.1, 0.3, 1]) }];
  });

export const soakPlan = (seed: number, hours: number): Plan => {
  const dice = diceFor(seed, 'soak');
  const until = hours * HOUR;
  const incidents = CLOUDS.flatMap((_, machine) =>
    every(dice, 20 * MINUTE, 40 * MINUTE, until - HOUR, (at) => incident(dice, machine, at)),
  );
  // Most keys are rotated during a fence.
  const rotations = incidents.flatMap(({ at, do: what }) =>
    (what === 'stop' || what === 'terminate') && dice.chance(0.2) ? [rotation(dice, at + dice.between(0, 30_000))] : [],
  );
  const disturbances = every(dice, 2 * MINUTE, 8 * MINUTE, until - HOUR, (at) => disturbance(dice, at));
  return {
    seed,
    home: dice.oneOf(CLOUDS),
    clouds: CLOUDS,
    mayHibernate: CLOUDS.map(() => false),
    databases: CLOUDS.length,
    stateless: 3,
    policy: { ...defaultPolicy, unreachable: 'power-off' },
    assumption: { staleness: 1_000, transit: 1_000, bootToPost: 15_000, bootToMount: 15_000 },
    maxSkew: 1_000,
    worseClocks: 1,
    lateRenewals: 0.2,
    cloudControllerDeletes: true,
    lostEvents: 0.1,
    doubledEvents: 0.2,
    sweepEvery: 5 * MINUTE,
    until,
    happenings: [...incidents, ...disturbances, ...rotations].toSorted((a, b) => a.at - b.at),
    faultPeriods: faultPeriodsOf(dice, until),
  };
};
