import type { SeededRandom } from './seeded-random.ts';
import type { Engine } from './engine.ts';
import type { Assumption } from './network.ts';

/** The true state of machines and disks, whatever a cloud says about them. */

export type CloudName = 'aws' | 'azure' | 'gcp';
export type MachinePower = 'running' | 'stopping' | 'off' | 'suspended' | 'starting' | 'gone' | 'forgotten';

/**
 * What the answer of a cloud about a machine depends on. It never changes: a change of the machine creates a new one.
 */
export interface Shown {
  readonly power: MachinePower;
  /** The number of boots that the cloud knows of. */
  readonly launch: number;
  /** When the machine was started and stopped, and when its present state began (ms). */
  readonly launchedAt: number;
  readonly stoppedAt: number;
  readonly byGuest: boolean;
  readonly hibernated: boolean;
  /** The number of operations on the machine. */
  readonly operations: number;
  readonly operatedAt: number;
  readonly disks: readonly string[];
}

export interface Machine {
  /** The name of the machine in stories. */
  readonly name: string;
  readonly cloud: CloudName;
  /** The id by which Cloudfence knows it. On some clouds, a machine that took over a name has the same id. */
  readonly id: string;
  /** Whether the Node of a machine that is gone becomes the Node of this one. */
  readonly takesOver: boolean;
  /** The number that no other machine has. */
  readonly serial: number;
  readonly node: string;
  readonly zone: string;
  readonly mayHibernate: boolean;
  readonly createdAt: number;
  shown: Shown;
  readonly history: { readonly at: number; readonly shown: Shown }[];
  /** The boot of the guest. A hibernation does not change it. */
  boot: number;
  /** When the guest last began to run, by a start, a resume, or at the beginning (ms). */
  startedAt: number;
  /** Whether the kubelet reaches the API server. */
  connected: boolean;
  /** When the kubelet of the present boot begins to post, or Infinity. */
  postsAt: number;
  /** When the kubelet may begin to mount disks, or Infinity. */
  mountsFrom: number;
  /** The last renewal of its Lease that arrived. Null while it renews the Lease. */
  lastRenewal: number | null;
  /** When that renewal arrived, if it was on its way while the machine went off. */
  lateRenewalAt?: number;
  /** Disks that the guest has mounted and may write to. */
  readonly mounted: Set<string>;
  /** Disks that the kubelet is about to mount. */
  readonly mounting: Set<string>;
  /** How far the clock of its kubelet is ahead (ms). */
  readonly skew: number;
}

export interface Disk {
  readonly id: string;
  readonly cloud: CloudName;
  readonly zone: string;
  holder: Machine | null;
  /** For how long the cloud continues naming the holder of a machine that is gone. */
  releasedAt: number;
}

/** More changes than a machine sees while an answer may be stale. */
const MOST_HISTORY = 40;
/** How often a kubelet renews its Lease (ms). */
export const RENEWS_EVERY_MS = 10_000;

export const mayWrite = ({ shown: { power } }: Machine): boolean => power === 'running' || power === 'stopping';
export const isUp = mayWrite;
export const isGone = ({ shown: { power } }: Machine): boolean => power === 'gone' || power === 'forgotten';
/** Whether its cloud answers that there is no such machine. Only EC2 shows a terminated one for a while. */
export const isUnknown = ({ cloud, shown: { power } }: Machine): boolean =>
  power === 'forgotten' || (power === 'gone' && cloud !== 'aws');
export const isOff = (machine: Machine): boolean => machine.shown.power === 'off' || isGone(machine);

/** Returns which boot ended when the machine was last off. One that was never off has its present boot. */
export const endedBootOf = ({ history, shown }: Machine): number =>
  (history.findLast(({ shown: { power } }) => power === 'off' || power === 'gone')?.shown ?? shown).launch;

/** Whether the machine that starts was off before. It does not begin from memory, and was not rebooted. */
export const wasOff = ({ history, shown }: Machine): boolean =>
  shown.power === 'starting' && history.findLast(({ shown: { power } }) => power !== 'starting')?.shown.power === 'off';

/** Returns when the machine went off, or null if it is not off (ms of the engine). */
export const offSinceOf = (machine: Machine): number | null => {
  if (!isOff(machine)) return null;
  const { history } = machine;
  const lastOn = history.findLastIndex(
    ({ shown: { power } }) => power !== 'off' && power !== 'gone' && power !== 'forgotten',
  );
  return history[lastOn + 1]?.at ?? null;
};

