import { InvalidConfiguration } from '../fencing/errors.ts';
import type { CloudKit, CloudOptions } from './cloud-kit.ts';

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
