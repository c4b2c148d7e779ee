import { diskOf, immutableIdsOf, machineOf, machinesNamed } from '../identity.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import { subjectOf } from '../events/kinds.ts';
import { readUrl, type ReadVariable, type CloudPlugin } from '../../plugin.ts';

/** Returns where to send calls. Azure's SDK has no variable of its own for the subscription or the endpoint. */
export const readAzureVariables = (
  variable: ReadVariable,
): { readonly subscription: string | null; readonly endpoint: string | null } => ({
  subscription: variable('AZURE_SUBSCRIPTION_ID'),
  endpoint: readUrl(variable, 'CLOUDFENCE_AZURE_ENDPOINT'),
});

export const azure: CloudPlugin = {
  name: 'azure',
  machineOf,
  immutableIdsOf,
  diskOf,
  machinesNamed,
  readHints,
  driverFaultOf,
  ownsId: (id) => subjectOf(id) !== null,
  access: async ({ account, variable }) => {
    const { subscription, endpoint } = readAzureVariables(variable);
    const [{ azureAccess }, { lazyCredential }] = await Promise.all([import('./access.ts'), import('../rest.ts')]);
    return azureAccess({
      credential: lazyCredential(),
      endpoint,
      subscription: account ?? subscription,
      now: Date.now,
    });
  },
  open: async ({ account, variable }) => {
    const { subscription, endpoint } = readAzureVariables(variable);
    return (await import('./open.ts')).openAzure({ subscription: account ?? subscription, endpoint });
  },
};
