import { z } from 'zod';
import type { Template } from '../../../infra/azure/arm.ts';
import { ArmRefusal } from '../../../sandbox/azure/refusal.ts';
import { error, notFound, type Azure, type Reply, type Request } from './answers.ts';
import { called, keys, publish, published } from './app-routes.ts';
import { isKnownVersion, unknownVersion } from './refusals.ts';
import { applied, Invalid, removed, whatIf, type Held } from './subscription.ts';

/** The answers of Azure Resource Manager, of the deployment endpoint of an app, and of the app itself. */

/** If even the group is missing, ARM says so. */
const absent = (azure: Azure, path: string): Reply => {
  if (/\/roleDefinitions\/[^/]+$/i.test(path))
    return error(404, 'RoleDefinitionDoesNotExist', `${path} does not exist`);
  if (/\/roleAssignments\/[^/]+$/i.test(path)) return error(404, 'RoleAssignmentNotFound', `${path} does not exist`);
  const group = /^\/subscriptions\/[^/]+\/resourcegroups\/[^/]+/.exec(path.toLowerCase())?.[0];
  return group === undefined || azure.held.has(group)
    ? notFound(path)
    : error(404, 'ResourceGroupNotFound', `the group of ${path} could not be found`);
};

/** Answered at the second request, like everything that takes time. */
const later = (azure: Azure, header: 'azure-asyncoperation' | 'location', end: Reply): Reply => {
  const number = String(azure.operations.size + 1);
  azure.operations.set(number, end);
  return {
    status: header === 'location' ? 202 : 201,
    headers: { [header]: `${azure.origin}/operations/${number}?api-version=2022-09-01`, 'retry-after': '0' },
    body: {},
  };
};

const order = z.object({
  location: z.string().optional(),
  tags: z.record(z.string(), z.string()).default({}),
  properties: z.object({ template: z.custom<Template>() }),
});
const tags = z.object({ properties: z.object({ tags: z.record(z.string(), z.string()) }) });

const deployment = (azure: Azure, request: Request): Reply => {
  const path = request.url.pathname;
  const [base = ''] = path.split('/providers/');
  const name = path.split('/').at(path.endsWith('/whatIf') ? -2 : -1) ?? '';
  const known = azure.deployments.get(name);
  if (request.method === 'GET')
    return known
      ? { status: 200, body: { tags: known.tags, properties: { provisioningState: 'Succeeded' } } }
      : error(404, 'DeploymentNotFound', name);
  if (request.method === 'DELETE')
    return azure.deployments.delete(name) ? later(azure, 'location', { status: 204 }) : { status: 204 };
  const { location, tags: named, properties } = order.parse(JSON.parse(request.body.toString()));
  if (location === undefined) return error(400, 'LocationRequired', 'the deployment needs a location');
  if (request.method === 'POST')
    return later(azure, 'location', {
      status: 200,
      body: { status: 'Succeeded', properties: { changes: whatIf(azure, base, properties.template) } },
    });
  try {
    applied(azure, base, properties.template);
  } catch (declined) {
    if (!(declined instanceof ArmRefusal)) throw declined;
    azure.deployments.delete(name);
    return later(azure, 'azure-asyncoperation', {
      status: 200,
      body: {
        status: 'Failed',
        error: {
          code: 'DeploymentFailed',
          message: 'At least one resource deployment operation failed.',
          details: [{ code: declined.code, message: declined.message }],
        },
      },
    });
  }
  azure.deployments.set(name, { tags: named });
  return later(azure, 'azure-asyncoperation', { status: 200, body: { status: 'Succeeded' } });
};

const shown = ({ id, type, name, tags, properties, added }: Held) => ({
  id,
  type,
  name: name.split('/').at(-1),
  tags,
  properties: { ...properties, ...added },
});

const tagged = (azure: Azure, { url, body }: Request): Reply => {
  const held = azure.held.get(url.pathname.toLowerCase().replace('/providers/microsoft.resources/tags/default', ''));
  if (!held) return notFound(url.pathname);
  const { properties } = tags.parse(JSON.parse(body.toString()));
  held.tags = { ...held.tags, ...properties.tags };
  return { status: 200, body: { properties: { tags: held.tags } } };
};

