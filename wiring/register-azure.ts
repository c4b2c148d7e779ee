import { incarnationsOf, machineOf } from '../providers/azure/carriers.ts';
import { diskOf } from '../providers/azure/disk-of.ts';
import { readHints } from '../providers/azure/events/read-hints.ts';
import { subjectOf } from '../providers/azure/events/subject.ts';
import { machinesNamed } from '../providers/azure/node-names.ts';
import type { RegisteredCloud } from './cloud-kit.ts';
import { readAzurePlace } from './environment.ts';

export const azure: RegisteredCloud = {
  name: 'azure',
  machineOf,
  incarnationsOf,
  diskOf,
  machinesNamed,
  readHints,
  owns: (id) => subjectOf(id) !== null,
  access: async ({ account }) => {
    const { subscription, endpoint } = readAzurePlace();
    const [{ azureAccess }, { lazyCredential }] = await Promise.all([import('./access-azure.ts'), import('../providers/azure/lazy-credential.ts')]);
    return azureAccess({ credential: lazyCredential(), endpoint, subscription: account ?? subscription, now: Date.now });
  },
  open: async ({ account }) => {
    const { subscription, endpoint } = readAzurePlace();
    return (await import('./open-azure.ts')).openAzure({ subscription: account ?? subscription, endpoint });
  },
};
