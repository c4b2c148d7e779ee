import type { Cloud } from '../fencing/cloud.ts';
import type { Reading } from '../fencing/hint.ts';
import type { TokenAccess } from '../kubernetes/token-access.ts';
import type { Configuration } from './schema.ts';

/** What only a cloud knows of a way into a cluster. All throw `Denied` or `Unavailable`. */
export interface CloudAccess {
  /** A cluster that the cloud manages. */
  readonly managedCluster: (cluster: { readonly name: string; readonly region: string | null }, signal: AbortSignal) => Promise<TokenAccess>;
  /** The texts of a secret and of a parameter. */
  readonly secret: (name: string, signal: AbortSignal) => Promise<string>;
  readonly parameter: (name: string, signal: AbortSignal) => Promise<string>;
}

/** A place of the cloud that has to answer, such as a region of an account, and how to try it. */
export interface CloudProbe {
  readonly where: string;
  /** Makes a harmless call of each verb that a fence needs, and says what came of it. @throws Denied, Unavailable */
  readonly ask: (signal: AbortSignal) => Promise<string>;
}

/** What is needed of a cloud beside fencing's own interface. */
export interface CloudKit {
  readonly cloud: Cloud;
  /** Any event of this cloud, however it is wrapped. */
  readonly readHints: (raw: unknown) => Reading;
  /** One for each place whose machines are served. */
  readonly probes: readonly CloudProbe[];
  /** Ways into clusters that this cloud manages, or keeps the credentials of. */
  readonly access: CloudAccess;
}

export interface CloudOptions {
  readonly region: string | null;
  /** The account that the credentials are of; null where nobody has told it. */
  readonly account: string | null;
  readonly territories: Configuration['territories'];
}
