import {
  deleteMachine,
  getDisk,
  getMachine,
  getSet,
  listInstances,
  listPermissions,
  verbs,
  type Call,
  type Handler,
} from './calls.ts';
import { consumeFault, type InjectedFailure } from './faults.ts';
import { checkQuery, checkApiVersion } from './interface.ts';
import { acceptedAnswer, type ArmAnswer, operationAnswer } from './operation-answers.ts';
import { ArmRefusal, notFound } from './refusal.ts';
import type { AzureCloudWorld } from './state.ts';
import { nextSerial } from './state.ts';

export interface ArmRequest {
  readonly method: string;
  /** Includes the origin. */
  readonly url: string;
  readonly body: string | null;
}

interface Route {
  readonly call: string;
  readonly handler: Handler;
}

const MACHINE = /^(\/virtualmachinescalesets\/[^/]+)?\/virtualmachines\/[^/]+$/;
const PERMISSIONS =
  /^(\/virtualmachinescalesets\/[^/]+)?\/virtualmachines\/[^/]+\/providers\/microsoft\.authorization\/permissions$/;
const VERB = /^(?:\/virtualmachinescalesets\/[^/]+)?\/virtualmachines\/[^/]+\/([^/]+)$/;

const routed = (method: string, rest: string): Route | null => {
  if (method === 'POST') return verbs[VERB.exec(rest)?.[1] ?? ''] ?? null;
  if (method === 'DELETE') return MACHINE.test(rest) ? { call: 'machine.delete', handler: deleteMachine } : null;
  if (method !== 'GET') return null;
  if (MACHINE.test(rest)) return { call: 'machine.get', handler: getMachine };
  if (PERMISSIONS.test(rest)) return { call: 'permissions.list', handler: listPermissions };
  if (/^\/disks\/[^/]+$/.test(rest)) return { call: 'disk.get', handler: getDisk };
  if (/^\/virtualmachinescalesets\/[^/]+$/.test(rest)) return { call: 'set.get', handler: getSet };
  return /^\/virtualmachinescalesets\/[^/]+\/virtualmachines$/.test(rest)
    ? { call: 'set.list', handler: listInstances }
    : null;
};

const COMPUTE = /^\/subscriptions\/([^/]+)\/resourcegroups\/([^/]+)\/providers\/microsoft\.compute(\/.*)$/;

const routeOf = (world: AzureCloudWorld, method: string, { path, query }: Call): Route => {
  const { azure } = world.parts;
  const [, subscription, group = '', rest = ''] = COMPUTE.exec(path) ?? [];
  if (subscription !== azure.subscription.toLowerCase())
    throw new ArmRefusal('SubscriptionNotFound', `The subscription '${subscription}' could not be found.`, 404);
  checkApiVersion(azure.knobs.apiVersions, rest, query.get('api-version'));
  if (group !== azure.group.toLowerCase())
    throw new ArmRefusal('ResourceGroupNotFound', `Resource group '${group}' could not be found.`, 404);
  const route = routed(method, rest);
  if (!route) throw notFound(path);
  checkQuery(query);
  return route;
};

const parsed = (body: string | null): unknown => (body === null || body === '' ? null : JSON.parse(body));

/** The source of a response. Faults and counts identify the call by this name. */
interface MatchedRoute {
  readonly name: string;
  readonly answer: () => ArmAnswer;
}

const foundFor = (world: AzureCloudWorld, method: string, call: Call): MatchedRoute => {
  const operation = operationAnswer(world, call);
  if (operation) return { name: 'operation.get', answer: () => operation };
  try {
    const { call: name, handler } = routeOf(world, method, call);
    return { name, answer: () => answerOf(world, call, handler) };
  } catch (refusal) {
    if (!(refusal instanceof ArmRefusal)) throw refusal;
    return { name: 'unknown', answer: () => errorAnswer(world, refusal) };
  }
};

const answerOf = (world: AzureCloudWorld, call: Call, handler: Handler): ArmAnswer => {
  try {
    const answered = handler(world, call);
    return 'operation' in answered
      ? acceptedAnswer(world, call, answered.operation)
      : jsonAnswer(world, 200, answered.body);
  } catch (refusal) {
    if (!(refusal instanceof ArmRefusal)) throw refusal;
    return errorAnswer(world, refusal);
  }
};

/**
 * Handles one call to Azure Resource Manager. Like ARM, it ignores the letter case of paths.
 * https://learn.microsoft.com/rest/api/azure/
 */
export const handleArm = (
  world: AzureCloudWorld,
  request: ArmRequest,
): { readonly call: string; readonly answer: ArmAnswer } => {
  const { origin, pathname, searchParams: query } = new URL(request.url);
  const call: Call = { path: decodeURIComponent(pathname).toLowerCase(), query, body: parsed(request.body), origin };
  const found = foundFor(world, request.method, call);
  const struck = { call: found.name, path: call.path };
  const early = consumeFault(world.parts.azure, 'before', struck);
  if (early) return { call: found.name, answer: mishapAnswer(world, early) };
  const answer = found.answer();
  const late = consumeFault(world.parts.azure, 'after', struck);
  return { call: found.name, answer: late ? mishapAnswer(world, late) : answer };
};

const jsonAnswer = (world: AzureCloudWorld, status: number, body: object): ArmAnswer => ({
  status,
  headers: {
    'content-type': 'application/json; charset=utf-8',
    'x-ms-request-id': `00000000-0000-4000-c000-${nextSerial(world.parts.azure).padStart(12, '0')}`,
  },
  body: JSON.stringify(body),
  cut: null,
});

const errorAnswer = (world: AzureCloudWorld, { status, code, message }: ArmRefusal): ArmAnswer =>
  jsonAnswer(world, status, { error: { code, message } });

/** ARM tells a throttled caller when to try again. */
const mishapAnswer = (world: AzureCloudWorld, mishap: InjectedFailure): ArmAnswer => {
  if (mishap.kind !== 'error') return { status: 0, headers: {}, body: '', cut: mishap.kind };
  const answer = errorAnswer(
    world,
    new ArmRefusal(mishap.code, `the scenario makes the sandbox answer ${mishap.code}`, mishap.status),
  );
  return mishap.status === 429 ? { ...answer, headers: { ...answer.headers, 'retry-after': '0' } } : answer;
};
