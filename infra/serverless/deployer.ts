import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { z } from 'zod';

/** Names and values as they were written, before anybody has looked at them. */
export type Written = Readonly<Record<string, unknown>>;

const file = z.record(z.string(), z.unknown()).nullable();
const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** What a YAML file says; nothing when there is no such file. */
export const fromFile = (serviceDir: string, name: string): Written => {
  try {
    return file.parse(parse(readFileSync(path.join(serviceDir, name), 'utf8'))) ?? {};
  } catch (error) {
    if (isMissing(error)) return {};
    throw error;
  }
};

/** `--param='name=value'`: the value as YAML, so numbers, switches and JSON are what they look like. */
export const fromCommandLine = (params: readonly string[]): Written =>
  Object.fromEntries(
    params.map((param): [string, unknown] => {
      const at = param.indexOf('=');
      return [param.slice(0, at), parse(param.slice(at + 1))];
    }),
  );

/** What the plugin for clouds beside AWS asks of each of them. */

interface Deployment {
  readonly service: string;
  readonly stage: string;
  /** Defaults, the stage's file and the command line as one. */
  readonly written: Written;
}

export interface PackagedFunction {
  readonly name: string;
  readonly zip: Buffer;
}

/** How a command tells what it does, as it does it. */
export type Say = (line: string) => void;

/** All calls may throw what fencing/model/errors.ts has. */
export interface Deployer {
  /** Makes everything that is missing and changes what differs; what is as it should be is left alone. */
  readonly deploy: (functions: readonly PackagedFunction[], say: Say) => Promise<void>;
  /** Says what `deploy` would change, and changes nothing; left out where the cloud cannot say. */
  readonly preview?: (say: Say) => Promise<void>;
  /** Takes away everything that `deploy` makes; what is gone already is none of its business. */
  readonly remove: (say: Say) => Promise<void>;
  /** What is deployed, line by line. */
  readonly info: () => Promise<readonly string[]>;
  /** What the function answers; undefined when there is no such function. */
  readonly invoke: (name: string, payload: unknown) => Promise<unknown>;
  /** Its latest log lines, the oldest first. */
  readonly logs: (name: string) => Promise<readonly string[]>;
}

export interface Prepared {
  /** All that is wrong with the parameters; with any, nothing is packaged or deployed. */
  readonly faults: readonly string[];
  /** What each function is started with. */
  readonly environmentOf: (name: string) => Readonly<Record<string, string>>;
  readonly open: () => Deployer;
}

/** What a release says of a cloud, for those who install it without a checkout. */
interface ReleasedDocument {
  readonly file: string;
  readonly content: unknown;
}

export interface DeployableCloud {
  /** Where the defaults of all parameters stand, from the service's folder. */
  readonly defaults: string;
  /** package.json of a function's zip, which the platform reads. */
  readonly manifest: object;
  /** What else the platform reads in it: texts by their names. */
  readonly files?: Readonly<Record<string, string>>;
  /** `defaults` are those of all parameters. */
  readonly released: (defaults: Written) => Promise<ReleasedDocument>;
  /** Pure: no network, no credentials. */
  readonly prepare: (deployment: Deployment) => Prepared;
  /** Calls the handler of a bundle in this process, as the platform would. */
  readonly invokeLocally: (handler: unknown, payload: unknown) => Promise<unknown>;
}

/** How long (ms) to wait between two looks at a deployment. A stand-in on this machine does not take minutes. */
export const patienceAt = (endpoint: string | null) => (ms: number) => delay(endpoint === null ? ms : 5);
