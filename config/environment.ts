import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { shorten } from '../fencing/model/reason.ts';

/**
 * Only this file reads the environment. The SDKs read their own variables (`AWS_ENDPOINT_URL_EC2` …) themselves. The
 * variables of a cloud's functions are listed with those functions, in functions/<cloud>/dependencies.ts.
 */

export interface Environment {
  /** Path of the configuration file. */
  readonly config: string | null;
  readonly kubeconfig: string | null;
  readonly region: string | null;
  readonly home: string | null;
}

/** Reads one variable. Returns null when it is unset or empty. */
export const readVariable = (name: string): string | null => {
  const value = process.env[name];
  return value === undefined || value === '' ? null : value;
};

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
/** No platform lets an invocation run for longer than a day (s). */
const LONGEST_S = 86_400;
const LONGEST_SHOWN = 100;

/**
 * Returns how long the platform lets an invocation run (ms). On Lambda, the platform itself says so.
 * @throws InvalidConfiguration when the variable is not a number of seconds
 */
export const readTimeLimit = (): number => {
  const text = readVariable(TIME_LIMIT) ?? '60';
  const seconds = /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= LONGEST_S) return seconds * 1_000;
  throw new InvalidConfiguration([
    `the environment variable ${TIME_LIMIT} is "${shorten(text, LONGEST_SHOWN)}", which is not a number of seconds from 1 to ${LONGEST_S}: set it to the time limit of the function, or deploy the function again`,
  ]);
};

/**
 * Sets the variables of a deployed function in this process, for a function that is called here instead of in the
 * cloud.
 */
export const setFunctionEnvironment = (variables: Readonly<Record<string, string>>): void =>
  void Object.assign(process.env, variables);
