import type { Cloud } from '../../fencing/model/cloud.ts';
import { LEDGER } from '../../kubernetes/names.ts';
import { simulatedClouds } from './clouds/all.ts';
import { eventOf } from './clouds/events.ts';
import { targetOf } from './api-server.ts';
import { keyIn } from './cluster-objects.ts';
import { seededRandom } from './seeded-random.ts';
import { createEngine } from './engine.ts';
import { createInstall, type Install } from './install.ts';
import { type Cluster, createKubernetes, type Workload } from './kubernetes.ts';
import { createFleet, type Disk, type Fleet, isGone, type Machine, wasOff } from './machines.ts';
import { diskIdOf, isIncarnation, machineIdOf, ZONES } from './names.ts';
import { createNetwork } from './network.ts';
import { createKeys } from './keys.ts';
import { createMandates } from './mandates.ts';
import { newerVersion, olderVersion } from './other-versions.ts';
import { happeningInWords } from './story.ts';
import type { Plan, Planned } from './plan.ts';
import type { Process } from './process.ts';
import { peopleAt } from './people.ts';
import { countNudges, heldWithoutAttacher, lacksOf, toLookAt } from './recovery.ts';
import { createSafety, type Safety, type Violation } from './safety.ts';

/**
 * Plays one plan: first faults without limit, while safety is checked, and then a healthy world in which everything
 * must end.
 */

export interface StoryLine {
  readonly at: number;
  readonly says: string;
}

export interface Played {
  readonly violations: readonly Violation[];
  /** What is still missing after the healthy period. Empty if nothing is. */
  readonly stuck: readonly string[];
  /** How often each fault, each step, and each outcome with its reason occurred. */
  readonly counts: ReadonlyMap<string, number>;
  readonly lasted: number;
  readonly story: readonly StoryLine[];
}

/** A message that nothing can read. */
const POISON = '{"poison": true';

const MINUTE = 60_000;
const TRIES_EVERY = 250;
const HOUR = 60 * MINUTE;
/**
 * How many finished fences keep their entries in the ledger. Few clusters in a schedule have as many as the default.
 */
const ENTRIES_KEPT = [0, 0, 1, 3] as const;
const MOST_HEALTHY_SWEEPS = 40;
const HEALTHY_SWEEP_EVERY = 2 * MINUTE;
const SWEEPS_BEFORE_A_PERSON_LOOKS = 20;

export interface HourReport {
  readonly hours: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly waiting: number;
}

interface Options {
  readonly tells?: boolean;
  /** Called once for each hour of virtual time. */
  readonly everyHour?: (hour: HourReport) => void;
}

