import { readFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { checkSchema, describeFailedChecks } from '../../providers/check.ts';
import { cloudNames } from '../../config/clouds.ts';

/** Names and values as they were written, before any check. */
export type RawParameters = Readonly<Record<string, unknown>>;

const file = z.record(z.string(), z.unknown()).nullable();
const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Returns the content of a YAML file, or nothing if there is no such file. */
export const parametersFromFile = (serviceDir: string, name: string): RawParameters => {
  try {
    return file.parse(parse(readFileSync(path.join(serviceDir, name), 'utf8'))) ?? {};
  } catch (error) {
    if (isMissing(error)) return {};
    throw error;
  }
};

/** Reads `--param='name=value'`. The value is YAML, so numbers, switches, and JSON keep their types. */
export const parametersFromCommandLine = (params: readonly string[]): RawParameters =>
  Object.fromEntries(
    params.map((param): [string, unknown] => {
      const at = param.indexOf('=');
      return [param.slice(0, at), parse(param.slice(at + 1))];
    }),
  );

/** What the plugin for clouds other than AWS requires of each of them. */

interface Deployment {
  readonly service: string;
  readonly stage: string;
  /** The defaults, the stage's file, and the command line, merged. */
  readonly written: RawParameters;
}

export interface PackagedFunction {
  readonly name: string;
  readonly zip: Buffer;
}

/** Reports what a command does while it runs. */
export type ReportProgress = (line: string) => void;

/** All calls can throw the errors of fencing/model/errors.ts. */
export interface Deployer {
  /** Creates everything that is missing and changes what differs. It leaves the rest as it is. */
  readonly deploy: (functions: readonly PackagedFunction[], say: ReportProgress) => Promise<void>;
  /** Reports what `deploy` would change, and changes nothing. Absent if the cloud does not know. */
  readonly preview?: (say: ReportProgress) => Promise<void>;
  /** Removes everything that `deploy` makes, and ignores what is already gone. */
  readonly remove: (say: ReportProgress) => Promise<void>;
  /** Describes what is deployed, line by line. */
  readonly info: () => Promise<readonly string[]>;
  /** Returns the function's answer, or undefined if there is no such function. */
  readonly invoke: (name: string, payload: unknown) => Promise<unknown>;
  /** Returns the function's latest log lines, oldest first. */
  readonly logs: (name: string) => Promise<readonly string[]>;
}

export interface PreparedDeployment {
  /** All faults of the parameters. With any fault, nothing is packaged or deployed. */
  readonly faults: readonly string[];
  /** Returns the environment of a function. */
  readonly environmentOf: (name: string) => Readonly<Record<string, string>>;
  readonly open: () => Deployer;
}

/** The file of a release with which people install a cloud without a checkout. */
interface ReleasedDocument {
  readonly file: string;
  readonly content: unknown;
}

export interface DeployableCloud {
  /** Checks the parameters, apart from the configuration of the functions. */
  readonly parameters: z.ZodType;
  /** The file with the defaults of all parameters, relative to the service's folder. */
  readonly defaults: string;
  /** The package.json in a function's zip, which the platform reads. */
  readonly manifest: object;
  /** Other files in the zip that the platform reads: texts by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Returns the document of a release. `defaults` are the defaults of all parameters. */
  readonly released: (defaults: RawParameters) => Promise<ReleasedDocument>;
  /** Pure: it uses no network and no credentials. */
  readonly prepare: (deployment: Deployment) => PreparedDeployment;
  /** Calls the handler of a bundle in this process, as the platform would. */
  readonly invokeLocally: (handler: unknown, payload: unknown) => Promise<unknown>;
}

/**
 * Waits between two looks at a deployment (ms). An emulator on this machine does not take minutes, so the wait is short
 * there.
 */
export const createPollDelay = (endpoint: string | null) => (ms: number) => delay(endpoint === null ? ms : 5);

const failedDiagnosis = z.object({
  verdict: z.literal('fail'),
  checks: z.array(checkSchema),
});

/**
 * Returns what a function answered with a status of failure, for people: the checks of the doctor that are not ok, one
 * per line, and any other answer as JSON.
 */
export const describeFunctionFailure = (body: unknown): string => {
  const diagnosis = failedDiagnosis.safeParse(body).data;
  return diagnosis ? describeFailedChecks(diagnosis.checks) : JSON.stringify(body);
};

const deployable = z.object({
  deployable: z.custom<DeployableCloud>((value) => typeof value === 'object' && value !== null),
});

/** The clouds that `serverless` does not support itself: those with a file `infra/<cloud>/cloud.ts`. */
export const deployableNames: readonly string[] = cloudNames.filter((name) =>
  existsSync(new URL(`../${name}/cloud.ts`, import.meta.url)),
);

/** Loads the cloud that a service's file names as its provider. Returns null if it is not one of them. */
export const loadDeployable = async (name: string): Promise<DeployableCloud | null> =>
  deployableNames.includes(name) ? deployable.parse(await import(`../${name}/cloud.ts`)).deployable : null;
