import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { quoteBeginning } from '../fencing/model/foreign-text.ts';
import type { Moment } from '../fencing/rules/view.ts';

/**
 * Everything that the process reads from outside: its environment, its clock, and new ids. Only this file reads the
 * environment. The SDKs themselves read their own variables (`AWS_ENDPOINT_URL_EC2` …). The variables of a cloud's
 * functions are listed with those functions, in functions/<cloud>/dependencies.ts.
 */

export interface Environment {
  /** Path of the configuration file. */
  readonly config: string | null;
  readonly kubeconfig: string | null;
  readonly region: string | null;
  readonly home: string | null;
}

/** Reads one variable. Returns null if it is unset or empty. */
export const readVariable = (name: string): string | null => {
  const value = process.env[name];
  return value === undefined || value === '' ? null : value;
};

/** Returns whether a variable is set, even to an empty text. */
export const isSet = (name: string): boolean => process.env[name] !== undefined;

/** Reads a variable whose entries are separated by commas. */
export const readList = (name: string): readonly string[] =>
  (readVariable(name) ?? '').split(',').filter((one) => one !== '');

export const readEnvironment = (): Environment => ({
  config: readVariable('CLOUDFENCE_CONFIG'),
  kubeconfig: readVariable('KUBECONFIG'),
  region: readVariable('AWS_REGION') ?? readVariable('AWS_DEFAULT_REGION'),
  home: readVariable('HOME'),
});

const TIME_LIMIT = 'CLOUDFENCE_TIMEOUT_SECONDS';
/** No platform allows an invocation to run for longer than a day (s). */
const LONGEST_S = 86_400;

/**
 * Returns the platform's time limit for an invocation (ms). On Lambda, the platform reports it.
 * @throws InvalidConfiguration if the variable is not a number of seconds
 */
export const readTimeLimit = (): number => {
  const text = readVariable(TIME_LIMIT) ?? '60';
  const seconds = /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= LONGEST_S) return seconds * 1_000;
  throw new InvalidConfiguration([
    `the environment variable ${TIME_LIMIT} is ${quoteBeginning(text)}, which is not a number of ` +
      `seconds from 1 to ${LONGEST_S}: set it to the time limit of the function, or deploy the function again`,
  ]);
};

/** Sets the variables of a deployed function in this process, for a function that runs here instead of in the cloud. */
export const setFunctionEnvironment = (variables: Readonly<Record<string, string>>): void =>
  void Object.assign(process.env, variables);

interface SystemClock {
  readonly now: () => Moment;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly timeout: (ms: number) => AbortSignal;
}

/** The longest time that a timer supports: 24 days. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Combines the machine's two clocks into one that never runs slow. If a function is frozen together with its machine,
 * the monotonic clock may stop. In that case, only the wall clock shows that a proof has expired.
 */
export const systemClock = (
  wallClock: () => number = Date.now,
  monotonic: () => number = () => performance.now(),
): SystemClock => {
  let last = { wall: wallClock(), mono: monotonic() };
  let elapsed = 0;
  return {
    now: () => {
      const read = { wall: wallClock(), mono: monotonic() };
      elapsed += Math.max(0, read.wall - last.wall, read.mono - last.mono);
      last = read;
      return { wall: read.wall, mono: elapsed };
    },
    sleep: (ms, signal) => delay(ms, undefined, { signal }),
    timeout: (ms) => AbortSignal.timeout(Math.min(LONGEST_TIMEOUT_MS, Math.ceil(ms))),
  };
};

/** Returns a unique id for a run, and for the fences that it begins. */
export const newRunId = (): string => randomUUID();