export const play = async (plan: Plan, { tells = false, everyHour }: Options = {}): Promise<Played> => {
  const engine = createEngine();
  const counts = new Map<string, number>();
  const story: StoryLine[] = [];
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const tell = (says: string): void => {
    if (tells) story.push({ at: engine.now(), says });
  };
  const refusals = new Map<string, string>();
  const chance = seededRandom(plan.seed, 'events');
  const late = seededRandom(plan.seed, 'leases');
  const lastOff = new WeakMap<Machine, number>();
  /** When a call last failed, or a process was last frozen or killed. */
  let disturbedAt = -Infinity;
  let isHealed = false;
  const open = createNetwork({
    engine,
    random: seededRandom(plan.seed, 'network'),
    faultPeriods: plan.faultPeriods,
    assumption: plan.assumption,
    note: (fault) => {
      disturbedAt = engine.now();
      count(`fault ${fault}`);
    },
  });
  // A key makes each call slower, so keys exist only if someone rotates them.
  const keys = plan.happenings.some((what) => what.do === 'rotate')
    ? createKeys({
        engine,
        network: open,
        note: (what) => {
          disturbedAt = engine.now();
          count(`fault ${what}`);
        },
      })
    : null;
  const mandates = createMandates();
  const network = mandates.noting(keys?.guarding(open) ?? open);
  const fleet: Fleet = createFleet({
    engine,
    random: seededRandom(plan.seed, 'machines'),
    assumption: plan.assumption,
    renewalTakes: () => (late.chance(plan.lateRenewals) ? late.between(200, 5_000) : 0),
    listener: {
      down: (machine) => cluster.kubeletSilent(machine),
      boots: (machine) => {
        if (wasOff(machine)) lastOff.set(machine, engine.now());
        tell(`${machine.name} boots`);
      },
      kubeletPosts: (machine) => {
        tell(`the kubelet of ${machine.name} posts`);
        cluster.kubeletPosts(machine);
        safety.noteNodes(cluster.objects.nodes.all().length);
      },
      changed: () => cluster.wake(),
      detached: (machine, disk) => {
        tell(`${disk.id} leaves ${machine.name}`);
        safety.onDetach(machine, disk, cluster.whyDetached(machine, disk));
      },
      announces: (machine) => {
        tell(`${machine.name} is ${machine.shown.power}`);
        announce(machine);
      },
    },
  });
  let diskNumber = 0;
  const createDisk = (at: number): Disk => {
    const cloud = plan.clouds[at % plan.clouds.length] ?? 'aws';
    const id = diskIdOf(cloud, (diskNumber += 1));
    const disk: Disk = { id, cloud, zone: ZONES[cloud], holder: null, releasedAt: 0 };
    fleet.disks.set(disk.id, disk);
    return disk;
  };
  const databases = Array.from({ length: plan.databases }, (_, at): Workload => {
    const disks = plan.twoDisks.includes(at) ? [createDisk(at), createDisk(at)] : [createDisk(at)];
    return { name: `db-${at}`, kind: 'StatefulSet', disks, node: null };
  });
  const tolerating = plan.tolerating.map((tolerates, at): Workload => ({
    name: `tolerating-${at}`,
    kind: 'Deployment',
    disks: [createDisk(at), createDisk(at)],
    node: null,
    tolerates,
  }));
  const stateless = Array.from({ length: plan.stateless }, (_, at): Workload => ({
    name: `app-${at}`,
    kind: 'StatefulSet',
    disks: [],
    node: null,
  }));
  const agents = plan.clouds.map((_, at): Workload => ({
    name: `agent-${at}`,
    kind: 'DaemonSet',
    disks: [],
    node: `node-${at}`,
  }));
  const cluster: Cluster = createKubernetes({
    engine,
    random: seededRandom(plan.seed, 'kubernetes'),
    fleet,
    workloads: [...databases, ...tolerating, ...stateless, ...agents],
    cloudControllerDeletes: plan.cloudControllerDeletes,
    controlPlane: plan.controlPlane,
  });
  const safety: Safety = createSafety({
    now: engine.now,
    cluster,
    machines: fleet.machines,
    disks: fleet.disks,
    policy: plan.policy,
    assumption: plan.assumption,
    lastOffAt: (machine) => lastOff.get(machine) ?? -Infinity,
    maxSkew: plan.maxSkew,
    mandate: mandates.acting,
  });
  const served = {
    objects: cluster.objects,
    leaseOf: cluster.leaseOf,
    leases: cluster.leases,
    watch: (...[write, tag]: Parameters<Safety['onWrite']>) => {
      tell(
        `Cloudfence: ${typeof tag === 'object' && tag !== null && 'do' in tag ? String(tag.do) : write.verb} ${write.kind} ${targetOf(write)}`,
      );
      safety.onWrite(write, tag);
    },
    recordEvent: (reason: string) => count(`event ${reason}`),
    ...(keys && { keys }),
  };
  /** A step is judged before the cloud's own reads can reject it. */
  const judged = (cloud: Cloud): Cloud => ({
    ...cloud,
    detach: (from, disk, ...rest) => {
      const machine = fleet.machines.findLast((one) => one.id === from.machine && isIncarnation(one, from.incarnation));
      safety.onDetachRequest(machine ?? null, disk);
      return cloud.detach(from, disk, ...rest);
    },
  });
  const cloudFor = (process: Process): Cloud =>
    judged(
      simulatedClouds(
        {
          fleet,
          network,
          process,
          now: engine.now,
          watch: (write) => {
            count(`step ${write.verb}`);
            tell(`Cloudfence: ${write.verb} ${write.machine.name} ${write.disk?.id ?? ''}`);
            safety.onCloudWrite(write);
          },
          watchDetach: safety.onDetachRequest,
          detach: (machine, disk, forced) => fleet.detach(machine, disk, forced),
          powerOff: (machine) => fleet.stop(machine, { byGuest: false, takes: 3_000 }),
        },
        plan.clouds,
      ),
    );
  const install: Install = createInstall({
    engine,
    random: seededRandom(plan.seed, 'install'),
    network,
    served,
    policy: plan.policy,
    maxSkew: plan.maxSkew,
    home: plan.home,
    cloudFor,
    log: (line) => logged(line),
    invokes: mandates.begin,
    swept: ({ began, ended, undisturbed }) => {
      if (undisturbed && began > disturbedAt) safety.onSweep({ began, ended });
    },
    sends: safety.onMessage,
    entriesKept: seededRandom(plan.seed, 'ledger').oneOf(ENTRIES_KEPT),
    admitted: (machine) => {
      const { data } = cluster.objects.maps.get(keyIn(LEDGER.namespace, LEDGER.name)) ?? {};
      count(data?.[LEDGER.counts] ? 'admission beside counted fences' : 'admission');
      safety.noteAdmission(machine);
    },
    buried: ({ reason, body }) => {
      count(reason === null ? 'dead letter after too many tries' : 'dead letter with its reason');
      if (reason === '') safety.break('recovery', 'a dead letter has an empty reason');
      if (isHealed && body !== POISON) safety.break('recovery', `a message becomes a dead letter: ${reason} ${body}`);
    },
    fail: (error) =>
      safety.break(
        'no-fault',
        `an invocation fails: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      ),
  });
  const logged = (line: object): void => {
    const {
      decision = '',
      because = '',
      step = '',
      says = '',
      instance = '',
    } = { ...line } as Readonly<Record<string, string>>;
    if (decision === 'refused' && instance !== '') refusals.set(instance, because);
    else if (step === null && instance !== '') refusals.delete(instance);
    if (step !== '' && step !== null) count(`because ${because}`);
    count(step === '' || step === null ? `outcome ${decision} ${because}` : `step ${step}`);
    tell(`log: ${decision} ${step ?? ''} ${because} ${instance ?? ''}: ${says}`);
    if (because === 'unexpected') safety.break('no-fault', `a run ends unexpectedly: ${says}`);
  };
  const announce = (machine: Machine): void => {
    if (chance.chance(plan.lostEvents) && engine.now() < plan.until) return count('fault event-lost');
    const body = eventOf(machine, plan.home, engine.now());
    if (body === null) return;
    install.send(body, chance.between(50, 3_000));
    if (!chance.chance(plan.doubledEvents)) return;
    count('fault event-twice');
    install.send(body, chance.between(50, 60_000));
  };

  let serials = 0;
  const current: Machine[] = [];
  const create = (at: number, before?: Machine): Machine => {
    const cloud = plan.clouds[at] ?? 'aws';
    const serial = (serials += 1);
    const node = `node-${at}`;
    const shown = {
      power: before ? ('starting' as const) : ('running' as const),
      launch: (before?.shown.launch ?? 0) + 1,
      launchedAt: engine.now(),
      stoppedAt: 0,
      byGuest: false,
      hibernated: false,
      operations: 0,
      operatedAt: engine.now(),
      disks: [],
    };
    const machine: Machine = {
      name: `machine-${serial}`,
      cloud,
      id: machineIdOf(cloud, node, serial),
      takesOver: before !== undefined,
      serial,
      node,
      zone: ZONES[cloud],
      mayHibernate: plan.mayHibernate[at] ?? false,
      createdAt: engine.now(),
      shown,
      history: [{ at: engine.now(), shown }],
      boot: 1,
      startedAt: engine.now(),
      connected: true,
      postsAt: engine.now(),
      mountsFrom: engine.now(),
      lastRenewal: null,
      mounted: new Set(),
      mounting: new Set(),
      skew: chance.between(-plan.maxSkew, plan.maxSkew) * plan.worseClocks,
    };
    fleet.machines.push(machine);
    current[at] = machine;
    return machine;
  };
  const joins = (machine: Machine): void => {
    cluster.kubeletPosts(machine);
    safety.noteNodes(cluster.objects.nodes.all().length);
  };
  /** A new machine takes over a name only when the Node of the previous one is gone. */
  const recreate = (at: number): boolean => {
    const before = current[at];
    if (!before || !isGone(before) || cluster.objects.nodes.get(before.node)) return false;
    joins(create(at));
    return true;
  };
  const takeOver = (at: number): boolean => {
    const before = current[at];
    if (!before || !isGone(before) || !cluster.nodeBelow(before)) return false;
    fleet.boot(create(at, before));
    return true;
  };
  const registerAgain = (machine: Machine | undefined): boolean => {
    const registered = machine !== undefined && cluster.rivals.register(machine);
    safety.noteNodes(cluster.objects.nodes.all().length);
    return registered;
  };
  const people = peopleAt({
    engine,
    cluster,
    safety,
    install,
    machineAt: (at) => current[at],
  });
  /** Returns whether it could happen. */
  const happen = (what: Planned): boolean => {
    const machine = 'machine' in what ? current[what.machine] : undefined;
    const power = machine?.shown.power;
    switch (what.do) {
      case 'stop':
        if (machine) fleet.stop(machine, what);
        return power === 'running';
      case 'start':
        if (machine) fleet.start(machine);
        return power === 'off' || power === 'suspended';
      case 'terminate':
        if (machine) fleet.terminate(machine, what.takes);
        return power === 'running' || power === 'off';
      case 'forget-machine':
        if (machine) fleet.forget(machine);
        return power === 'gone';
      case 'recreate':
        return recreate(what.machine);
      case 'take-over':
        return takeOver(what.machine);
      case 'hibernate':
        if (machine) fleet.hibernate(machine);
        return power === 'running';
      case 'reboot':
        if (machine) fleet.reboot(machine);
        return power === 'running';
      case 'cut-off':
        if (machine) fleet.cutOff(machine);
        return power === 'running';
      case 'reconnect':
        if (machine) fleet.reconnect(machine);
        return true;
      case 'register-again':
        return registerAgain(machine);
      case 'kill':
        disturbedAt = engine.now();
        return install.kill(what.choice);
      case 'freeze':
        disturbedAt = engine.now() + what.ms;
        return install.freeze(what.choice, what.ms);
      case 'remove-taint':
        return people.removeTaint(what.machine);
      case 'remove-fence':
        return people.removeFence(what.machine);
      case 'remove-label':
      case 'remove-seal':
      case 'remove-taint-label':
      case 'remove-quarantine':
        return people.removePart(what.machine, what.do);
      case 'remove-record':
        return people.removeRecord(what.machine);
      case 'change-record':
        return people.changeRecord(what.machine, what.choice);
      case 'delete-node':
        return people.deleteNode(machine);
      case 'foreign-taint':
        return people.addForeignTaint(what.machine);
      case 'bind-pod':
        return people.bindPod(what.machine);
      case 'hold-pod':
        return people.holdPod(what.machine, what.ms);
      case 'dry-run':
        return people.askForDryRun(what.machine);
      case 'release':
      case 'accept':
        return people.release(what.machine, what.do === 'accept' ? 'looked at it' : null);
      case 'shadow':
      case 'unshadow':
        install.setShadow(what.do === 'shadow');
        return true;
      case 'opt-out':
        return people.setOptOut(what.machine, what.by ?? 'label');
      case 'opt-in':
        return people.setOptOut(what.machine, null);
      case 'pause':
      case 'unpause':
        people.setPause(what.do === 'pause');
        return true;
      case 'attacher-down':
      case 'attacher-up':
        cluster.setAttacher(what.do === 'attacher-up');
        return true;
      case 'poison':
        install.send(POISON);
        return true;
      case 'deploy-old':
      case 'deploy-newer':
        people.deploy(what.do === 'deploy-old' ? olderVersion : newerVersion);
        return true;
      case 'rotate':
        keys?.rotate(what.service, what.overlapMs);
        return keys !== null;
      case 'sweep':
        install.sweepNow();
        return true;
      case 'send-again': {
        const waiting = install.waiting();
        const body = waiting[what.choice % Math.max(1, waiting.length)];
        if (body !== undefined) install.send(body);
        return body !== undefined;
      }
    }
  };

  const recovering = {
    cluster,
    fleet,
    policy: plan.policy,
    interference: safety.interference,
    optOuts: safety.optOuts,
    refusals,
  };
  const lacks = (): readonly string[] => [
    ...lacksOf(recovering),
    ...(install.waiting().length > 0 ? [`${install.waiting().length} messages wait`] : []),
    ...(install.running() > 0 ? ['a function runs'] : []),
  ];
  const heal = (): void => {
    isHealed = true;
    people.setPause(false);
    install.setShadow(false);
    people.letPodsGo();
    cluster.rivals.removeAll();
    cluster.setAttacher(!plan.attacherStaysDown);
    for (const machine of fleet.machines) fleet.reconnect(machine);
  };

  for (const at of plan.clouds.keys()) joins(create(at));
  const next = (index: number): void => {
    const what = plan.happenings[index];
    if (!what) return;
    engine.after(what.at - engine.now(), () => {
      next(index + 1);
      attempt(what, engine.now() + ('within' in what ? (what.within ?? 0) : 0));
    });
  };
  const attempt = (what: Planned, until: number): void => {
    if (!happen(what)) {
      if (engine.now() < until) engine.after(TRIES_EVERY, () => attempt(what, until));
      return;
    }
    count(`fault ${what.do}`);
    tell(happeningInWords(what, 'machine' in what ? (current[what.machine]?.name ?? '') : ''));
  };
  next(0);
  const hourly = (): void => {
    fleet.prune((machine) => current.includes(machine) || cluster.nodeBelow(machine) !== undefined);
    cluster.prune();
    everyHour?.({ counts, waiting: install.waiting().length, hours: Math.round(engine.now() / HOUR) });
    engine.after(HOUR, hourly);
  };
  engine.after(HOUR, hourly);
  const sweepAgain = (): void => {
    if (engine.now() >= plan.until) return;
    install.sweepNow();
    engine.after(plan.sweepEvery, sweepAgain);
  };
  engine.after(plan.sweepEvery, sweepAgain);

  const isBroken = (): boolean => safety.violations.length > 0;
  await engine.run(plan.until, isBroken);
  tell('faults cease');
  const letPersonLook = (): void => {
    for (const machine of toLookAt(recovering))
      if (people.deleteNode(machine)) tell(`a person looks at ${machine.name}, and deletes its Node`);
  };
  /** Sweeps until nothing is missing. Returns what is still missing after 80 minutes. */
  const sweepUntilNone = async (missing: () => readonly string[]): Promise<readonly string[]> => {
    let found: readonly string[] = ['nothing was looked at'];
    for (let sweeps = 1; !isBroken() && found.length > 0 && sweeps <= MOST_HEALTHY_SWEEPS; sweeps += 1) {
      install.sweepNow();
      await engine.run(engine.now() + HEALTHY_SWEEP_EVERY, isBroken);
      found = missing();
      if (sweeps === SWEEPS_BEFORE_A_PERSON_LOOKS) letPersonLook();
    }
    return found;
  };
  const recover = async (): Promise<readonly string[]> => {
    if (isBroken()) return [];
    heal();
    const held = plan.attacherStaysDown ? await sweepUntilNone(() => heldWithoutAttacher(recovering)) : [];
    if (held.length > 0) return held;
    cluster.setAttacher(true);
    return sweepUntilNone(lacks);
  };
  const stuck = plan.byEvents ? lacksOf(recovering) : await recover();
  if (countNudges(cluster) > 0) count('left over: a nudge');
  engine.stop();
  install.stop();
  return { violations: safety.violations, stuck: isBroken() ? [] : stuck, counts, lasted: engine.now(), story };
};
