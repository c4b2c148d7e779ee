import {
  bearerTokenAuthenticationPolicy,
  createDefaultHttpClient,
  createHttpHeaders,
  createPipelineFromOptions,
  createPipelineRequest,
  type HttpClient,
  type Pipeline,
  type PipelineRequest,
} from '@azure/core-rest-pipeline';
import { z } from 'zod';
import { type CloudfenceError, PermissionDenied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import { parseJsonOrText } from '../../fencing/model/json-text.ts';
import { armScope, armUrl } from '../../providers/azure/client.ts';
import { toCloudfenceError } from '../../providers/azure/errors.ts';
import type { RestOptions } from '../../providers/azure/rest.ts';

/**
 * The calls to Azure Resource Manager (ARM) of a deployment, and calls to hosts that accept the same token or their own
 * key.
 */

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** A path from the first slash, including the query, or the URL of another host. */
  readonly path: string;
  readonly body?: object | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** The scope of the token for another host. Null if the call needs no token. */
  readonly scope?: string | null;
  /** Any answer is final. By default, the call is repeated after a server error. */
  readonly once?: boolean;
  /** How long to wait for the answer (ms). Two minutes by default. */
  readonly lasts?: number;
}

interface HttpResponse {
  readonly status: number;
  readonly headers: { readonly get: (name: string) => string | undefined };
  readonly body: unknown;
}

export interface Arm {
  /**
   * Returns any answer.
   * @throws Unavailable without an answer, PermissionDenied without a token
   */
  readonly ask: (call: Call) => Promise<HttpResponse>;
  /**
   * Returns a successful answer.
   * @throws PermissionDenied, Refused, Unavailable for any other answer
   */
  readonly call: (call: Call) => Promise<HttpResponse>;
  /**
   * Like `call`, but returns null if ARM itself says that the resource does not exist. A 404 from any other server
   * throws.
   * @throws PermissionDenied, Refused, Unavailable
   */
  readonly find: (call: Call) => Promise<HttpResponse | null>;
  readonly wait: (ms: number) => Promise<void>;
}

export interface ArmOptions {
  readonly credential: RestOptions['credential'];
  /** URL of another endpoint, for tests and sovereign clouds. */
  readonly endpoint: string | null;
  readonly wait: (ms: number) => Promise<void>;
  /** Replaces the client that uses the network. */
  readonly httpClient?: HttpClient;
}

const ANSWER_LASTS_MS = 120_000;
const RETRIES = 3;

const pipelineFor = (credential: RestOptions['credential'], scope: string | null, maxRetries: number): Pipeline => {
  const pipeline = createPipelineFromOptions({
    retryOptions: { maxRetries },
    userAgentOptions: { userAgentPrefix: 'cloudfence' },
  });
  pipeline.removePolicy({ name: 'redirectPolicy' });
  if (scope !== null)
    pipeline.addPolicy(bearerTokenAuthenticationPolicy({ credential, scopes: scope }), { phase: 'Sign' });
  return pipeline;
};

/** https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations#provisioningstate-values */
const problem = z.object({
  error: z.object({ code: z.string(), message: z.string().default(''), details: z.unknown().optional() }),
});

/** Returns ARM's error with its details, because the innermost reason is the helpful one. */
const reasonOf = (body: unknown): string => {
  const said = problem.safeParse(body).data?.error;
  if (!said) return '';
  return ` ${said.code}: ${said.message}${said.details === undefined ? '' : ` ${JSON.stringify(said.details)}`}`;
};

/** Returns ARM's error code, or null if another server answered, such as a proxy. */
const codeOf = ({ body }: Pick<HttpResponse, 'body'>): string | null =>
  problem.safeParse(body).data?.error.code ?? null;

/**
 * Codes by which ARM says that a resource or its group does not exist. Other codes, such as SubscriptionNotFound, say
 * that the request is wrong.
 */
const ABSENT: ReadonlySet<string> = new Set([
  'ResourceNotFound',
  'ResourceGroupNotFound',
  'ParentResourceNotFound',
  'NotFound',
  'DeploymentNotFound',
  'RoleDefinitionDoesNotExist',
  'RoleAssignmentNotFound',
]);

export const isSuccess = ({ status }: HttpResponse): boolean => status >= 200 && status < 300;

export const errorFromResponse = (
  { method, path }: Pick<Call, 'method' | 'path'>,
  { status, body }: Pick<HttpResponse, 'status' | 'body'>,
): CloudfenceError => {
  const message = `${method} ${path.split('?')[0]} returned ${status}${reasonOf(body)}`;
  if (status === 401 || status === 403) return new PermissionDenied(message);
  return status >= 400 && status < 500 && status !== 429 ? new Refused(message) : new Unavailable(message);
};

const contentOf = (body: Call['body']): Readonly<Record<string, string>> => {
  if (body === undefined) return {};
  return { 'content-type': Buffer.isBuffer(body) ? 'application/zip' : 'application/json' };
};

const requestFor = ({ method, body, headers, lasts = ANSWER_LASTS_MS }: Call, url: string): PipelineRequest => {
  const sent = Buffer.isBuffer(body) ? new Uint8Array(body) : body && JSON.stringify(body);
  return createPipelineRequest({
    method,
    url,
    timeout: lasts,
    headers: createHttpHeaders({ ...contentOf(body), ...headers }),
    ...(sent !== undefined && { body: sent }),
  });
};

