import { parseJsonOrNull } from '../../../fencing/model/json-text.ts';
import { onEvent } from '../../../functions/aws/on-event.ts';
import { sweep } from '../../../functions/sweep.ts';
import type { FunctionDependencies } from '../../../functions/dependencies.ts';
import { type AwsWorld, createAwsSandbox } from '../../../sandbox/aws-sandbox.ts';
import type { Faults } from '../../../sandbox/cluster/api/server.ts';
import type { ApiRequest, ApiResponse } from '../../../sandbox/cluster/api/wire.ts';
import { databaseOnTwoNodes } from '../../../sandbox/scenes/ec2-database.ts';
import { batchOf, installOver, stateChange } from '../../functions/install.ts';
import { startMachine, stopMachine } from '../../simulation/incidents.ts';
import { clusterOver } from '../../simulation/ports.ts';
import { diedAfterMark } from '../../simulation/walk.ts';
import { type Damage, damaged, decoded } from '../damage.ts';
import type { Reader, Reading } from '../judge.ts';
import { violationsIn } from './violations.ts';
import { createWatch, deliverTo, guarded, renewed, type Stage } from './stage.ts';

/** Answers of the API server, read by the client, in whole runs of the loop and of the sweep. */

interface Trouble {
  damage: Damage | null;
  requests: number;
}

/** How an answer is damaged apart from its body. */
type Form = (answer: ApiResponse, trouble: Trouble) => ApiResponse;

const withHeader =
  (name: string, value: string): Form =>
  (answer) => ({ ...answer, headers: { ...answer.headers, [name]: value } });

const isList = (body: unknown): body is { readonly metadata?: object } =>
  typeof body === 'object' && body !== null && 'items' in body;

/** A list in which every page promises another one. */
const endless: Form = (answer, { requests }) => {
  const body = parseJsonOrNull(answer.body);
  return isList(body)
    ? { ...answer, body: JSON.stringify({ ...body, metadata: { ...body.metadata, continue: `page-${requests}` } }) }
    : answer;
};

const plain: Form = (answer) => answer;

const forms: readonly Form[] = [
  ...Array.from({ length: 20 }, () => plain),
  ...[200, 201, 204, 301, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503].map((status): Form => (answer) => ({
    ...answer,
    status,
  })),
  (answer) => ({ ...answer, body: '' }),
  (answer) => ({ ...answer, headers: {} }),
  withHeader('content-type', 'text/html'),
  withHeader('content-type', 'application/vnd.kubernetes.protobuf'),
  (answer) => ({ ...answer, status: 429, headers: { ...answer.headers, 'retry-after': '1e9' } }),
  (answer) => ({ ...answer, status: 503, headers: { ...answer.headers, 'retry-after': '-5' } }),
];

/** An endless list costs a thousand requests, so it is rare. */
const ENDLESS = 77;
const isEndless = (turn: number): boolean => turn % 8_000 === ENDLESS;
const formOf = (turn: number): Form => (isEndless(turn) ? endless : (forms[turn % forms.length] ?? plain));

/** Which answers are damaged: those about one kind of object, or the n-th, or all. */
const targets = [
  '/nodes/',
  '/nodes',
  '/pods',
  '/volumeattachments',
  '/persistentvolumes',
  '/leases/',
  '/csinodes',
  '/configmaps/',
];

const isHit = ({ path }: ApiRequest, { turn }: Damage, requests: number): boolean => {
  const kind = Math.floor(turn / 50) % (targets.length + 2);
  const target = targets[kind];
  if (isEndless(turn)) return true;
  if (target !== undefined) return path.split('?', 1)[0]?.includes(target) === true;
  return kind === targets.length || requests === 1 + (Math.floor(turn / 500) % 12);
};

