import type { Written } from './written.ts';

/** What the plugin for clouds beside AWS asks of each of them. */

export interface Deployment {
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
export interface ReleasedDocument {
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
