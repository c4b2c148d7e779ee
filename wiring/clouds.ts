import type { Cloud } from '../fencing/cloud.ts';
import { InvalidConfiguration } from '../fencing/errors.ts';
import type { Reading } from '../fencing/hint.ts';
import type { CloudAccess } from './open-clusters.ts';

/** What is needed of a cloud beside fencing's own interface. */
export interface CloudKit {
  readonly cloud: Cloud;
  /** Any event of this cloud, however it is wrapped. */
  readonly readHints: (raw: unknown) => Reading;
  /** Makes a harmless call of each read that a fence needs, and says which answered. @throws Denied, Unavailable */
  readonly probe: (signal: AbortSignal) => Promise<string>;
  /** Ways into clusters that this cloud manages, or keeps the credentials of. */
  readonly access: CloudAccess;
}

export interface CloudOptions {
  readonly region: string | null;
}

type OpenCloud = (options: CloudOptions) => Promise<CloudKit>;

/** Each cloud is loaded only when it is asked for. Adding one is a line here and a folder under `providers/`. */
const clouds: Readonly<Record<string, OpenCloud>> = {
  aws: async (options) => (await import('./open-aws.ts')).openAws(options),
};

export const openCloud = async (name: string, options: CloudOptions): Promise<CloudKit> => {
  const open = clouds[name];
  if (!open) throw new InvalidConfiguration([`there is no cloud named "${name}"; there is ${Object.keys(clouds).join(', ')}`]);
  return open(options);
};
