import { defaultPolicy } from '../../fencing/model/policy.ts';
import { eventOf } from './clouds/events.ts';
import { simulatedClouds } from './clouds/all.ts';
import { seededRandom } from './seeded-random.ts';
import { createEngine } from './engine.ts';
import { createInstall } from './install.ts';
import { createFleet, type Disk, type Fleet, isOff, type Machine } from './machines.ts';
import { diskIdOf, machineIdOf, ZONES } from './names.ts';
import { createNetwork } from './network.ts';
import { createStormCluster } from './storm-cluster.ts';
import { type Counted, type Kind, metered, nothingCounted } from './storm-meter.ts';

/** A part of a cluster stops within one minute, in virtual time. The API server rejects 2 % of the calls. */

export interface Storm {
  readonly machines: number;
  readonly dead: number;
  /** Whether no event arrives, so that only sweeps find the machines. */
  readonly eventsLost: boolean;
  readonly atOnce: number;
  /**
   * `stops`: one zone, and all machines stop at once. `mixed`: three zones, and different things happen to the
   * machines.
   */
  readonly shape: 'stops' | 'mixed';
}

export interface StormCost extends Readonly<Omit<Counted, 'kinds'>> {
  readonly fenced: number;
  /** Machines that run again, or still run, with nothing of Cloudfence on their Nodes. */
  readonly free: number;
  /** From the stop to the outcome (s): the last machine, and half of them. */
  readonly lastAfter: number;
  readonly halfAfter: number;
  readonly deadLetters: number;
  /** Answered calls and bytes by method or command. */
  readonly kinds: ReadonlyMap<string, Kind>;
}

const MINUTE = 60_000;
const BEGINS_AT = MINUTE;
const LONGEST = 30 * MINUTE;
/**
 * Each sweep lists all Nodes, with or without a storm. So the numbers of each storm include the same five sweeps, or
 * more if the storm lasts longer.
 */
const LEAST = 4.5 * MINUTE;
const SWEEP_EVERY = MINUTE;
const DECLINED_SHARE = 0.02;

/** What happens to a machine. */
type Fate = (fleet: Fleet, machine: Machine, after: (ms: number, then: () => void) => void) => void;

const stops: Fate = (fleet, machine) => fleet.stop(machine, { byGuest: false, takes: 100 });
const stopsSlowly: Fate = (fleet, machine) => fleet.stop(machine, { byGuest: true, takes: 40_000 });
const isTerminated: Fate = (fleet, machine) => fleet.terminate(machine, 5_000);
/** It is started while the others are still being fenced. */
const comesBack: Fate = (fleet, machine, after) => {
  stops(fleet, machine, after);
  after(20_000, () => fleet.start(machine));
};
const isCutOff: Fate = (fleet, machine, after) => {
  fleet.cutOff(machine);
  after(90_000, () => fleet.reconnect(machine));
};

const FATES = {
  stops: [stops],
  mixed: [stops, stopsSlowly, stops, isTerminated, comesBack, stops, stopsSlowly, stops, isTerminated, isCutOff],
} as const;
const ZONES_BY_SHAPE = { stops: [''], mixed: ['', '', 'b', 'c'] } as const;

const runningSince = (now: number): Machine['shown'] => ({
  power: 'running',
  launch: 1,
  launchedAt: now,
  stoppedAt: 0,
  byGuest: false,
  hibernated: false,
  operations: 0,
  operatedAt: now,
  disks: [],
});

const machineOf = (serial: number, zone: string): Machine => {
  const node = `node-${serial}`;
  const shown = runningSince(0);
  return {
    name: `machine-${serial}`,
    cloud: 'aws',
    id: machineIdOf('aws', node, serial),
    takesOver: false,
    serial,
    node,
    zone,
    mayHibernate: false,
    createdAt: 0,
    shown,
    history: [{ at: 0, shown }],
    boot: 1,
    startedAt: 0,
    connected: true,
    postsAt: 0,
    mountsFrom: 0,
    lastRenewal: null,
    mounted: new Set(),
    mounting: new Set(),
    skew: 0,
  };
};

const assumption = { staleness: 0, transit: 1_000, bootToPost: 10_000, bootToMount: 10_000 };