const spoiling = (trouble: Trouble): Faults => ({
  after: (request, answer) => {
    trouble.requests += 1;
    const { damage } = trouble;
    if (!damage || request.method !== 'GET' || !isHit(request, damage, trouble.requests)) return undefined;
    const { turn } = damage;
    const isJson = answer.body !== '' && parseJsonOrNull(answer.body) !== null;
    const body = isJson ? decoded(damaged([answer.body], damage)) : answer.body;
    return formOf(turn)({ ...answer, body }, trouble);
  },
});

/** A thousand pages of a list, with some retries and all other reads. */
const MOST_REQUESTS = 10_000;

const open = (from: AwsWorld, allowed: readonly string[] | null) => {
  const world = from.fork();
  const trouble: Trouble = { damage: null, requests: 0 };
  const watch = createWatch(world);
  const clusters = [clusterOver(world, { api: spoiling(trouble) })];
  const { lines, dead, sentAgain, dependencies, context } = installOver(world, {}, { clusters });
  const ports = allowed ? guarded(dependencies.ports, watch.note, allowed) : dependencies.ports;
  const guardedOnes: FunctionDependencies = { ...dependencies, ports };
  const stage: Stage = {
    world,
    done: () => [
      ...(allowed ? watch.done() : []),
      ...(trouble.requests > MOST_REQUESTS ? [`makes ${trouble.requests} requests`] : []),
    ],
    take: () => ({
      lines: lines.splice(0),
      dead: dead.splice(0),
      sent: sentAgain.splice(0).map(({ message }) => JSON.stringify(message)),
    }),
  };
  return { stage, world, trouble, context, getDependencies: async () => guardedOnes };
};
type Opened = ReturnType<typeof open>;

const deliver = (opened: Opened, machine: string, damage: Damage): Promise<Reading> => {
  Object.assign(opened.trouble, { damage, requests: 0 });
  const { getDependencies, context, stage } = opened;
  return deliverTo(stage, async () => {
    if (damage.turn % 3 === 0)
      return { body: null, answer: await sweep(getDependencies)(null, context()), again: false };
    const answer = await onEvent(getDependencies)(batchOf(stateChange(machine)), context());
    return { body: null, answer, again: false };
  });
};

const healthy = createAwsSandbox({ seed: 8, now: Date.UTC(2026, 0, 1) });
const scene = databaseOnTwoNodes(healthy);
const running = renewed(() => open(healthy, []));

const off = healthy.fork();
stopMachine(off, scene.holder);
off.advance(60_000);

/**
 * A run died after its mark, and the machine has started again. Our taint may be removed, and nothing else may be done.
 */
const marked = await diedAfterMark();
startMachine(marked.world, marked.scene.holder);
marked.world.advance(60_000);
const startedAgain = renewed(() => open(marked.world, ['lift-out-of-service', 'release-node']));

/** Each kind of object, then all of them. Every third number makes a sweep read them. */
const TURNS = [...targets.flatMap((_, kind) => [kind * 50, kind * 50 + 1]), targets.length * 50];

export const kubernetesAnswerReaders: readonly Reader[] = [
  {
    name: 'answer of Kubernetes about a machine that runs',
    share: 60,
    takes: 'json',
    turns: TURNS,
    slowTurns: [ENDLESS],
    read: (damage) => deliver(running(), scene.holder, damage),
  },
  {
    name: 'answer of Kubernetes about a mark that outlives its proof',
    share: 10,
    takes: 'json',
    turns: TURNS,
    slowTurns: [ENDLESS],
    read: (damage) => deliver(startedAgain(), marked.scene.holder, damage),
  },
  {
    name: 'answer of Kubernetes about a machine that is off',
    share: 10,
    takes: 'json',
    turns: TURNS,
    slowTurns: [ENDLESS],
    read: async (damage) => {
      const opened = open(off, null);
      const reading = await deliver(opened, scene.holder, damage);
      return { ...reading, wrong: [...(reading.wrong ?? []), ...violationsIn(opened.world, scene)] };
    },
  },
];
