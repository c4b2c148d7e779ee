import { parseJsonOrText } from '../../../fencing/model/json-text.ts';
import { fence } from '../../../functions/gcp/fence.ts';
import { onEvent } from '../../../functions/gcp/on-event.ts';
import { replay } from '../../../functions/gcp/replay.ts';
import { bodyText } from '../../../functions/messages.ts';
import { readHints } from '../../../providers/gcp/events/read-hints.ts';
import { createGceSandbox, SANDBOX_PROJECT } from '../../../sandbox/gce-sandbox.ts';
import { gceDatabaseOnTwoNodes } from '../../../sandbox/scenes/gce-database.ts';
import { about } from '../../functions/samples.ts';
import { installOver } from '../../functions/gcp/install.ts';
import { bytesOf, decoded } from '../damage.ts';
import type { Reader } from '../judge.ts';
import { eventSamples } from './events.ts';
import { createWatch, type Delivered, guarded, lookAgain, readerOver, renewed, type Stage } from './stage.ts';

/** The functions on Google Cloud. */

const running = createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
const { holder } = gceDatabaseOnTwoNodes(running);
const place = { account: SANDBOX_PROJECT.project, region: null };

/** Every caller is accepted. The check of tokens has its own tests. */
const keys = { url: 'http://127.0.0.1:9', token: () => '', close: async () => undefined, asked: () => 0 };

const open = () => {
  const world = running.fork();
  const watch = createWatch(world);
  const { lines, published, dependencies, limit } = installOver(world, keys);
  const stage: Stage = {
    world,
    done: watch.done,
    take: () => {
      const messages = published.splice(0);
      const isDead = ({ topic }: { readonly topic: string }) => topic === 'dead-letters';
      return {
        lines: lines.splice(0),
        dead: messages
          .filter(isDead)
          .map(({ text, attributes }) => ({ body: text, reason: attributes?.['reason'] ?? '' })),
        sent: messages.filter((one) => !isDead(one)).map(({ text }) => text),
      };
    },
  };
  const guardedOnes = {
    ...dependencies,
    letIn: async () => undefined,
    ports: guarded(dependencies.ports, watch.note),
  };
  return { stage, limit, getDependencies: async () => guardedOnes };
};
const opened = renewed(open);
type Opened = ReturnType<typeof open>;

const messages = [
  ...eventSamples('gcp').map((text) => about(text, holder, readHints, place)),
  JSON.stringify(lookAgain(holder)),
  JSON.stringify({ instance: holder }),
];

const push = (data: string) => ({
  message: { data, messageId: 'm-1', publishTime: '2026-01-01T00:00:00Z', attributes: { notBefore: '1' } },
  subscription: 'projects/sandbox-project/subscriptions/cloudfence-prod-events',
});

const ofData = async (text: string, { getDependencies, limit }: Opened): Promise<Delivered> => {
  const request = { headers: {}, body: push(bytesOf(text).toString('base64')) };
  const { status, body } = await onEvent(getDependencies)(request, limit());
  return { body: bodyText(bytesOf(text)), answer: body, again: status >= 400 };
};

/** The platform parses a body that declares itself as JSON, and passes bytes otherwise. */
const ofBody = async (text: string, turn: number, { getDependencies, limit }: Opened): Promise<Delivered> => {
  const sent = turn % 3 === 0 ? bytesOf(text) : parseJsonOrText(decoded(text));
  const { status, body } = await onEvent(getDependencies)({ headers: {}, body: sent }, limit());
  return { body: null, answer: body, again: status >= 400 };
};

const requests = [
  { instance: holder },
  { instance: holder, dryRun: true },
  { instance: holder, assertOff: true, reason: 'it is off' },
].map((one) => JSON.stringify(one));

const ofPerson = async (text: string, turn: number, { getDependencies, limit }: Opened): Promise<Delivered> => {
  const work = turn % 2 === 0 ? fence(getDependencies) : replay(getDependencies);
  const { body } = await work({ headers: {}, body: parseJsonOrText(decoded(text)) }, limit());
  return { body: null, answer: body, again: false };
};

const reader = readerOver(opened);

export const gcpFunctionReaders: readonly Reader[] = [
  reader('message of Pub/Sub', 250, messages, (text, _, stage) => ofData(text, stage)),
  reader(
    'push of Pub/Sub',
    250,
    messages.map((text) => JSON.stringify(push(Buffer.from(text).toString('base64')))),
    ofBody,
  ),
  reader('request to Cloud Run', 250, requests, ofPerson),
];
