import { z } from 'zod';
import type { Template } from '../../../infra/azure/arm-template.ts';
import { applied, Invalid, removed, whatIf, type Held, type Subscription } from './subscription.ts';

/** What Azure Resource Manager, the door of an app and the app itself answer. */

export interface Request {
  readonly method: string;
  readonly url: URL;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Azure extends Subscription {
  readonly deployments: Map<string, { readonly tags: Readonly<Record<string, string>>; readonly outputs: Readonly<Record<string, unknown>> }>;
  /** Packages that the app took, the latest last. */
  readonly packages: Buffer[];
  /** What functions of the app answer. */
  readonly answers: Map<string, unknown>;
  /** Answers of operations that are under way, by their number. */
  readonly operations: Map<string, Reply>;
  readonly origin: string;
}

export const KEY = 'a-function-key';

const error = (status: number, code: string, message: string): Reply => ({ status, body: { error: { code, message } } });
const notFound = (what: string): Reply => error(404, 'ResourceNotFound', `${what} was not found`);

/** Said at the second question, as with anything that takes its time. */
const later = (azure: Azure, header: 'azure-asyncoperation' | 'location', end: Reply): Reply => {
  const number = String(azure.operations.size + 1);
  azure.operations.set(number, end);
  return { status: header === 'location' ? 202 : 201, headers: { [header]: `${azure.origin}/operations/${number}?api-version=2022-09-01`, 'retry-after': '0' }, body: {} };
};

const order = z.object({ location: z.string().optional(), tags: z.record(z.string(), z.string()).default({}), properties: z.object({ template: z.custom<Template>() }) });
const tags = z.object({ properties: z.object({ tags: z.record(z.string(), z.string()) }) });

const deployment = (azure: Azure, request: Request): Reply => {
  const path = request.url.pathname;
  const [base = ''] = path.split('/providers/');
  const name = path.split('/').at(path.endsWith('/whatIf') ? -2 : -1) ?? '';
  const known = azure.deployments.get(name);
  if (request.method === 'GET') return known ? { status: 200, body: { tags: known.tags, properties: { provisioningState: 'Succeeded', outputs: known.outputs } } } : notFound(name);
  if (request.method === 'DELETE') return azure.deployments.delete(name) ? later(azure, 'location', { status: 204 }) : { status: 204 };
  const { location, tags: named, properties } = order.parse(JSON.parse(request.body.toString()));
  if (location === undefined) return error(400, 'LocationRequired', 'the deployment needs a location');
  if (request.method === 'POST') return later(azure, 'location', { status: 200, body: { status: 'Succeeded', properties: { changes: whatIf(azure, base, properties.template) } } });
  azure.deployments.set(name, { tags: named, outputs: applied(azure, base, properties.template) });
  return later(azure, 'azure-asyncoperation', { status: 200, body: { status: 'Succeeded' } });
};

const shown = ({ id, type, name, tags, properties, added }: Held) => ({ id, type, name: name.split('/').at(-1), tags, properties: { ...properties, ...added } });

const tagged = (azure: Azure, { url, body }: Request): Reply => {
  const held = azure.held.get(url.pathname.toLowerCase().replace('/providers/microsoft.resources/tags/default', ''));
  if (!held) return notFound(url.pathname);
  const { properties } = tags.parse(JSON.parse(body.toString()));
  held.tags = { ...held.tags, ...properties.tags };
  return { status: 200, body: { properties: { tags: held.tags } } };
};

const assignments = (azure: Azure, { url }: Request): Reply => {
  const of = /principalId eq '([^']+)'/.exec(url.searchParams.get('$filter') ?? '')?.[1];
  const value = [...azure.held.values()].filter(({ type, properties }) => type === 'Microsoft.Authorization/roleAssignments' && properties['principalId'] === of).map(shown);
  return { status: 200, body: { value } };
};

/** Top-level resources of a group, as ARM lists them. */
const inGroup = (azure: Azure, { url }: Request): Reply => {
  const start = url.pathname.toLowerCase().replace(/resources$/, 'providers/');
  const value = [...azure.held.values()].filter(({ id, type }) => id.toLowerCase().startsWith(start) && type.split('/').length === 2 && !type.startsWith('Microsoft.Authorization')).map(shown);
  return { status: 200, body: { value } };
};

const resource = (azure: Azure, { method, url }: Request): Reply => {
  const held = azure.held.get(url.pathname.toLowerCase());
  if (!held) return notFound(url.pathname);
  if (method === 'GET') return { status: 200, body: shown(held) };
  if (method !== 'DELETE') return error(405, 'MethodNotAllowed', method);
  removed(azure, url.pathname);
  return held.type === 'Microsoft.Resources/resourceGroups' ? later(azure, 'location', { status: 200 }) : { status: 200 };
};

const operation = (azure: Azure, { url }: Request): Reply => azure.operations.get(url.pathname.split('/').at(-1) ?? '') ?? notFound('the operation');

const publish = (azure: Azure, { body, headers }: Request): Reply => {
  if (headers['content-type'] !== 'application/zip' || body.subarray(0, 2).toString() !== 'PK') return { status: 415, body: 'no zip' };
  azure.packages.push(body);
  return { status: 202, body: 'deployment-1' };
};

/** Without a package there is no function in the app. */
const keys = (azure: Azure, { url }: Request): Reply => {
  const site = azure.held.get(url.pathname.toLowerCase().split('/functions/')[0] ?? '');
  return site && azure.packages.length > 0 ? { status: 200, body: { default: KEY } } : notFound(url.pathname);
};

const called = (azure: Azure, { url, headers }: Request): Reply => {
  if (headers['x-functions-key'] !== KEY) return { status: 401 };
  return { status: 200, body: azure.answers.get(url.pathname.split('/').at(-1) ?? '') ?? {} };
};

const routes: readonly (readonly [string, RegExp, (azure: Azure, request: Request) => Reply])[] = [
  ['any', /^\/subscriptions\/[^/]+\/providers\/Microsoft\.Resources\/deployments\/[^/]+(\/whatIf)?$/, deployment],
  ['GET', /^\/operations\/\d+$/, operation],
  ['GET', /\/providers\/Microsoft\.Authorization\/roleAssignments$/, assignments],
  ['PATCH', /\/providers\/Microsoft\.Resources\/tags\/default$/, tagged],
  ['GET', /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/resources$/, inGroup],
  ['POST', /\/functions\/[^/]+\/listkeys$/, keys],
  ['any', /^\/subscriptions\/[^/]+\/(resourceGroups|providers)\//, resource],
  ['POST', /^\/api\/publish$/, publish],
  ['GET', /^\/api\/deployments\/deployment-1$/, () => ({ status: 200, body: { status: 4 } })],
  ['POST', /^\/api\/[^/]+$/, called],
  ['POST', /^\/v1\/workspaces\/[^/]+\/query$/, () => ({ status: 200, body: { tables: [{ rows: [['2026-11-21T00:00:00Z', '{"decision":"swept"}']] }] } })],
];

export const reply = (azure: Azure, request: Request): Reply => {
  const found = routes.find(([method, path]) => (method === 'any' || method === request.method) && path.test(request.url.pathname));
  if (!found) return notFound(`${request.method} ${request.url.pathname}`);
  try {
    return found[2](azure, request);
  } catch (thrown) {
    if (thrown instanceof Invalid) return error(400, 'InvalidTemplate', thrown.message);
    throw thrown;
  }
};
