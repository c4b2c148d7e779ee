import { parseJsonOrText } from '../../../fencing/model/json-text.ts';
import { fence } from '../../../functions/aws/fence.ts';
import { onEvent } from '../../../functions/aws/on-event.ts';
import { replay } from '../../../functions/aws/replay.ts';
import { readHints } from '../../../providers/aws/events/read-hints.ts';
import { createAwsSandbox, SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../../sandbox/aws-sandbox.ts';
import { databaseOnTwoNodes } from '../../../sandbox/scenes/ec2-database.ts';
import { batchOf, installOver, stateChange } from '../../functions/install.ts';
import { about } from '../../functions/samples.ts';
import { decoded } from '../damage.ts';
import type { Reader } from '../judge.ts';
import { eventSamples } from './events.ts';
import { createWatch, type Delivered, guarded, lookAgain, readerOver, renewed, type Stage } from './stage.ts';

/** The functions on AWS. */

const running = createAwsSandbox({ seed: 8, now: Date.UTC(2026, 0, 1) });
const { holder, spare } = databaseOnTwoNodes(running);
const place = { account: SANDBOX_ACCOUNT, region: SANDBOX_REGION };

const open = () => {
  const world = running.fork();
  const watch = createWatch(world);
  const { lines, dead, sentAgain, dependencies, context } = installOver(world);
  const stage: Stage = {
    world,
    done: watch.done,
    take: () => ({
      lines: lines.splice(0),
      dead: dead.splice(0),
      sent: sentAgain.splice(0).map(({ message }) => JSON.stringify(message)),
    }),
  };
  const guardedOnes = { ...dependencies, ports: guarded(dependencies.ports, watch.note) };
  return { stage, context, getDependencies: async () => guardedOnes };
};
const opened = renewed(open);
type Opened = ReturnType<typeof open>;

const messages = [
  ...eventSamples('aws').map((text) => about(text, holder, readHints, place)),
  JSON.stringify(lookAgain(holder)),
  JSON.stringify({ instanceId: holder }),
];

const isFailure = (answer: object): boolean =>
  'batchItemFailures' in answer && Array.isArray(answer.batchItemFailures) && answer.batchItemFailures.length > 0;

const ofBatch = async (body: string, { getDependencies, context }: Opened): Promise<Delivered> => {
  const batch = batchOf(body, stateChange(spare));
  const answer = await onEvent(getDependencies)(batch, context());
  return { body, answer: undefined, again: isFailure(answer), beside: spare };
};

const ofEvent = async (event: unknown, { getDependencies, context }: Opened): Promise<Delivered> => {
  const answer = await onEvent(getDependencies)(event, context());
  return { body: null, answer, again: isFailure(answer) };
};

const requests = [
  { instanceId: holder },
  { instanceId: holder, dryRun: true },
  { target: 'pod/default/db-0' },
  { target: 'pvc/default/data-db-0', dryRun: true },
  { instanceId: holder, assertOff: true, reason: 'it is off' },
  { replay: { from: '2026-01-01T00:00:00Z', to: '2026-01-01T01:00:00Z' } },
  stateChange(holder),
].map((one) => JSON.stringify(one));

const ofPerson = async (event: unknown, turn: number, { getDependencies, context }: Opened): Promise<Delivered> => {
  const work =
    turn % 2 === 0 ? fence(getDependencies) : replay(getDependencies, async () => ({ replay: 'r', state: 'STARTING' }));
  return { body: null, answer: await work(event, context()), again: false };
};

const reader = readerOver(opened);

export const awsFunctionReaders: readonly Reader[] = [
  reader('message of SQS', 250, messages, (text, _, stage) => ofBatch(decoded(text), stage)),
  reader(
    'event of Lambda',
    250,
    messages.map((text) => JSON.stringify(batchOf(text, stateChange(spare)))),
    (text, _, stage) => ofEvent(parseJsonOrText(decoded(text)), stage),
  ),
  reader('request to Lambda', 250, requests, (text, turn, stage) =>
    ofPerson(parseJsonOrText(decoded(text)), turn, stage),
  ),
];