const assignments = (azure: Azure, { url }: Request): Reply => {
  const of = /principalId eq '([^']+)'/.exec(url.searchParams.get('$filter') ?? '')?.[1];
  const value = [...azure.held.values()]
    .filter(
      ({ type, properties }) => type === 'Microsoft.Authorization/roleAssignments' && properties['principalId'] === of,
    )
    .map(shown);
  return { status: 200, body: { value } };
};

/** Top-level resources of a group, as ARM lists them. */
const inGroup = (azure: Azure, { url }: Request): Reply => {
  const start = url.pathname.toLowerCase().replace(/resources$/, 'providers/');
  const value = [...azure.held.values()]
    .filter(
      ({ id, type }) =>
        id.toLowerCase().startsWith(start) &&
        type.split('/').length === 2 &&
        !type.startsWith('Microsoft.Authorization'),
    )
    .map(shown);
  return { status: 200, body: { value } };
};

const resource = (azure: Azure, { method, url }: Request): Reply => {
  const held = azure.held.get(url.pathname.toLowerCase());
  if (!held) return absent(azure, url.pathname);
  if (method === 'GET') return { status: 200, body: shown(held) };
  if (method !== 'DELETE') return error(405, 'MethodNotAllowed', method);
  removed(azure, url.pathname);
  return held.type === 'Microsoft.Resources/resourceGroups'
    ? later(azure, 'location', { status: 200 })
    : { status: 200 };
};

const operation = (azure: Azure, { url }: Request): Reply =>
  azure.operations.get(url.pathname.split('/').at(-1) ?? '') ?? notFound('the operation');

const routes: readonly (readonly [string, RegExp, (azure: Azure, request: Request) => Reply])[] = [
  ['any', /^\/subscriptions\/[^/]+\/providers\/Microsoft\.Resources\/deployments\/[^/]+(\/whatIf)?$/, deployment],
  ['GET', /^\/operations\/\d+$/, operation],
  ['GET', /\/providers\/Microsoft\.Authorization\/roleAssignments$/, assignments],
  ['PATCH', /\/providers\/Microsoft\.Resources\/tags\/default$/, tagged],
  ['GET', /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/resources$/, inGroup],
  ['POST', /\/functions\/[^/]+\/listkeys$/, keys],
  ['any', /^\/subscriptions\/[^/]+\/(resourceGroups|providers)\//, resource],
  ['POST', /^\/api\/publish$/, publish],
  ['GET', /^\/api\/deployments\/deployment-1$/, published],
  ['POST', /^\/api\/[^/]+$/, called],
  [
    'POST',
    /^\/v1\/workspaces\/[^/]+\/query$/,
    () => ({ status: 200, body: { tables: [{ rows: [['2026-11-21T00:00:00Z', '{"decision":"swept"}']] }] } }),
  ],
];

/** The type that an ARM path names: every second segment after the last `providers`. */
const typeAt = (path: string): string => {
  const [, last] = /^.*\/providers\/(.+)$/i.exec(path) ?? [];
  if (last === undefined)
    return /\/resources$/i.test(path) ? 'Microsoft.Resources/resources' : 'Microsoft.Resources/resourceGroups';
  const [namespace = '', ...rest] = last.split('/');
  return [namespace, ...rest.filter((_, at) => at % 2 === 0)].join('/').replace(/\/(whatIf|listkeys)$/i, '');
};

/** Every call to ARM names its API version, and ARM supports only some versions of each type. */
const versioned = ({ url }: Request): void => {
  if (!url.pathname.startsWith('/subscriptions/')) return;
  const version = url.searchParams.get('api-version');
  if (!isKnownVersion(typeAt(url.pathname), version)) throw unknownVersion(typeAt(url.pathname), version);
};

export const reply = (azure: Azure, request: Request): Reply => {
  const struck = azure.mishaps.find(
    ({ path, method = request.method }) => path.test(request.url.pathname) && method === request.method,
  );
  if (struck) return struck.reply;
  const found = routes.find(
    ([method, path]) => (method === 'any' || method === request.method) && path.test(request.url.pathname),
  );
  if (!found) return notFound(`${request.method} ${request.url.pathname}`);
  try {
    versioned(request);
    return found[2](azure, request);
  } catch (thrown) {
    if (thrown instanceof Invalid) return error(400, 'InvalidTemplate', thrown.message);
    if (thrown instanceof ArmRefusal) return error(thrown.status, thrown.code, thrown.message);
    throw thrown;
  }
};
