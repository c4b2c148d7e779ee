import { IDENTITY_API } from './access.ts';
import { known } from './arm-template.ts';
import type { Install } from './install.ts';
import { DEAD_LETTERS, EVENTS, type App, type AppName } from './names.ts';
import { WHOLE_SUBSCRIPTION, type AzureParameters } from './parameter-schema.ts';

export const INSIGHTS_API = '2020-02-02';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Six fields, of which the first are seconds. https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer */
const cron = (every: number): string => (every === 60 * MINUTE ? '0 0 * * * *' : `0 */${every / MINUTE} * * * *`);

const forEach = ({ names, parameters }: Install): Readonly<Record<string, string>> => ({
  // One arena for all threads of Node's: 5 MB less of memory, and no slower.
  MALLOC_ARENA_MAX: '1',
  AZURE_SUBSCRIPTION_ID: parameters.subscription,
  CLOUDFENCE_BUS__fullyQualifiedNamespace: `${names.bus}.servicebus.windows.net`,
  CLOUDFENCE_EVENTS_QUEUE: EVENTS,
  CLOUDFENCE_TIMEOUT_SECONDS: String(parameters.timeout / SECOND),
});

const served = ({ resourceGroups }: AzureParameters): Readonly<Record<string, string>> => (resourceGroups === WHOLE_SUBSCRIPTION ? {} : { CLOUDFENCE_RESOURCE_GROUPS: resourceGroups.join(',') });

/** What the functions of an app read themselves: no secret is in it. The door puts what comes into the queue, and knows no cluster. */
export const ownSettings = (install: Install, name: AppName): Readonly<Record<string, string>> => {
  const { parameters, settings } = install;
  if (name === 'door') return { ...forEach(install), CLOUDFENCE_SETTINGS: '{}' };
  return { ...forEach(install), CLOUDFENCE_SETTINGS: settings, ...served(parameters), CLOUDFENCE_DEAD_LETTERS_QUEUE: DEAD_LETTERS, CLOUDFENCE_SWEEP: cron(parameters.sweepEvery) };
};

/** Where the platform finds storage, queue and logs, each by the app's identity. */
const platformSettings = ({ names }: Install, { identityId, storage }: App): Readonly<Record<string, string>> => {
  const clientId = known(identityId, IDENTITY_API, 'clientId');
  return {
    AZURE_CLIENT_ID: clientId,
    AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
    AzureWebJobsStorage__accountName: storage,
    AzureWebJobsStorage__credential: 'managedidentity',
    AzureWebJobsStorage__clientId: clientId,
    CLOUDFENCE_BUS__credential: 'managedidentity',
    CLOUDFENCE_BUS__clientId: clientId,
    APPLICATIONINSIGHTS_CONNECTION_STRING: known(names.insightsId, INSIGHTS_API, 'ConnectionString'),
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: `[concat('ClientId=', ${clientId.slice(1, -1)}, ';Authorization=AAD')]`,
  };
};

export const settingsOf = (install: Install, app: App): readonly { readonly name: string; readonly value: string }[] =>
  Object.entries({ ...ownSettings(install, app.name), ...platformSettings(install, app) }).map(([name, value]) => ({ name, value: literal(value) }));

/** Text that begins with a bracket would be read as an expression: https://learn.microsoft.com/azure/azure-resource-manager/templates/template-expressions */
const literal = (value: string): string => (value.startsWith('[') && !value.startsWith('[reference(') && !value.startsWith('[concat(') ? `[${value}` : value);
