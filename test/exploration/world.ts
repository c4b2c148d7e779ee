import type { ExploredCloud, MachinePower, Shown } from './clouds.ts';
import { OLDEST_TICKS } from './time.ts';

/**
 * A small world: one machine below one Node, a database pod with one disk, and another machine that takes over. Ages
 * are in ticks.
 */

export interface Machine {
  readonly power: MachinePower;
  /** Counts the boots. */
  readonly boot: number;
  /** The guest shuts, or shut, itself down. */
  readonly byGuest: boolean;
  /** Counts the detaches, where the cloud takes them for another generation. */
  readonly detaches: number;
  /** How long ago the machine was off first, as long as the cloud says so. */
  readonly offFor: number;
  /** How long ago the latest boot began. */
  readonly started: number;
  /** The kubelet of this boot has found the disk attached for its pod, and mounts it, however long that takes. */
  readonly mounts: boolean;
  /** The guest has mounted the disk and writes to it. */
  readonly writes: boolean;
}

/** What is on the Node. Only what Cloudfence and people write is kept as Kubernetes objects have it. */
export interface NodeState {
  readonly uid: string;
  /** The boot that the kubelet has posted. */
  readonly boot: number;
  readonly ready: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly effect: string; readonly value?: string }[];
}

/** How often each thing may still happen. */
export interface Budget {
  readonly stops: number;
  /** Stops by the guest itself. */
  readonly shutdowns: number;
  readonly starts: number;
  readonly terminations: number;
  /** A machine that is gone is no longer known to its cloud. */
  readonly forgets: number;
  readonly cuts: number;
  readonly renewals: number;
  readonly removals: number;
  /** Calls that fail, and answers that are lost. */
  readonly faults: number;
}

export interface World {
  readonly machine: Machine;
  /** How long ago the machine was off last, as long as the cloud may still say so. Null after that. */
  readonly wasOff: number | null;
  /** What the cloud says while it still says off. */
  readonly shownOff: Shown | null;
  /** Whether the kubelet reaches the API server. */
  readonly connected: boolean;
  /** The kubelet's Lease: the number of the renewal, and how long ago it was. */
  readonly lease: { readonly renewal: number; readonly age: number };
  readonly node: NodeState | null;
  readonly pod: 'bound' | 'deleting' | 'gone';
  readonly attachment: 'attached' | 'deleting' | 'gone';
  /** The kubelet reports the disk as in use. A dead kubelet's report stays. */
  readonly inUse: boolean;
  /** Whether the disk is attached to this machine, to none, or to another machine whose database writes to it. */
  readonly disk: 'here' | 'free' | 'there';
  /** A run has seen the machine running in its present boot, and has done what it does about that. */
  readonly swept: boolean;
  /**
   * The boot in which a person removed our taint, and how long ago, or null if nobody removed anything. Nobody remembers
   * the boot of a whole fence that is removed without a trace while no run looks.
   */
  readonly removed: { readonly boot: number | null; readonly age: number } | null;
  readonly budget: Budget;
}

/** What the assumption of the design is made of, in ticks. */
export interface Assumption {
  /** The longest time for which the cloud still says off after a start began. */
  readonly staleness: number;
  /** The longest time that a call takes to reach its server. */
  readonly transit: number;
  /** The shortest time from the beginning of a boot until its kubelet posts the new boot. */
  readonly bootToPost: number;
  /** The shortest time from the beginning of a boot until a kubelet may begin to mount a disk. */
  readonly bootToMount: number;
  /** Whether a kubelet posts its new boot before it acts on its pods. */
  readonly postsBootFirst: boolean;
}

const older = (age: number): number => Math.min(age + 1, OLDEST_TICKS);

/** Returns whether the cloud says off, or may still say so. */
const mayShowOff = (world: World): boolean => world.machine.power === 'off' || isGone(world) || world.wasOff !== null;

/** By then, no call is under way that left before a taint was removed. */
const LONG_REMOVED_TICKS = 6;

/** Returns the world a tick later. */
export const tickLater = (world: World, { staleness, bootToMount }: Assumption): World => {
  const { machine, wasOff, lease } = world;
  return {
    ...world,
    machine: {
      ...machine,
      offFor: mayShowOff(world) ? older(machine.offFor) : 0,
      started: Math.min(machine.started + 1, bootToMount + 1),
    },
    ...(wasOff === null || wasOff >= staleness ? { wasOff: null, shownOff: null } : { wasOff: wasOff + 1 }),
    removed: world.removed && { ...world.removed, age: Math.min(world.removed.age + 1, LONG_REMOVED_TICKS) },
    lease: { ...lease, age: older(lease.age) },
  };
};

/** Returns what the cloud's answer about the machine depends on. */
export const shownBy = ({ machine: { power, boot, byGuest, detaches }, disk }: World): Shown => ({
  power,
  boot,
  byGuest,
  detaches,
  hasDisk: disk === 'here',
});

/** Returns the world after a detach. Where the generation drifts, each one counts. */
export const detached = (world: World, { countsDetaches }: ExploredCloud): World => ({
  ...withMachine(world, { detaches: world.machine.detaches + (countsDetaches ? 1 : 0) }),
  disk: 'free',
});

export const isUp = ({ machine: { power } }: World): boolean => power === 'running' || power === 'stopping';

export const isGone = ({ machine: { power } }: World): boolean => power === 'gone' || power === 'forgotten';

export const withMachine = (world: World, change: Partial<Machine>): World => ({
  ...world,
  machine: { ...world.machine, ...change },
});

export const withNode = (world: World, change: Partial<NodeState>): World =>
  world.node ? { ...world, node: { ...world.node, ...change } } : world;

/** A machine that has been up for this long booted before anything that matters. */
const LONG_UP_TICKS = 99;

/** A healthy cluster: the machine runs, the database writes. */
export const healthy = (budget: Partial<Budget>): World => ({
  machine: {
    power: 'running',
    boot: 1,
    byGuest: false,
    detaches: 0,
    offFor: 0,
    started: LONG_UP_TICKS,
    mounts: true,
    writes: true,
  },
  wasOff: null,
  shownOff: null,
  connected: true,
  lease: { renewal: 0, age: 0 },
  node: { uid: 'node-uid', boot: 1, ready: true, labels: {}, annotations: {}, taints: [] },
  pod: 'bound',
  attachment: 'attached',
  inUse: true,
  disk: 'here',
  swept: true,
  removed: null,
  budget: {
    stops: 0,
    shutdowns: 0,
    starts: 0,
    terminations: 0,
    forgets: 0,
    cuts: 0,
    renewals: 0,
    removals: 0,
    faults: 0,
    ...budget,
  },
});
