import type { ExploredCloud, MachinePower, Shown } from './clouds.ts';
import { OLDEST_TICKS } from './time.ts';

/**
 * A small world: one machine with one Node, a database pod with one disk, and another machine that can take over. Ages
 * are in ticks.
 */

export interface Machine {
  readonly power: MachinePower;
  /** The number of machines that have had this name. */
  readonly incarnation: number;
  /** The number of starts, as the cloud counts them. */
  readonly boot: number;
  /** The number of boots of the kernel. A machine that resumes from memory does not boot. */
  readonly kernel: number;
  /** The machine hibernates, or is in hibernation: its memory is kept, and its guest will continue. */
  readonly hibernates: boolean;
  /** The guest shuts itself down, or has done so. */
  readonly byGuest: boolean;
  /** The number of detaches, on a cloud where each changes the generation. */
  readonly detaches: number;
  /**
   * How long ago the machine was first off, while the cloud still says off. Null on a cloud that dates each stop so
   * long ago that its age has no influence.
   */
  readonly offFor: number | null;
  /** How long ago the latest boot began. */
  readonly started: number;
  /** The kubelet of this boot has found the disk attached for its pod, and mounts it, however long that takes. */
  readonly mounts: boolean;
  /** The guest has mounted the disk and writes to it. */
  readonly writes: boolean;
}

/** What is on the Node. Only what Cloudfence and people write is kept in the form of Kubernetes. */
export interface NodeState {
  readonly uid: string;
  /** The boot of the kernel that the kubelet has posted, and the machine on which it runs. */
  readonly boot: number;
  readonly incarnation: number;
  readonly ready: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly effect: string; readonly value?: string }[];
}

/** How often each event may still happen. */
export interface Budget {
  readonly stops: number;
  /** Stops by the guest itself. */
  readonly shutdowns: number;
  readonly starts: number;
  readonly terminations: number;
  /** The cloud forgets a machine that is gone. */
  readonly forgets: number;
  readonly hibernations: number;
  /** A new machine gets the name of one that is gone. */
  readonly recreations: number;
  /** The scheduler places the next pod of the database on this Node. */
  readonly replacements: number;
  /** A person pauses Cloudfence, and ends the pause. */
  readonly pauses: number;
  readonly optOuts: number;
  /** A person sets the out-of-service taint. */
  readonly foreignTaints: number;
  /** A person deletes the Node. */
  readonly nodeDeletions: number;
  /** Another Node registers that may belong to the machine. */
  readonly claims: number;
  readonly cuts: number;
  readonly renewals: number;
  readonly removals: number;
  /** The kubelet removes the record. */
  readonly recordRemovals: number;
  /** A person ends the fence with `release --accept`. */
  readonly accepts: number;
  /** A person states that the machine is off (`assertOff`). */
  readonly vouches: number;
  /** Calls that fail, and answers that are lost. */
  readonly faults: number;
}

