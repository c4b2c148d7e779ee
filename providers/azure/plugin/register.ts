import { diskOf, immutableIdsOf, machineOf, machinesNamed } from '../identity.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import { subjectOf } from '../events/kinds.ts';
import {
  readUrl,
  type ReadVariable,
  type CloudPlugin,
  type OpenIncidentPlace,
  type OpenTestChain,
  type TestChain,
} from '../../plugin.ts';

/** Returns where to send calls. Azure's SDK has no variable for the subscription or the endpoint. */
export const readAzureVariables = (
  variable: ReadVariable,
): { readonly subscription: string | null; readonly endpoint: string | null } => ({
  subscription: variable('AZURE_SUBSCRIPTION_ID'),
  endpoint: readUrl(variable, 'CLOUDFENCE_AZURE_ENDPOINT'),
});

/** The query is not accepted, because a signature in it is a secret. */
const CONTAINER = /^https?:\/\/[^/?#@\s]+(?:\/[^/?#\s]+)+?\/?$/;

const openContainer =
  (container: string): OpenIncidentPlace =>
  async () => {
    const [{ lazyCredential }, { openObjectStore }] = await Promise.all([
      import('../rest.ts'),
      import('../incidents.ts'),
    ]);
    const options = { credential: lazyCredential() };
    return { where: `the container ${container}`, objects: openObjectStore(container, options) };
  };

/** A queue of a Service Bus namespace. */
const QUEUE = /^(https?:\/\/[^/?#@\s]+)\/([a-z0-9][a-z0-9-]{0,48})$/i;

const chainBehind =
  (host: string, queue: string): OpenTestChain =>
  async () => {
    const { createSender, lazyCredential } = await import('../rest.ts');
    const send = createSender({ host, credential: lazyCredential() });
    return testChainOf((text) => send(queue, { text, notBefore: null, properties: {} }));
  };

export const azure: CloudPlugin = {
  name: 'azure',
  machineOf,
  immutableIdsOf,
  diskOf,
  machinesNamed,
  readHints,
  driverFaultOf,
  ownsId: (id) => subjectOf(id) !== null,
  incidents: {
    form: 'https://<account>.blob.core.windows.net/incidents',
    at: (address) => (CONTAINER.test(address) ? openContainer(address.replace(/\/$/, '')) : null),
  },
  testChains: {
    form: 'https://<namespace>.servicebus.windows.net/events',
    at: (entrance) => {
      const [, host, queue] = QUEUE.exec(entrance) ?? [];
      return host === undefined || queue === undefined ? null : chainBehind(host, queue);
    },
  },
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
  open: async ({ account, variable, onRequestsSent }) => {
    const { subscription, endpoint } = readAzureVariables(variable);
    return (await import('./open.ts')).openAzure({ subscription: account ?? subscription, endpoint, onRequestsSent });
  },
  stageWriter: async () => (await import('./stage.ts')).stage,
};

/** The chain for test events on Azure, which begins in the queue behind Event Grid. */

/**
 * Returns the chain behind a queue. Only Azure can put events on a system topic, so a test event begins in the queue to
 * which Event Grid delivers.
 */
export const testChainOf = (send: (text: string) => Promise<void>): TestChain => ({
  path: 'queue events → on-event',
  notTried: 'the delivery from Event Grid to the queue, because only Azure can send events of a system topic',
  remedy:
    'look at the log of on-event, whether the event is in the queue dead-letters, and whether the app runs; ' +
    '`serverless deploy` restores all of them',
  next: 'npx serverless logs -c serverless.azure.yml --stage <stage> -f on-event',
  send: (event) => send(JSON.stringify(event)),
});
