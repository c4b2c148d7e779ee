import type { Cloud } from '../../../fencing/model/cloud.ts';
import type { Cluster } from '../../../fencing/model/cluster.ts';
import { Refused } from '../../../fencing/model/errors.ts';
import type { Ports } from '../../../fencing/loop/ports.ts';
import { type Damage, damaged } from '../damage.ts';
import { CANARY, type Reader, type Reading } from '../judge.ts';

/**
 * A deployed function and a small world in which every machine runs, so nothing may be done, whatever a message says.
 */

interface Place {
  readonly now: () => number;
  readonly parts: {
    readonly cluster: { readonly audit: readonly { readonly user: string; readonly resource: string }[] };
  };
}

/** What a handler left behind. */
export interface HandlerEffects {
  readonly lines: readonly object[];
  readonly dead: readonly { readonly body: string; readonly reason: string }[];
  /** Messages that it sent to a queue. */
  readonly sent: readonly string[];
}

export interface Stage {
  readonly world: Place;
  /** Removes what the handler has left, so that the next input begins with nothing. */
  readonly take: () => HandlerEffects;
  /** What must not have happened since the last call of this function. */
  readonly done: () => readonly string[];
}

/** One delivery: what came back, and the text that must not be lost. */
export interface Delivered {
  readonly answer: unknown;
  readonly body: string | null;
  /** The queue delivers it again, or the caller sees that it failed. */
  readonly again: boolean;
  /** A machine that a valid message next to it names, and at which Cloudfence must look. */
  readonly beside?: string;
}

type FunctionPorts = Omit<Ports, 'signal' | 'observe'>;

/** The same ports, but everything that would change something is only noted. Steps that are allowed are rejected. */
export const guarded = (
  ports: FunctionPorts,
  note: (what: string) => void,
  allowed: readonly string[] = [],
): FunctionPorts => {
  const never = (what: string) => async (): Promise<never> => {
    note(what);
    throw new Refused(what);
  };
  const cloud: Cloud = {
    ...ports.cloud,
    detach: never('a disk is detached'),
    powerOff: never('a machine is powered off'),
  };
  const guard = (cluster: Cluster): Cluster => ({
    ...cluster,
    apply: (step) =>
      allowed.includes(step.do)
        ? Promise.reject(new Refused(`the step ${step.do} is declined`))
        : never(`the step ${step.do} is taken`)(),
    reserve: never('a fence is claimed'),
    recordEvent: async (about, { message }) => note(wrongEvent(about.name, message)),
  });
  return { ...ports, cloud, clusters: ports.clusters.map(guard) };
};

const LONGEST_NOTE = 20_000;

const wrongEvent = (node: string, message: string): string =>
  message.includes(CANARY) || message.length > LONGEST_NOTE ? `an Event on ${node} says ${message.slice(0, 300)}` : '';

/** Notes what is done to the world, on the ports and in the cluster itself. */
export const createWatch = (world: Place) => {
  const noted: string[] = [];
  let audited = world.parts.cluster.audit.length;
  return {
    note: (what: string): void => void (what === '' || noted.push(what)),
    done: (): readonly string[] => {
      const writes = world.parts.cluster.audit
        .slice(audited)
        .filter(({ user, resource }) => user === 'kubernetes-admin' && resource !== 'events')
        .map(({ resource }) => `a write to ${resource} reaches the cluster`);
      audited = world.parts.cluster.audit.length;
      return [...noted.splice(0), ...writes];
    },
  };
};

/** A new world now and then, because a world and its log only grow. */
export const renewed = <T>(make: () => T, every = 150): (() => T) => {
  let stage = make();
  let used = 0;
  return () => {
    used += 1;
    if (used % every === 0) stage = make();
    return stage;
  };
};

/** The longest that one delivery may take in the world (ms). The platform gives it a minute. */
const LONGEST_MS = 90_000;

const field = (line: object, name: string): unknown => new Map<string, unknown>(Object.entries(line)).get(name);

const lost = ({ body, again, answer }: Delivered, { lines, dead, sent }: HandlerEffects): readonly string[] => {
  if (dead.some(({ reason }) => reason.trim() === '')) return ['leaves a dead letter without a reason'];
  if (body === null || again || answer !== undefined) return [];
  const known = dead.length + sent.length + lines.length > 0;
  return known ? [] : ['loses a message in silence'];
};

const misunderstoodIn = (lines: readonly object[]): boolean =>
  lines.some((line) => field(line, 'decision') === 'not-understood');

/** A message that was not understood becomes a dead letter with exactly the same text. */
const unburied = ({ body, again, answer }: Delivered, { lines, dead }: HandlerEffects): readonly string[] =>
  body !== null &&
  !again &&
  answer === undefined &&
  misunderstoodIn(lines) &&
  !dead.some((letter) => letter.body === body)
    ? ['does not understand a message, and leaves no dead letter with its text']
    : [];

const outcomeOf = ({ again }: Delivered, { lines, dead, sent }: HandlerEffects): string => {
  if (again) return 'delivered again';
  if (dead.length > 0) return 'dead letter';
  if (sent.length > 0) return 'sent on';
  const words = lines.map((line) => String(field(line, 'decision')));
  return words.at(-1) ?? 'answered';
};

/** Delivers one input, and returns what must hold for it. */
export const deliverTo = async (stage: Stage, deliver: () => Promise<Delivered>): Promise<Reading> => {
  const began = stage.world.now();
  try {
    const delivered = await deliver();
    const left = stage.take();
    const { beside } = delivered;
    return {
      outcome: outcomeOf(delivered, left),
      said: [
        ...left.lines.map((line) => JSON.stringify(line)),
        ...left.dead.map(({ reason }) => reason),
        ...(delivered.answer === undefined ? [] : [JSON.stringify(delivered.answer)]),
      ],
      wrong: [
        ...stage.done(),
        ...lost(delivered, left),
        ...unburied(delivered, left),
        ...(beside !== undefined && !left.lines.some((line) => field(line, 'instance') === beside)
          ? ['does not look at the machine of the message beside it']
          : []),
        ...(stage.world.now() - began > LONGEST_MS ? ['waits longer than the platform'] : []),
      ],
    };
  } finally {
    stage.take();
  }
};

/** All functions, forms, and headers take turns. */
const TURNS = [0, 1, 2, 3, 17] as const;

/**
 * Returns how to create a reader for the messages of a function. Each input is one damaged sample that is delivered to
 * the function.
 */
export const readerOver =
  <Opened extends { readonly stage: Stage }>(opened: () => Opened) =>
  (
    name: string,
    share: number,
    samples: readonly string[],
    deliver: (text: string, turn: number, stage: Opened) => Promise<Delivered>,
  ): Reader => ({
    name,
    share,
    takes: 'json',
    turns: TURNS,
    read: (damage: Damage) => {
      const stage = opened();
      return deliverTo(stage.stage, () => deliver(damaged(samples, damage, ['httpHeaders']), damage.turn, stage));
    },
  });

/** Returns the message with which a run that waits continues. */
export const lookAgain = (machine: string) => ({
  cloudfence: 'look-again',
  machine,
  hops: 1,
  because: 'pods-remain',
  event: 'e-1',
  eventAt: 1_767_225_600_000,
  record: null,
  dryRun: false,
});