export const createArm = ({ credential, endpoint, wait, httpClient = createDefaultHttpClient() }: ArmOptions): Arm => {
  const origin = armUrl(endpoint);
  const ask = async (wanted: Call): Promise<HttpResponse> => {
    const { method, path, scope = armScope(endpoint), once = false } = wanted;
    const request = requestFor(wanted, path.startsWith('/') ? `${origin}${path}` : path);
    try {
      const answer = await pipelineFor(credential, scope, once ? 0 : RETRIES).sendRequest(httpClient, request);
      return { status: answer.status, headers: answer.headers, body: parseJsonOrText(answer.bodyAsText ?? '') };
    } catch (caught) {
      throw toCloudfenceError(caught, `${method} ${path.split('?')[0]}`);
    }
  };
  const call = async (wanted: Call): Promise<HttpResponse> => {
    const answer = await ask(wanted);
    if (!isSuccess(answer)) throw errorFromResponse(wanted, answer);
    return answer;
  };
  const find = async (wanted: Call): Promise<HttpResponse | null> => {
    const answer = await ask(wanted);
    if (isSuccess(answer)) return answer;
    if (answer.status === 404 && ABSENT.has(codeOf(answer) ?? '')) return null;
    throw errorFromResponse(wanted, answer);
  };
  return { ask, call, find, wait };
};

/**
 * Long-running operations.
 * https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations
 */

const BETWEEN_MS = 5_000;
/** The number of polls: half an hour at the default delay. */
const TIMES = 360;

const stateOf = z.object({ status: z.string() });

const isUnderWay = (answer: HttpResponse): boolean => {
  if (answer.status === 202) return true;
  const state = stateOf.safeParse(answer.body).data?.status.toLowerCase();
  return state !== undefined && !['succeeded', 'failed', 'canceled'].includes(state);
};

const pollDelayMs = ({ headers }: HttpResponse): number => {
  const seconds = Number(headers.get('retry-after'));
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : BETWEEN_MS;
};

const operationUrl = ({ headers }: HttpResponse): string | undefined =>
  headers.get('azure-asyncoperation') ?? headers.get('location');

/**
 * Starts an operation, waits for its end, and returns the final answer.
 * @throws PermissionDenied, Refused, Unavailable
 */
export const runOperation = async (arm: Arm, request: Call): Promise<HttpResponse> => {
  const begun = await arm.call(request);
  const url = operationUrl(begun);
  if (url === undefined) return begun;
  let answer = begun;
  for (let times = 0; times < TIMES; times += 1) {
    await arm.wait(pollDelayMs(answer));
    answer = await arm.ask({ method: 'GET', path: url });
    if (!isSuccess(answer)) throw errorFromResponse(request, answer);
    if (!isUnderWay(answer)) return ended(request, answer);
  }
  throw new Unavailable(`${request.method} ${request.path.split('?')[0]} did not finish within half an hour`);
};

const ended = (request: Call, answer: HttpResponse): HttpResponse => {
  const state = stateOf.safeParse(answer.body).data?.status.toLowerCase();
  if (state !== 'failed' && state !== 'canceled') return answer;
  throw new Refused(
    errorFromResponse(request, { status: answer.status, body: answer.body }).message.replace(
      /returned \d+/,
      `has ${state}:`,
    ),
  );
};

/**
 * Templates of Azure Resource Manager.
 * https://learn.microsoft.com/azure/azure-resource-manager/templates/syntax
 */

export interface TemplateResource {
  readonly type: string;
  readonly apiVersion: string;
  readonly name: string;
  readonly location?: string;
  readonly scope?: string;
  readonly dependsOn?: readonly string[];
  readonly resourceGroup?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly kind?: string;
  readonly sku?: object;
  readonly identity?: object;
  readonly properties?: object;
}

export interface Template {
  readonly $schema: string;
  readonly contentVersion: string;
  readonly resources: readonly TemplateResource[];
}

const SCHEMAS = 'https://schema.management.azure.com/schemas';
const GROUP = `${SCHEMAS}/2019-04-01/deploymentTemplate.json#`;
const SUBSCRIPTION = `${SCHEMAS}/2018-05-01/subscriptionDeploymentTemplate.json#`;

export const DEPLOYMENTS_API_VERSION = '2022-09-01';

export const subscriptionTemplate = (resources: readonly TemplateResource[]): Template => ({
  $schema: SUBSCRIPTION,
  contentVersion: '1.0.0.0',
  resources,
});

/**
 * Deploys resources into a group from a template of the subscription. All ids in it are full ids, so that none is
 * relative to the template.
 */
export const groupDeployment = (
  name: string,
  group: { readonly id: string; readonly dependsOn: readonly string[] },
  resources: readonly TemplateResource[],
): TemplateResource => ({
  type: 'Microsoft.Resources/deployments',
  apiVersion: DEPLOYMENTS_API_VERSION,
  name,
  resourceGroup: group.id.split('/').at(-1) ?? '',
  dependsOn: group.dependsOn,
  properties: {
    mode: 'Incremental',
    expressionEvaluationOptions: { scope: 'Inner' },
    template: { $schema: GROUP, contentVersion: '1.0.0.0', resources },
  },
});

export const nestedDeploymentId = (groupId: string, name: string): string =>
  `${groupId}/providers/Microsoft.Resources/deployments/${name}`;

/** Returns an expression for a property of a resource whose value only Azure knows. */
export const referenceTo = (id: string, api: string, property: string): string =>
  `[reference('${id}', '${api}').${property}]`;
