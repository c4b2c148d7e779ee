import { parseJsonOrText } from '../../../fencing/model/json-text.ts';
import { fence, replay } from '../../../functions/azure/handlers.ts';
import type { GetDependencies } from '../../../functions/azure/dependencies.ts';
import { onEvent } from '../../../functions/azure/on-event.ts';
import { webhook } from '../../../functions/azure/webhook.ts';
import { readHints } from '../../../providers/azure/events/read-hints.ts';
import { createAzureSandbox, SANDBOX_SUBSCRIPTION } from '../../../sandbox/azure-sandbox.ts';
import { azureDatabaseOnTwoNodes } from '../../../sandbox/scenes/azure-database.ts';
import { azureInstall, cloudEvent, gridEvent, post } from '../../functions/azure-install.ts';
import { about } from '../../functions/samples.ts';
import { bytesOf, decoded } from '../damage.ts';
import type { Reader } from '../judge.ts';
import { eventSamples } from './events.ts';
import { createWatch, type Delivered, guarded, lookAgain, readerOver, renewed, type Stage } from './stage.ts';

/** The functions on Azure. */

const running = createAzureSandbox({ seed: 1, now: Date.UTC(2026, 10, 21) });
const { holder, spare } = azureDatabaseOnTwoNodes(running);
const place = { account: SANDBOX_SUBSCRIPTION, region: null };

const open = () => {
  const world = running.fork();
  const watch = createWatch(world);
  const { lines, queues, getDependencies, context } = azureInstall(world);
  const taken = (queue: string) => (queues[queue] ?? []).splice(0);
  const stage: Stage = {
    world,
    done: watch.done,
    take: () => ({
      lines: lines.splice(0),
      dead: taken('dead-letters').map(({ text, properties }) => ({
        body: text,
        reason: properties['reason'] ?? '',
      })),
      sent: taken('events').map(({ text }) => text),
    }),
  };
  const guardedOnes: GetDependencies = async () => {
    const dependencies = await getDependencies();
    return { ...dependencies, ports: guarded(dependencies.ports, watch.note) };
  };
  return { stage, context, getDependencies: guardedOnes };
};
const opened = renewed(open);
type Opened = ReturnType<typeof open>;

const messages = [
  ...eventSamples('azure').map((text) => about(text, holder, readHints, place)),
  ...[
    lookAgain(holder),
    { cloudfence: 'retry', failures: 2, body: JSON.stringify(gridEvent(holder)) },
    gridEvent(holder.replace(/\/virtualmachines\/[^/]+$/, '')),
    { resourceId: holder },
  ].map((one) => JSON.stringify(one)),
];

/** The platform passes a text, the parsed value, or bytes. */
const forms = [decoded, (text: string): unknown => parseJsonOrText(decoded(text)), bytesOf] as const;

const ofQueue = async (text: string, turn: number, { getDependencies, context }: Opened): Promise<Delivered> => {
  const form = forms[turn % forms.length] ?? decoded;
  await onEvent(getDependencies)([form(text), cloudEvent(spare)], context);
  return { body: null, answer: undefined, again: false, beside: spare };
};

const headers = [
  { 'content-type': 'application/json' },
  { 'aeg-event-type': 'Notification' },
  {
    'ce-specversion': '1.0',
    'ce-type': 'x',
    'ce-id': '1',
    'ce-source': '/subscriptions/x',
    'content-type': 'application/json',
  },
  { 'Webhook-Request-Origin': 'eventgrid.azure.net', 'webhook-request-rate': '-1' },
] as const;

const ofWeb = async (text: string, turn: number, { getDependencies, context }: Opened): Promise<Delivered> => {
  const method = turn % 17 === 0 ? 'OPTIONS' : 'POST';
  const request = post(decoded(text), { method, headers: headers[turn % headers.length] ?? {} });
  const { status, body } = await webhook(getDependencies)(request, context);
  // Event Grid does not send an event again if it is too large for the function.
  const again = status >= 400 && status !== 413;
  return { body: method === 'POST' ? text : null, answer: body === '' ? undefined : body, again };
};

const requests = [
  { resourceId: holder },
  { resourceId: holder, dryRun: true },
  { resourceId: holder, assertOff: true, reason: 'it is off' },
  gridEvent(holder),
].map((one) => JSON.stringify(one));

const ofPerson = async (text: string, turn: number, { getDependencies, context }: Opened): Promise<Delivered> => {
  const work = turn % 2 === 0 ? fence(getDependencies) : replay(getDependencies);
  const { body } = await work(post(decoded(text)), context);
  return { body: null, answer: body, again: false };
};

const reader = readerOver(opened);

export const azureFunctionReaders: readonly Reader[] = [
  reader('message of Service Bus', 250, messages, ofQueue),
  reader('post to the webhook', 500, messages, ofWeb),
  reader('request to Azure Functions', 250, requests, ofPerson),
];