export interface World {
  readonly machine: Machine;
  /** How long ago the machine was last off, while the cloud may still say so. Null after that. */
  readonly wasOff: number | null;
  /** What the cloud says while it still says off. */
  readonly shownOff: Shown | null;
  /** Whether the kubelet reaches the API server. */
  readonly connected: boolean;
  /** The Lease of the kubelet: the number of the renewal, and how long ago it was. */
  readonly lease: { readonly renewal: number; readonly age: number };
  readonly node: NodeState | null;
  readonly pod: 'bound' | 'deleting' | 'gone';
  /** Another pod on this Node. It has no volume, and nothing replaces it here. */
  readonly neighbor: 'bound' | 'deleting' | 'gone';
  /** The number of database pods that this Node has had. */
  readonly podNumber: number;
  readonly attachment: 'attached' | 'deleting' | 'gone';
  readonly attachmentNumber: number;
  /** The kubelet reports the disk as in use. The report of a dead kubelet stays. */
  readonly inUse: boolean;
  /** The CSI attacher is down: it neither attaches nor detaches, and its finalizer keeps the VolumeAttachment. */
  readonly attacherDown?: true;
  /** Whether the disk is attached to this machine, to none, or to another machine whose database writes to it. */
  readonly disk: 'here' | 'free' | 'there';
  /** A run has seen the machine running in its present boot, and has reacted. */
  readonly swept: boolean;
  /**
   * The boot in which a person removed our taint, or ended the fence with `release --accept`, and how long ago. Null if
   * nobody removed anything. If a whole fence is removed without a trace while no run looks, nobody remembers its boot.
   */
  readonly removed: {
    readonly boot: number | null;
    /** The start of the machine to which it is limited. Null if it counts for every start that shows this boot. */
    readonly start: number | null;
    readonly age: number;
    /**
     * The generation to which a person's word applies, if the machine was started and stopped so quickly that the cloud
     * may still have shown its previous stop. A run that sees that stop cannot know that the word is about the later
     * one. It may fence the machine, and nothing is left of the word then.
     */
    readonly mistakable?: string;
  } | null;
  /** The label of the fence whose record a kubelet has removed or changed, or null. */
  readonly recordRemoved: string | null;
  /**
   * A person has said that the fence is to end (`release --accept`): in which start of the machine, and whether another
   * fence has begun in a later one.
   */
  readonly word: { readonly start: number; readonly laterFence: boolean } | null;
  /** The start of the machine, and the boot of its kernel, of which a person has stated that they are over (`assertOff`). */
  readonly vouched: { readonly start: number; readonly kernel: number } | null;
  /** How long ago a person paused Cloudfence, or null. */
  readonly paused: number | null;
  /** How long ago a person opted the Node out, or null. */
  readonly optedOut: number | null;
  /**
   * The machine about which the cloud is asked. `elsewhere`: this one, in the wrong account or region, where the cloud
   * does not know it. `former`: another one, which the Node names and which is off or terminated. Either the Node was
   * that machine's, or its kubelet has a wrong providerID.
   */
  readonly asked: 'about it' | 'elsewhere' | 'about a former that is off' | 'about a former that is terminated';
  /**
   * Another Node: whether there is none that may belong to the machine, or one that does not say yet which machine it
   * is, or one that also names this machine. Its age counts from its registration.
   */
  readonly rival: { readonly says: 'nothing yet' | 'this machine'; readonly age: number } | null;
  /** How long the Node has been Ready. Null while it is not. Absent in a scenario that does not track it. */
  readonly readyFor?: number | null;
  /** Whether the ledger counts this fence, or has room for it. `by boot`: it counts the boot that was reserved last. */
  readonly cap: 'counted' | 'open' | 'reached' | 'by boot';
  /** The boot that was reserved last, as the cloud names it. Null unless the ledger counts by boot. */
  readonly reserved: string | null;
  /** Whether the machine has been off ever since the latest mark took effect. Null in a scenario that does not track it. */
  readonly offSinceMark: boolean | null;
  /** Counts the Nodes that this machine's kubelet has registered. */
  readonly nodes: number;
  /** How many ticks may still pass, or null for any number. A recovery has all the time that it needs. */
  readonly ticksLeft: number | null;
  /** The number of the latest fence. */
  readonly latestFence: number;
  readonly budget: Budget;
}

/** The terms of the assumption of the design, in ticks. */
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

/** How long a proof allows a call (ticks). */
export const PROOF_TICKS = 2;

/** How long a run may use what it has read of the cluster (ticks). */
const CLUSTER_TICKS = 2;

/** By then (ticks), no call is under way that left before a person intervened. */
export const longAgo = ({ transit }: Pick<Assumption, 'transit'>): number => CLUSTER_TICKS + PROOF_TICKS + transit + 1;

/**
 * If the cloud does not know the machine, only the silence of its kubelet shows that it is gone. So in that case, a
 * kubelet that reaches the API server renews its Lease before it counts as silent, and before it frees a disk. In every
 * other case, it may renew at any time.
 */
export const renewedIfNeeded = (world: World): World =>
  world.asked !== 'about it' && world.connected && isUp(world)
    ? { ...world, lease: { ...world.lease, age: 0 } }
    : world;

/** Returns the world one tick later. */
export const tickLater = (world: World, assumption: Assumption): World => {
  const { staleness, bootToMount } = assumption;
  const { machine, wasOff, lease } = world;
  const sinceIntervention = (age: number): number => Math.min(age + 1, longAgo(assumption));
  return renewedIfNeeded({
    ...world,
    machine: {
      ...machine,
      offFor: machine.offFor === null ? null : mayShowOff(world) ? older(machine.offFor) : 0,
      started: machine.started > bootToMount ? machine.started : machine.started + 1,
    },
    ...(wasOff === null || wasOff >= staleness ? { wasOff: null, shownOff: null } : { wasOff: wasOff + 1 }),
    removed: world.removed && { ...world.removed, age: sinceIntervention(world.removed.age) },
    paused: world.paused === null ? null : sinceIntervention(world.paused),
    optedOut: world.optedOut === null ? null : sinceIntervention(world.optedOut),
    ticksLeft: world.ticksLeft && world.ticksLeft - 1,
    rival: world.rival && { ...world.rival, age: sinceIntervention(world.rival.age) },
    ...(world.readyFor != null && { readyFor: sinceIntervention(world.readyFor) }),
    lease: { ...lease, age: older(lease.age) },
  });
};