/** Returns when the kubelet last renewed its Lease (ms of the engine), or null if it never did. */
export const renewedAt = (machine: Machine, now: number): number | null => {
  if (machine.lastRenewal !== null) return machine.lastRenewal < 0 ? null : machine.lastRenewal;
  const phase = (machine.serial * 1_237) % RENEWS_EVERY_MS;
  return Math.max(machine.postsAt, Math.floor((now - phase) / RENEWS_EVERY_MS) * RENEWS_EVERY_MS + phase);
};

export interface Fleet {
  readonly machines: Machine[];
  readonly disks: Map<string, Disk>;
  readonly change: (machine: Machine, change: Partial<Shown>) => void;
  /** Forgets machines that are gone and that nobody keeps. */
  readonly prune: (isKept: (machine: Machine) => boolean) => void;
  readonly stop: (machine: Machine, how: { readonly byGuest: boolean; readonly takes: number }) => void;
  readonly start: (machine: Machine) => void;
  /** Boots a machine that is starting. */
  readonly boot: (machine: Machine) => void;
  readonly terminate: (machine: Machine, takes: number) => void;
  readonly forget: (machine: Machine) => void;
  readonly hibernate: (machine: Machine) => void;
  readonly reboot: (machine: Machine) => void;
  readonly cutOff: (machine: Machine) => void;
  readonly reconnect: (machine: Machine) => void;
  readonly attach: (machine: Machine, disk: Disk) => boolean;
  readonly detach: (machine: Machine, disk: Disk, force: boolean) => void;
}

/** Told of what happens to machines, so that the cluster and the queue can follow. */
export interface MachineListener {
  readonly down: (machine: Machine) => void;
  readonly boots: (machine: Machine) => void;
  readonly kubeletPosts: (machine: Machine) => void;
  readonly changed: () => void;
  /** The disk leaves a machine. */
  readonly detached: (machine: Machine, disk: Disk) => void;
  /** The cloud sends its event about the machine's present state. */
  readonly announces: (machine: Machine) => void;
}

interface World {
  readonly engine: Engine;
  readonly random: SeededRandom;
  readonly assumption: Assumption;
  /** How long the last renewal of a Lease is on its way when the machine goes off (ms). 0 if it has arrived. */
  readonly renewalTakes: () => number;
  readonly listener: MachineListener;
}