/** Nothing else goes wrong: no answer is lost. */
export const playStorm = async ({ machines, dead, eventsLost, atOnce, shape }: Storm): Promise<StormCost> => {
  const engine = createEngine();
  const counted = nothingCounted();
  const offAt = new Map<string, number>();
  const fencedAfter = new Map<string, number>();
  let deadLetters = 0;
  const faultPeriods = [
    { fault: 'throttled', service: 'kubernetes', from: 0, until: Infinity, share: DECLINED_SHARE } as const,
  ];
  const network = metered(
    createNetwork({ engine, random: seededRandom(1, 'network'), faultPeriods, assumption, note: () => undefined }),
    engine,
    seededRandom(1, 'retries'),
    counted,
  );
  const fleet = createFleet({
    engine,
    random: seededRandom(1, 'machines'),
    assumption,
    renewalTakes: () => 0,
    listener: {
      down: (machine) => {
        offAt.set(machine.id, engine.now());
        cluster.silent(machine);
      },
      boots: () => undefined,
      kubeletPosts: (machine) => cluster.posts(machine),
      changed: () => undefined,
      detached: () => undefined,
      announces: (machine) => {
        const body = eventOf(machine, 'aws', engine.now());
        if (body !== null && !eventsLost) install.send(body, 1_000);
      },
    },
  });
  const cluster = createStormCluster({ engine, random: seededRandom(1, 'kubernetes'), fleet });
  const install = createInstall({
    engine,
    random: seededRandom(1, 'install'),
    network,
    served: cluster.served,
    policy: defaultPolicy,
    maxSkew: 0,
    home: 'aws',
    atOnce,
    fillsBatches: true,
    cloudFor: (process) =>
      simulatedClouds(
        {
          fleet,
          network,
          process,
          now: engine.now,
          watch: () => undefined,
          watchDetach: () => undefined,
          detach: (machine, disk) => fleet.detach(machine, disk, false),
          powerOff: () => undefined,
        },
        ['aws'],
      ),
    log: (line) => {
      const { decision, instance, step } = { ...line } as Readonly<Record<string, string>>;
      const stopped = offAt.get(instance ?? '');
      // A run whose time is up after the last step says that it waits, and no sweep finds anything else to do.
      const over = decision === 'fenced' || step === 'park';
      if (over && instance !== undefined && stopped !== undefined && !fencedAfter.has(instance))
        fencedAfter.set(instance, engine.now() - stopped);
    },
    admitted: () => undefined,
    buried: () => void (deadLetters += 1),
    fail: (error) => {
      throw error;
    },
  });
  for (let serial = 1; serial <= machines; serial += 1) {
    const zone = `${ZONES.aws}${ZONES_BY_SHAPE[shape][serial % ZONES_BY_SHAPE[shape].length] ?? ''}`;
    const machine = machineOf(serial, zone);
    const disk: Disk = { id: diskIdOf('aws', serial), cloud: 'aws', zone, holder: null, releasedAt: 0 };
    fleet.machines.push(machine);
    fleet.disks.set(disk.id, disk);
    cluster.add(machine, disk);
  }
  const hit = Array.from({ length: dead }, (_, nth) => fleet.machines[Math.floor((nth * machines) / dead)]).filter(
    (machine) => machine !== undefined,
  );
  for (const [nth, machine] of hit.entries()) {
    const fate = FATES[shape][nth % FATES[shape].length] ?? stops;
    engine.after(BEGINS_AT + (nth * MINUTE) / dead, () => fate(fleet, machine, engine.after));
  }
  const sweepAgain = (): void => {
    install.sweepNow();
    engine.after(SWEEP_EVERY, sweepAgain);
  };
  engine.after(SWEEP_EVERY, sweepAgain);
  const isSettled = (machine: Machine): boolean =>
    isOff(machine) ? fencedAfter.has(machine.id) : machine.shown.power === 'running' && cluster.isFree(machine);
  await engine.run(LONGEST, () => engine.now() >= BEGINS_AT + LEAST && hit.every(isSettled));
  engine.stop();
  install.stop();
  const off = hit.filter(isOff);
  const after = off.flatMap(({ id }) => fencedAfter.get(id) ?? []).toSorted((a, b) => a - b);
  return {
    ...counted,
    fenced: after.length,
    free: hit.filter((machine) => !isOff(machine) && isSettled(machine)).length,
    lastAfter: (after.at(-1) ?? NaN) / 1_000,
    halfAfter: (after[Math.floor(after.length / 2)] ?? NaN) / 1_000,
    deadLetters,
  };
};