/** Returns whether the cloud is asked about another machine, which had the Node before. */
export const isAskedOfEarlierNode = ({ asked }: World): boolean =>
  asked === 'about a former that is off' || asked === 'about a former that is terminated';

/** What the cloud says about the former machine. It was off in its first boot, and has no disk any more. */
const former: Omit<Shown, 'power'> = {
  incarnation: 1,
  boot: 1,
  startedFor: null,
  hibernates: false,
  byGuest: false,
  detaches: 0,
  hasDisk: false,
};

/** Returns what the answer of the cloud about the machine depends on. */
export const shownBy = (world: World): Shown => {
  if (isAskedOfEarlierNode(world))
    return { ...former, power: world.asked === 'about a former that is off' ? 'off' : 'gone' };
  const { power, incarnation, boot, started, hibernates, byGuest, detaches } = world.machine;
  const hasDisk = world.disk === 'here';
  return {
    power: world.asked === 'elsewhere' ? 'forgotten' : power,
    incarnation,
    boot,
    startedFor: power === 'starting' ? started : null,
    hibernates,
    byGuest,
    detaches,
    hasDisk,
  };
};

/** Returns the world after a detach. If the generation drifts, each detach counts. */
export const detached = (world: World, { countsDetaches }: ExploredCloud): World => ({
  ...withMachine(world, { detaches: world.machine.detaches + (countsDetaches ? 1 : 0) }),
  disk: 'free',
});

export const isUp = ({ machine: { power } }: World): boolean => power === 'running' || power === 'stopping';

/** Returns whether a person has stated that the machine is off, and it has not been started since. */
export const isVouchedFor = ({ vouched, machine: { boot } }: World): boolean => vouched?.start === boot;

export const isGone = ({ machine: { power } }: World): boolean => power === 'gone' || power === 'forgotten';

export const withMachine = (world: World, change: Partial<Machine>): World => ({
  ...world,
  machine: { ...world.machine, ...change },
});

export const withNode = (world: World, change: Partial<NodeState>): World =>
  world.node ? { ...world, node: { ...world.node, ...change } } : world;

/** Returns the world in which the Node is Ready from now on, or not any more. */
export const withReadiness = (world: World, ready: boolean): World => ({
  ...withNode(world, { ready }),
  ...(world.readyFor !== undefined && { readyFor: ready ? (world.readyFor ?? 0) : null }),
});

/** A machine that has been up for this long booted before anything that matters. */
const LONG_UP_TICKS = 99;

/** A label and an annotation of someone else. */
export const FOREIGN: Readonly<Record<string, string>> = { 'example.com/team': 'db' };

/** A healthy cluster: the machine runs, the database writes. */
export const healthy = (budget: Partial<Budget>): World => ({
  machine: {
    power: 'running',
    incarnation: 1,
    boot: 1,
    kernel: 1,
    hibernates: false,
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
  node: { uid: 'node-1', boot: 1, incarnation: 1, ready: true, labels: FOREIGN, annotations: FOREIGN, taints: [] },
  pod: 'bound',
  neighbor: 'gone',
  podNumber: 1,
  attachment: 'attached',
  attachmentNumber: 1,
  inUse: true,
  disk: 'here',
  swept: true,
  removed: null,
  recordRemoved: null,
  word: null,
  vouched: null,
  paused: null,
  optedOut: null,
  asked: 'about it',
  rival: null,
  cap: 'counted',
  reserved: null,
  offSinceMark: null,
  nodes: 1,
  ticksLeft: null,
  latestFence: 0,
  budget: {
    stops: 0,
    shutdowns: 0,
    starts: 0,
    terminations: 0,
    forgets: 0,
    hibernations: 0,
    recreations: 0,
    replacements: 0,
    pauses: 0,
    optOuts: 0,
    foreignTaints: 0,
    nodeDeletions: 0,
    claims: 0,
    cuts: 0,
    renewals: 0,
    removals: 0,
    recordRemovals: 0,
    accepts: 0,
    vouches: 0,
    faults: 0,
    ...budget,
  },
});
