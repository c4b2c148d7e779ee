import { defaultPolicy } from '../../fencing/model/policy.ts';
import { eventOf } from './clouds/events.ts';
import { simulatedClouds } from './clouds/all.ts';
import { type Dice, diceFor } from './dice.ts';
import { createEngine, type Engine } from './engine.ts';
import { createInstall } from './install.ts';
import { createFleet, type Machine } from './machines.ts';
import { diskIdOf, machineIdOf, ZONES } from './names.ts';
import { createNetwork, type Network } from './network.ts';
import { createStormCluster } from './storm-cluster.ts';

/**
 * Part of a zone stops within one minute, in virtual time. EC2 throttles as it documents, and the API server declines 2 %
 * of the calls. The SDK's retries and those of kubernetes/connection are below what the simulation keeps of both, so they
 * are played here.
 */

export interface Storm {
  readonly machines: number;
  readonly dead: number;
  /** Whether no event arrives, and only sweeps find the machines. */
  readonly eventsLost: boolean;
  readonly atOnce: number;
}

export interface StormCost {
  readonly fenced: number;
  /** Calls to the API server, and the bytes of its answers. */
  readonly calls: number;
  readonly bytes: number;
  readonly declined: number;
  readonly cloudCalls: number;
  readonly cloudThrottles: number;
  /** From the stop to the outcome (s): the last one, and half of them. */
  readonly lastAfter: number;
  readonly halfAfter: number;
  readonly deadLetters: number;
  /** Answered calls and bytes by method or command. */
  readonly kinds: ReadonlyMap<string, Kind>;
}

export interface Kind {
  readonly calls: number;
  readonly bytes: number;
}

const MINUTE = 60_000;
const BEGINS_AT = MINUTE;
const LONGEST = 60 * MINUTE;
const SWEEP_EVERY = MINUTE;
const DECLINED_SHARE = 0.02;
/** https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html */
const BURST = 100;
const REFILL_PER_MS = 20 / 1_000;

const bucketOf = ({ now }: Engine): (() => boolean) => {
  let tokens = BURST;
  let since = 0;
  return () => {
    tokens = Math.min(BURST, tokens + (now() - since) * REFILL_PER_MS);
    since = now();
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
};

/** The bytes of an answer. Objects are never changed, so each is measured once. */
const meterOf = () => {
  const known = new WeakMap<object, number>();
  const sizeOf = (object: object): number => {
    const measured = known.get(object) ?? JSON.stringify(object).length;
    known.set(object, measured);
    return measured;
  };
  return (answer: unknown): number => {
    if (typeof answer !== 'object' || answer === null) return 0;
    if (!('items' in answer) || !Array.isArray(answer.items)) return sizeOf(answer);
    return answer.items.reduce((sum: number, item: object) => sum + sizeOf(item) + 1, 100);
  };
};

interface Counted {
  calls: number;
  bytes: number;
  declined: number;
  cloudCalls: number;
  cloudThrottles: number;
  readonly kinds: Map<string, Kind>;
}

/** How often a client tries a read that is throttled, and its first pause (ms). */
const RETRIES = { cloud: { tries: 3, pause: 500 }, kubernetes: { tries: 4, pause: 200 } } as const;

const isThrottledRead = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'RequestLimitExceeded' ||
    /TooManyRequests: (read|list|get)/.test(error.message + JSON.stringify(error)));

const metered = (inner: Network, engine: Engine, dice: Dice, counted: Counted): Network => {
  const take = bucketOf(engine);
  const bytesOf = meterOf();
  const once: Network['call'] = (process, call) =>
    inner.call(process, {
      ...call,
      throttled: () => {
        counted.declined += 1;
        counted.calls += 1;
        return call.throttled();
      },
      arrives: (age, hides) => {
        if (call.service === 'cloud') {
          counted.cloudCalls += 1;
          if (!take()) {
            counted.cloudThrottles += 1;
            throw call.throttled();
          }
        }
        const answer = call.arrives(age, hides);
        const bytes = call.service === 'kubernetes' ? bytesOf(answer) : 0;
        if (call.service === 'kubernetes') counted.calls += 1;
        counted.bytes += bytes;
        const before = counted.kinds.get(call.name ?? '') ?? { calls: 0, bytes: 0 };
        counted.kinds.set(call.name ?? '', { calls: before.calls + 1, bytes: before.bytes + bytes });
        return answer;
      },
    });
  const pause = (process: Parameters<Network['call']>[0], ms: number): Promise<void> =>
    new Promise((resolve) => engine.after(ms, () => process.notice(resolve), 'answers'));
  return {
    call: async (process, call) => {
      if (call.service === 'queue' || call.isWrite) return once(process, call);
      const { tries, pause: first } = RETRIES[call.service];
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await once(process, call);
        } catch (error) {
          if (attempt >= tries || !isThrottledRead(error)) throw error;
          const most = first * 2 ** (attempt - 1);
          await pause(process, call.service === 'cloud' ? dice.between(0, most) : most);
        }
      }
    },
  };
};

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