export const createFleet = ({ engine, random, assumption, renewalTakes, listener }: World): Fleet => {
  const machines: Machine[] = [];
  const disks = new Map<string, Disk>();
  const change: Fleet['change'] = (machine, changes) => {
    machine.shown = { ...machine.shown, ...changes };
    machine.history.push({ at: engine.now(), shown: machine.shown });
    if (machine.history.length > MOST_HISTORY) machine.history.shift();
    listener.changed();
  };
  const renewsLast = (machine: Machine): void => {
    if (machine.lastRenewal !== null) return;
    const last = renewedAt(machine, engine.now()) ?? -1;
    const takes = renewalTakes();
    const before = last - RENEWS_EVERY_MS;
    machine.lastRenewal = takes > 0 && before > 0 ? before : last;
    if (machine.lastRenewal !== before) return;
    engine.after(takes, () => {
      if (machine.lastRenewal !== before) return;
      machine.lastRenewal = last;
      machine.lateRenewalAt = engine.now();
      listener.down(machine);
    });
  };
  /** The guest does nothing any more from now on. */
  const guestEnds = (machine: Machine, keepsMemory: boolean): void => {
    renewsLast(machine);
    if (!keepsMemory) machine.mounted.clear();
    if (!keepsMemory) machine.mounting.clear();
    machine.postsAt = Infinity;
    machine.mountsFrom = Infinity;
    listener.down(machine);
  };
  const goesDown = (machine: Machine, takes: number, then: () => void): void => {
    engine.after(takes, () => {
      if (machine.shown.power !== 'stopping') return;
      then();
      listener.announces(machine);
    });
  };
  const posts = (machine: Machine, boot: number): void => {
    if (machine.boot !== boot || machine.shown.power !== 'running' || !machine.connected) return;
    machine.lastRenewal = null;
    listener.kubeletPosts(machine);
  };
  const guestBegins = (machine: Machine, least: { readonly post: number; readonly mount: number }): void => {
    const postsIn = least.post + random.between(0, 15_000);
    const mountsIn = Math.max(postsIn, least.mount + random.between(0, 10_000));
    machine.startedAt = engine.now();
    machine.postsAt = engine.now() + postsIn;
    machine.mountsFrom = engine.now() + mountsIn;
    const { boot } = machine;
    engine.after(postsIn, () => posts(machine, boot));
    engine.after(mountsIn, listener.changed);
    listener.boots(machine);
  };
  const boot = (machine: Machine, least: { readonly post: number; readonly mount: number }): void => {
    guestBegins(machine, least);
    engine.after(random.between(500, assumption.bootToPost - 1_000), () => {
      if (machine.shown.power !== 'starting') return;
      change(machine, { power: 'running' });
      listener.announces(machine);
      // A kubelet that resumes may have tried to post before that.
      if (machine.postsAt <= engine.now()) posts(machine, machine.boot);
    });
  };
  const fresh = { post: assumption.bootToPost, mount: assumption.bootToMount };
  const free = (machine: Machine): void => {
    for (const disk of disks.values())
      if (disk.holder === machine) {
        disk.holder = null;
        listener.detached(machine, disk);
      }
    machine.shown = { ...machine.shown, disks: [] };
    listener.changed();
  };
  const gone = (machine: Machine): void => {
    guestEnds(machine, false);
    change(machine, { power: 'gone', stoppedAt: engine.now() });
    engine.after(random.between(200, 20_000), () => free(machine));
  };
  return {
    machines,
    disks,
    change,
    prune: (isKept) => {
      const kept = machines.filter((machine) => !isGone(machine) || isKept(machine));
      machines.splice(0, machines.length, ...kept);
    },
    stop: (machine, { byGuest, takes }) => {
      if (machine.shown.power !== 'running') return;
      change(machine, { power: 'stopping', byGuest, hibernated: false, stoppedAt: engine.now() });
      goesDown(machine, takes, () => {
        guestEnds(machine, false);
        const operations = machine.shown.operations + (byGuest ? 0 : 1);
        change(machine, { power: 'off', operations, operatedAt: engine.now(), stoppedAt: engine.now() });
      });
    },
    start: (machine) => {
      const { power, launch, operations } = machine.shown;
      if (power !== 'off' && power !== 'suspended') return;
      const resumes = power === 'suspended';
      if (!resumes) machine.boot += 1;
      const started = { launch: launch + 1, launchedAt: engine.now(), byGuest: false, hibernated: false };
      change(machine, { power: 'starting', ...started, operations: operations + 1, operatedAt: engine.now() });
      boot(machine, resumes ? { post: 500, mount: 500 } : fresh);
    },
    boot: (machine) => boot(machine, fresh),
    terminate: (machine, takes) => {
      const { power } = machine.shown;
      if (power === 'off') {
        gone(machine);
        listener.announces(machine);
      }
      if (power !== 'running') return;
      change(machine, { power: 'stopping', byGuest: false, stoppedAt: engine.now() });
      goesDown(machine, takes, () => gone(machine));
    },
    forget: (machine) => {
      if (machine.shown.power === 'gone') change(machine, { power: 'forgotten' });
    },
    hibernate: (machine) => {
      if (machine.shown.power !== 'running' || !machine.mayHibernate) return;
      change(machine, { power: 'stopping', byGuest: false, hibernated: true, stoppedAt: engine.now() });
      goesDown(machine, random.between(2_000, 20_000), () => {
        guestEnds(machine, true);
        change(machine, { power: 'suspended', operatedAt: engine.now(), operations: machine.shown.operations + 1 });
      });
    },
    reboot: (machine) => {
      if (machine.shown.power !== 'running') return;
      guestEnds(machine, false);
      machine.boot += 1;
      guestBegins(machine, fresh);
    },
    cutOff: (machine) => {
      if (!isUp(machine) || !machine.connected) return;
      machine.lastRenewal ??= renewedAt(machine, engine.now()) ?? -1;
      machine.connected = false;
      listener.down(machine);
    },
    reconnect: (machine) => {
      if (machine.connected) return;
      machine.connected = true;
      engine.after(Math.max(0, machine.postsAt - engine.now()), () => posts(machine, machine.boot));
    },
    attach: (machine, disk) => {
      if (disk.holder === machine) return true;
      if (disk.holder !== null || isGone(machine)) return false;
      disk.holder = machine;
      change(machine, { disks: [...machine.shown.disks, disk.id], operations: machine.shown.operations + 1 });
      return true;
    },
    detach: (machine, disk) => {
      if (disk.holder !== machine) return;
      disk.holder = null;
      listener.detached(machine, disk);
      machine.mounted.delete(disk.id);
      machine.mounting.delete(disk.id);
      const left = machine.shown.disks.filter((id) => id !== disk.id);
      change(machine, { disks: left, operations: machine.shown.operations + 1, operatedAt: engine.now() });
    },
  };
};

/** Returns what the cloud says, by an answer that is `age` old. */
export const shownAt = ({ history, shown }: Machine, at: number): Shown => {
  for (let index = history.length - 1; index >= 0; index -= 1) {
    const entry = history[index];
    if (entry && entry.at <= at) return entry.shown;
  }
  return history[0]?.shown ?? shown;
};
