import { randomUUID } from 'node:crypto';
import { InvalidConfiguration } from '../fencing/errors.ts';
import type { CloudKit, CloudOptions } from './cloud-kit.ts';
import { readAzurePlace, readGcpEndpoint } from './environment.ts';

type OpenCloud = (options: CloudOptions) => Promise<CloudKit>;

/** Each cloud is loaded only when it is asked for. Adding one is a line here and a folder under `providers/`. */
const clouds: Readonly<Record<string, OpenCloud>> = {
  aws: async (options) => (await import('./open-aws.ts')).openAws(options),
  azure: async ({ account }) => {
    const { subscription, endpoint } = readAzurePlace();
    return (await import('./open-azure.ts')).openAzure({ subscription: account ?? subscription, endpoint });
  },
  gcp: async () => (await import('./open-gcp.ts')).openGcp({ endpoint: readGcpEndpoint(), newRequestId: randomUUID }),
};

export const openCloud = async (name: string, options: CloudOptions): Promise<CloudKit> => {
  const open = clouds[name];
  if (!open) throw new InvalidConfiguration([`there is no cloud named "${name}"; there is ${Object.keys(clouds).join(', ')}`]);
  return open(options);
};
