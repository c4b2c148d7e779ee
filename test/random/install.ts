import { run } from '../../fencing/loop/run.ts';
import { reportsOf } from '../../fencing/loop/reduce.ts';
import { startRun } from '../../fencing/loop/state.ts';
import type { Cloud } from '../../fencing/model/cloud.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import type { StepReport } from '../../fencing/model/outcome.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import type { FunctionDependencies } from '../../functions/dependencies.ts';
import type { TimeLimit } from '../../functions/invocation.ts';
import type { LookAgain } from '../../functions/messages.ts';
import { sweep } from '../../functions/sweep.ts';
import { clusterFromConnection } from '../../kubernetes/cluster.ts';
import { connect, type Served } from './api-server.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { Engine } from './engine.ts';
import { deliverTo } from './handlers.ts';
import type { CloudName } from './machines.ts';
import { type Mandate, mandateFor } from './mandates.ts';
import type { Network } from './network.ts';
import { type Process, startProcess } from './process.ts';

/** The installed parts: a queue with its dead-letter queue, functions that it calls, and the sweep. */

interface Waiting {
  readonly id: number;
  readonly body: string;
  visibleAt: number;
  receives: number;
}

export interface DeadLetter {
  readonly reason: string | null;
  readonly body: string;
}

export interface EndedSweep {
  readonly began: number;
  readonly ended: number;
  /** Its process ended normally, and the cluster answered. */
  readonly undisturbed: boolean;
}

interface StatementAboutNode {
  readonly says: string;
  readonly node: string;
}

export interface Install {
  readonly send: (body: string, delayMs?: number) => void;
  readonly sweepNow: () => void;
  /** Kills or freezes one of the processes that run, if there is one. */
  readonly kill: (choice: number) => boolean;
  readonly freeze: (choice: number, ms: number) => boolean;
  /** A person requests the release of the fence of the machine, perhaps with a statement about its Node. */
  readonly release: (machine: MachineId, accepted: StatementAboutNode | null) => void;
  readonly waiting: () => readonly string[];
  /** The latest of them. */
  readonly deadLetters: readonly DeadLetter[];
  readonly running: () => number;
  /** Deploys the functions with or without shadow mode. Invocations that run keep what they began with. */
  readonly setShadow: (shadow: boolean) => void;
  /** Makes the next invocations begin in new processes, as after a deploy. */
  readonly upgrade: () => void;
  /** Ends everything that runs, and removes everything that waits. */
  readonly stop: () => void;
  /** Rewrites every message that waits, as a deploy of another version would leave them. */
  readonly rewrite: (change: (body: string) => string) => void;
}

interface Host {
  readonly process: Process;
  readonly policy: Policy;
  readonly dependencies: FunctionDependencies;
}

export interface InstallOptions {
  readonly engine: Engine;
  readonly random: SeededRandom;
  readonly network: Network;
  readonly served: Served;
  readonly policy: Policy;
  readonly maxSkew: number;
  /** The cloud whose functions are installed. */
  readonly home: CloudName;
  readonly cloudFor: (process: Process) => Cloud;
  /** Receives each log line. */
  readonly log: (line: object) => void;
  readonly fail: (error: unknown) => void;
  /** Called when a process begins an invocation. */
  readonly invokes?: (process: Process, mandate: Mandate) => void;
  /** Called with each message that Cloudfence sends to itself, when the queue gets it. */
  readonly sends?: (message: LookAgain) => void;
  /** Called with each machine whose fence the cap admits. */
  readonly admitted: (machine: MachineId) => void;
  /** How many finished fences keep their entries in the ledger, if not the default. */
  readonly entriesKept?: number;
  /** Called with each sweep that has ended. */
  readonly swept?: (sweep: EndedSweep) => void;
  /** Receives each dead letter. */
  readonly buried: (letter: DeadLetter) => void;
  /** How many batches are processed at the same time, if not the default. */
  readonly atOnce?: number;
  /** Whether a batch contains as many messages as possible, as from a long queue. Otherwise, chance decides. */
  readonly fillsBatches?: boolean;
}

/** The times in serverless.yml and infra/aws (ms). */
export const FUNCTION_LASTS_MS = 60_000;
const RELEASE_LASTS_MS = 50_000;
const VISIBILITY_MS = 6 * FUNCTION_LASTS_MS;
const MOST_RECEIVES = 10;
const AT_ONCE = 5;
const BATCH = 10;
const MOST_LETTERS = 20;
const POLL_MS = { least: 20, most: 500 } as const;

