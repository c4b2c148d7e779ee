import { CloudfenceError, Unexpected } from '../../fencing/model/errors.ts';
import type { Damage, damages } from './damage.ts';

/** What a reader did with one input. */
export interface Reading {
  /** One or two words, which are counted. */
  readonly outcome: string;
  /** Everything that it printed or sent: log lines, answers, messages of errors, Events. */
  readonly said: readonly string[];
  /** What must not happen, such as a write. Empty if everything is well. */
  readonly wrong?: readonly string[];
}

export interface Reader {
  readonly name: string;
  /** How many of ten thousand inputs it gets. */
  readonly share: number;
  readonly takes: keyof typeof damages;
  /** The numbers that make a difference. Each of the worst inputs is played with each of them. */
  readonly turns?: readonly number[];
  /** More of these numbers, which take seconds each. */
  readonly slowTurns?: readonly number[];
  /** Reads one damaged input. It may throw an error of Cloudfence, which counts as a rejection. */
  readonly read: (damage: Damage) => Promise<Reading> | Reading;
}

/** The canary is planted where secrets are: in tokens, kubeconfigs, the environment, and unused fields of events. */
export const CANARY = 'c4n4ry-7f3a91-d0-not-pr1nt';

/** What no output may contain. No input contains the words of a JavaScript error. */
const FORBIDDEN = [
  [CANARY.slice(7), 'prints a canary'],
  ['admin-token', 'prints a token'],
  ['Cloudfence failed unexpectedly', 'fails unexpectedly'],
  ['TypeError', 'prints a raw error'],
  ['RangeError', 'prints a raw error'],
  ['SyntaxError', 'prints a raw error'],
  ['ReferenceError', 'prints a raw error'],
] as const;

/** The longest text that one output may contain (characters). */
const LONGEST = 20_000;

const SHOWN = 600;

const wrongWith = (text: string): readonly string[] => [
  ...FORBIDDEN.flatMap(([words, what]) => {
    const at = text.indexOf(words);
    return at < 0 ? [] : [`${what}: …${text.slice(Math.max(0, at - 100), at + SHOWN)}`];
  }),
  ...(text.length > LONGEST ? [`prints ${text.length} characters: ${text.slice(0, SHOWN)}…`] : []),
];

/** An input for which something did not hold. */
export class Finding extends Error {}

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

const refusal = (error: unknown): Reading => {
  if (!(error instanceof CloudfenceError) || error instanceof Unexpected)
    return { outcome: 'raw error', said: [], wrong: [`throws a raw error: ${stackOf(error)}`] };
  return { outcome: error.name, said: [error.message] };
};

/** Longer than any input takes, even on a busy machine (ms of real time). */
const SLOWEST_MS = 60_000;

/**
 * Reads one input and returns the outcome. @throws Finding if something does not hold that must hold for every input
 */
export const judge = async ({ read }: Reader, damage: Damage): Promise<string> => {
  const began = performance.now();
  const reading = await Promise.resolve(damage).then(read).catch(refusal);
  const took = performance.now() - began;
  const wrong = [
    ...(reading.wrong ?? []),
    ...reading.said.flatMap(wrongWith),
    ...(took > SLOWEST_MS ? [`takes ${Math.round(took)} ms`] : []),
  ];
  if (wrong.length > 0) throw new Finding(wrong.join('\n'));
  return reading.outcome;
};