const machineOf = (serial: number): Machine => {
  const node = `node-${serial}`;
  const shown = runningSince(0);
  return {
    name: `machine-${serial}`,
    cloud: 'aws',
    id: machineIdOf('aws', node, serial),
    serial,
    node,
    zone: ZONES.aws,
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

/** Nothing else goes wrong: no answer is lost, and no machine comes back. */
export const playStorm = async ({ machines, dead, eventsLost, atOnce }: Storm): Promise<StormCost> => {
  const engine = createEngine();
  const counted: Counted = { calls: 0, bytes: 0, declined: 0, cloudCalls: 0, cloudThrottles: 0, kinds: new Map() };
  const offAt = new Map<string, number>();
  const fencedAfter = new Map<string, number>();
  let deadLetters = 0;
  const faultPeriods = [
    { fault: 'throttled', service: 'kubernetes', from: 0, until: Infinity, share: DECLINED_SHARE } as const,
  ];
  const network = metered(
    createNetwork({ engine, dice: diceFor(1, 'network'), faultPeriods, assumption, note: () => undefined }),
    engine,
    diceFor(1, 'retries'),
    counted,
  );
  const fleet = createFleet({
    engine,
    dice: diceFor(1, 'machines'),
    assumption,
    renewalTakes: () => 0,
    listener: {
      down: (machine) => {
        offAt.set(machine.id, engine.now());
        cluster.silent(machine);
      },
      boots: () => undefined,
      kubeletPosts: () => undefined,
      changed: () => undefined,
      detached: () => undefined,
      announces: (machine) => {
        const body = eventOf(machine, 'aws', engine.now());
        if (body !== null && !eventsLost) install.send(body, 1_000);
      },
    },
  });
  const cluster = createStormCluster({ engine, dice: diceFor(1, 'kubernetes'), fleet });
  const install = createInstall({
    engine,
    dice: diceFor(1, 'install'),
    network,
    served: cluster.served,
    policy: defaultPolicy,
    maxSkew: 0,
    home: 'aws',
    atOnce,
    cloudFor: (process) =>
      simulatedClouds(
        {
          fleet,
          network,
          process,
          now: engine.now,
          watch: () => undefined,
          detach: (machine, disk) => fleet.detach(machine, disk, false),
          powerOff: () => undefined,
        },
        ['aws'],
      ),
    log: (line) => {
      const { decision, instance, step } = { ...line } as Readonly<Record<string, string>>;
      const stopped = offAt.get(instance ?? '');
      // A run whose time is up after the last step says that it waits, and no sweep finds more to do.
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
    const machine = machineOf(serial);
    const disk = { id: diskIdOf('aws', serial), cloud: 'aws', zone: ZONES.aws, holder: null, releasedAt: 0 } as const;
    const held = { ...disk };
    fleet.machines.push(machine);
    fleet.disks.set(held.id, held);
    cluster.add(machine, held);
  }
  for (let nth = 0; nth < dead; nth += 1) {
    const machine = fleet.machines[Math.floor((nth * machines) / dead)];
    if (machine)
      engine.after(BEGINS_AT + (nth * MINUTE) / dead, () => fleet.stop(machine, { byGuest: false, takes: 100 }));
  }
  const sweepAgain = (): void => {
    install.sweepNow();
    engine.after(SWEEP_EVERY, sweepAgain);
  };
  engine.after(SWEEP_EVERY, sweepAgain);
  await engine.run(LONGEST, () => fencedAfter.size >= dead);
  engine.stop();
  install.stop();
  const after = [...fencedAfter.values()].toSorted((a, b) => a - b);
  return {
    ...counted,
    fenced: fencedAfter.size,
    lastAfter: (after.at(-1) ?? NaN) / 1_000,
    halfAfter: (after[Math.floor(after.length / 2)] ?? NaN) / 1_000,
    deadLetters,
  };
};