export const CLUSTER = 'simulated';

export const createInstall = (options: InstallOptions): Install => {
  const { engine, random, network, served, maxSkew, cloudFor, log, fail } = options;
  let { policy } = options;
  const queue: Waiting[] = [];
  const deadLetters: DeadLetter[] = [];
  const processes = new Set<Process>();
  let ids = 0;
  let busy = 0;

  const send = (body: string, delayMs = 0): void => {
    queue.push({ id: (ids += 1), body, visibleAt: engine.now() + delayMs, receives: 0 });
    engine.after(delayMs + random.between(POLL_MS.least, POLL_MS.most), poll);
  };
  const bury = (letter: DeadLetter): void => {
    options.buried(letter);
    deadLetters.push(letter);
    if (deadLetters.length > MOST_LETTERS) deadLetters.shift();
  };
  const postpone = (id: number, delayMs: number): void => {
    const message = queue.find((one) => one.id === id);
    if (!message) return;
    message.visibleAt = engine.now() + delayMs;
    engine.after(delayMs, poll);
  };
  const viaQueue = (process: Process, arrives: () => void): Promise<void> =>
    network.call(process, {
      service: 'queue',
      signal: undefined,
      isWrite: false,
      throttled: () => new Error('the queue is throttled'),
      failed: () => new Error('the queue is not available'),
      denied: () => new Error('the queue denies the call'),
      arrives,
    });
  const dependenciesOf = (process: Process): FunctionDependencies => ({
    ports: { cloud: cloudFor(process), clusters: [clusterFor(process)], clock: process.clock },
    policy,
    whyNotServed: () => null,
    queues: {
      again: (message, seconds) =>
        viaQueue(process, () => {
          options.sends?.(message);
          send(JSON.stringify(message), seconds * 1_000);
        }),
      dead: (letter) => viaQueue(process, () => bury(letter)),
      postpone: (receipt, seconds) => viaQueue(process, () => postpone(Number(receipt), seconds * 1_000)),
    },
    formatMeasurements: () => ({}),
    newRunId: () => `run${(ids += 1)}`,
    chance: () => random.between(0, 1_000) / 1_000,
    log,
  });
  const clusterFor = (process: Process): Cluster => {
    const over = (tag: unknown) =>
      clusterFromConnection(CLUSTER, connect(served, network, process, tag), random.next, options.entriesKept);
    // One for all its runs, so that they write their fences to the ledger together.
    const cluster = over(null);
    const changed = {
      reserve: async (...asked) => {
        const admission = await cluster.reserve(...asked);
        if (admission.admitted && !asked[0].onlyAsked) options.admitted(asked[0].machine);
        return admission;
      },
      apply: (...[step, ...rest]) => over(step).apply(step, ...rest),
    } satisfies Pick<Cluster, 'reserve' | 'apply'>;
    return { ...cluster, ...changed };
  };

  /** Processes that wait for their next invocation. They keep what they have opened. */
  const idle: Host[] = [];
  const startHost = (): Host => {
    const skew = random.between(-maxSkew, maxSkew);
    const process = startProcess(engine, `process ${(ids += 1)}`, { skew, monoOffset: random.between(0, 1_000_000) });
    return { process, policy, dependencies: dependenciesOf(process) };
  };

  /** Starts an invocation. `ended` is called once, with null if the invocation did not end normally. */
  const invoke = <T>(
    work: (dependencies: FunctionDependencies, limit: TimeLimit) => Promise<T>,
    ended: (answer: T | null) => void,
    bodies: readonly string[] = [],
  ): void => {
    const began = engine.now();
    const host = idle.pop() ?? startHost();
    const { process, dependencies } = host;
    processes.add(process);
    options.invokes?.(process, mandateFor(bodies, host.policy.shadow));
    let over = false;
    const end = (answer: T | null): void => {
      if (over) return;
      over = true;
      processes.delete(process);
      ended(answer);
      if (answer === null || host.policy !== policy) process.kill();
      else idle.push(host);
    };
    engine.after(FUNCTION_LASTS_MS, () => end(null));
    const limit = { getRemainingTimeInMillis: () => Math.max(0, began + FUNCTION_LASTS_MS - engine.now()) };
    const start = (): void =>
      void work(dependencies, limit).then(
        (answer) => end(process.isAlive() ? answer : null),
        (error: unknown) => {
          if (process.isAlive()) fail(error);
          end(null);
        },
      );
    engine.after(0, start, 'answers');
  };

  const giveUp = (message: Waiting): void => {
    queue.splice(queue.indexOf(message), 1);
    bury({ reason: null, body: message.body });
  };
  const receive = (): readonly Waiting[] => {
    const visible = queue.filter(({ visibleAt }) => visibleAt <= engine.now());
    const batch = visible.slice(0, options.fillsBatches === true ? BATCH : random.between(1, BATCH));
    for (const message of batch) {
      message.receives += 1;
      message.visibleAt = engine.now() + VISIBILITY_MS;
      engine.after(VISIBILITY_MS, poll);
      if (message.receives > MOST_RECEIVES) giveUp(message);
    }
    return batch.filter(({ receives }) => receives <= MOST_RECEIVES);
  };
  const poll = (): void => {
    if (busy >= (options.atOnce ?? AT_ONCE)) return engine.after(1_000, poll);
    const batch = receive();
    if (batch.length === 0) return;
    busy += 1;
    invoke(
      (dependencies, limit) =>
        deliverTo[options.home](
          batch.map(({ id, body, receives }) => ({ id: String(id), body, receives })),
          dependencies,
          limit,
        ),
      (failed) => {
        busy -= 1;
        if (failed === null) return;
        for (const message of batch) {
          const at = queue.indexOf(message);
          if (!failed.has(String(message.id)) && at >= 0) queue.splice(at, 1);
        }
        if (queue.some(({ visibleAt }) => visibleAt <= engine.now())) poll();
      },
      batch.map(({ body }) => body),
    );
  };
  const sweepNow = (): void => {
    const began = engine.now();
    invoke(
      (dependencies, limit) => sweep(async () => dependencies)(null, limit),
      (answer) => {
        const undisturbed = answer !== null && answer.unreachable.length === 0;
        options.swept?.({ began, ended: engine.now(), undisturbed });
      },
    );
  };
  const logSteps = (steps: readonly StepReport[]): void => {
    for (const {
      step,
      because: { code, says },
    } of steps)
      log({ decision: 'step', because: code, step, says });
  };
  const release: Install['release'] = (machine, accepted) =>
    invoke(
      async ({ ports, policy, newRunId }) => {
        const signal = ports.clock.timeout(FUNCTION_LASTS_MS);
        const deadline = ports.clock.now().mono + RELEASE_LASTS_MS;
        const begun = startRun({
          request: { machine, intent: 'release', accepted: accepted?.says ?? null, vouched: null },
          policy,
          deadline,
          identityRules: ports.cloud,
          runId: newRunId(),
          ...(accepted && { location: { cluster: CLUSTER, node: accepted.node }, statedAt: ports.clock.now().mono }),
        });
        return run(begun, { ...ports, signal, observe: (_, answer, state) => logSteps(reportsOf(answer, state)) });
      },
      (outcome) => {
        if (outcome)
          log({ decision: outcome.outcome, because: outcome.reason.code, step: null, says: outcome.reason.says });
      },
    );
  const upgrade = (): void => {
    for (const { process } of idle.splice(0)) process.kill();
  };
  const oneOf = (choice: number): Process | undefined => {
    const alive = [...processes].filter((process) => process.isAlive());
    return alive[choice % Math.max(1, alive.length)];
  };
  return {
    send,
    sweepNow,
    kill: (choice) => {
      const process = oneOf(choice);
      process?.kill();
      return process !== undefined;
    },
    freeze: (choice, ms) => {
      const process = oneOf(choice);
      process?.freeze(ms);
      return process !== undefined;
    },
    release,
    waiting: () => queue.map(({ body }) => body),
    deadLetters,
    running: () => processes.size,
    upgrade,
    setShadow: (shadow) => {
      if (policy.shadow === shadow) return;
      policy = { ...policy, shadow };
      upgrade();
    },
    stop: () => {
      for (const process of processes) process.kill();
      queue.length = 0;
    },
    rewrite: (change) => {
      for (const [at, message] of queue.entries()) queue[at] = { ...message, body: change(message.body) };
    },
  };
};
