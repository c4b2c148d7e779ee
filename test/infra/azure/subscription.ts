import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Template, TemplateResource } from '../../../infra/azure/arm.ts';
import { resolved, type Lookup } from './expressions.ts';
import { isKnownVersion, refused, unknownVersion } from './refusals.ts';

/** A small Azure subscription: what was deployed into it, as templates requested it and as Azure completed it. */

export interface Held {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  /** As requested last. */
  wanted: unknown;
  tags: Record<string, string>;
  /** What Azure adds. */
  readonly added: Readonly<Record<string, unknown>>;
  readonly properties: Readonly<Record<string, unknown>>;
}

const fields = z.record(z.string(), z.unknown());
const asked = z.looseObject({ properties: fields.optional() });
/** What a template deploys into a group. */
export const nested = z.looseObject({ template: z.custom<Template>() });

export interface Difference {
  readonly path: string;
  readonly propertyChangeType: 'Modify' | 'Create' | 'Delete' | 'Array';
  readonly before?: unknown;
  readonly after?: unknown;
  readonly children?: readonly Difference[];
}

export interface Change {
  readonly resourceId: string;
  readonly changeType: 'Create' | 'Modify' | 'NoChange';
  readonly delta?: readonly Difference[];
}

export interface Subscription {
  readonly held: Map<string, Held>;
  /** The hosts of the apps, in the order of their creation. */
  readonly hosts: readonly string[];
  /** How many identities were ever created. A recreated identity is another principal. */
  identities: number;
}

export class Invalid extends Error {}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const guid = (text: string): string => digest(text).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

/** `A.B/c/d` and `x/y` give `A.B/c/x/d/y`. */
const interleaved = (type: string, name: string): string => {
  const [namespace = '', ...kinds] = type.split('/');
  const names = name.split('/');
  if (kinds.length !== names.length) throw new Invalid(`the name ${name} does not fit the type ${type}`);
  return [namespace, ...kinds.flatMap((kind, at) => [kind, names[at] ?? ''])].join('/');
};

export const idOf = (base: string, { type, name, scope, resourceGroup }: TemplateResource): string => {
  if (type === 'Microsoft.Resources/resourceGroups') return `${base}/resourceGroups/${name}`;
  const inGroup = resourceGroup === undefined ? '' : `/resourceGroups/${resourceGroup}`;
  const onScope = scope === undefined ? '' : `/providers/${scope}`;
  return `${base}${inGroup}${onScope}/providers/${interleaved(type, name)}`;
};

/** The names by which `dependsOn` may refer to a resource. */
const calledBy = (base: string, resource: TemplateResource): readonly string[] => {
  const id = idOf(base, resource);
  return [
    id,
    ...(resource.type === 'Microsoft.Resources/resourceGroups'
      ? [`${base}/providers/Microsoft.Resources/resourceGroups/${resource.name}`]
      : []),
  ].map((one) => one.toLowerCase());
};

/** In an order in which each resource comes after its dependencies. */
const inOrder = (base: string, resources: readonly TemplateResource[]): readonly TemplateResource[] => {
  const names = new Set(resources.flatMap((one) => calledBy(base, one)));
  const done = new Set<string>();
  const order: TemplateResource[] = [];
  for (const { name, dependsOn = [] } of resources)
    for (const one of dependsOn)
      if (!names.has(one.toLowerCase()))
        throw new Invalid(`${name} depends on ${one}, which the template does not have`);
  while (order.length < resources.length) {
    const next = resources.find(
      (one) => !order.includes(one) && (one.dependsOn ?? []).every((name) => done.has(name.toLowerCase())),
    );
    if (!next) throw new Invalid('resources depend on each other in a circle');
    order.push(next);
    for (const name of calledBy(base, next)) done.add(name);
  }
  return order;
};

/** What only Azure knows about a new resource. */
const addedTo = (
  subscription: Subscription,
  { type, name }: TemplateResource,
  id: string,
): Readonly<Record<string, unknown>> => {
  if (type === 'Microsoft.ManagedIdentity/userAssignedIdentities') {
    const serial = (subscription.identities += 1);
    return { principalId: guid(`principal ${serial} ${id}`), clientId: guid(`client ${serial} ${id}`) };
  }
  if (type === 'Microsoft.OperationalInsights/workspaces') return { customerId: guid(id) };
  if (type === 'Microsoft.Insights/components') return { ConnectionString: `InstrumentationKey=${guid(id)}` };
  if (type !== 'Microsoft.Web/sites') return {};
  const host = subscription.hosts[[...subscription.held.values()].filter((one) => one.type === type).length] ?? '';
  return {
    state: 'Running',
    defaultHostName: host,
    hostNameSslStates: [
      { name: `${name}.azurewebsites.net`, hostType: 'Standard' },
      { name: host, hostType: 'Repository' },
    ],
  };
};

/** A topic of the user, which no deployment creates. */
const topicOf = (id: string) => /\/microsoft\.eventgrid\/topics\/([^/]+)$/i.exec(id)?.[1] ?? null;

const lookupIn =
  ({ held }: Subscription): Lookup =>
  (id) => {
    const topic = topicOf(id);
    if (topic !== null) return { endpoint: `https://${topic}.westeurope-1.eventgrid.azure.net/api/events` };
    const found = held.get(id.toLowerCase());
    return found ? { ...found.properties, ...found.added } : null;
  };

/** Everything that a deployment touches, including nested resources, in order. */
const walk = (
  base: string,
  resources: readonly TemplateResource[],
  visit: (resource: TemplateResource, id: string) => void,
): void => {
  for (const resource of inOrder(base, resources)) {
    if (!isKnownVersion(resource.type, resource.apiVersion)) throw unknownVersion(resource.type, resource.apiVersion);
    if (resource.type !== 'Microsoft.Resources/deployments') {
      visit(resource, idOf(base, resource));
      continue;
    }
    const { template } = nested.parse(resource.properties);
    walk(
      resource.resourceGroup === undefined ? base : `${base}/resourceGroups/${resource.resourceGroup}`,
      template.resources,
      visit,
    );
  }
};

const wantedOf = ({ dependsOn: _order, tags: _apart, ...wanted }: TemplateResource): object => wanted;
const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const put = (subscription: Subscription, resource: TemplateResource, id: string): void => {
  const group = /^(\/subscriptions\/[^/]+\/resourcegroups\/[^/]+)\/providers/.exec(id.toLowerCase())?.[1];
  if (group !== undefined && !subscription.held.has(group)) throw new Invalid(`there is no group ${group}`);
  const wanted = resolved(wantedOf(resource), lookupIn(subscription));
  const { properties = {} } = asked.parse(wanted);
  refused(subscription, { resource, id, properties });
  const key = id.toLowerCase();
  const added = subscription.held.get(key)?.added ?? addedTo(subscription, resource, id);
  subscription.held.set(key, {
    id,
    type: resource.type,
    name: resource.name,
    wanted,
    tags: { ...resource.tags },
    added,
    properties,
  });
};

/** @throws ArmRefusal if a service refuses its part, or Invalid before anything is done */
export const applied = (subscription: Subscription, base: string, template: Template): void => {
  walk(base, template.resources, (resource, id) => put(subscription, resource, id));
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** In the form of the preview: lists by index, and everything down to single values. */
const differences = (path: string, before: unknown, after: unknown): readonly Difference[] => {
  if (same(before, after)) return [];
  if (!isObject(before) || !isObject(after))
    return [
      {
        path,
        propertyChangeType: before === undefined ? 'Create' : after === undefined ? 'Delete' : 'Modify',
        before,
        after,
      },
    ];
  const inner = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  if (Array.isArray(before))
    return [
      {
        path,
        propertyChangeType: 'Array',
        children: inner.flatMap((key) => differences(key, before[Number(key)], Reflect.get(after, key))),
      },
    ];
  return inner.flatMap((key) => differences(path === '' ? key : `${path}.${key}`, before[key], after[key]));
};

/**
 * The preview does not evaluate `reference()`, and reports a value that uses it as a change.
 * https://github.com/Azure/arm-template-whatif/issues/83
 */
export const whatIf = (subscription: Subscription, base: string, template: Template): readonly Change[] => {
  const changes: Change[] = [];
  walk(base, template.resources, (resource, id) => {
    const held = subscription.held.get(id.toLowerCase());
    if (!held) return void changes.push({ resourceId: id, changeType: 'Create' });
    const delta = differences(
      '',
      { tags: held.tags, ...(isObject(held.wanted) ? held.wanted : {}) },
      { tags: { ...resource.tags }, ...wantedOf(resource) },
    );
    return void changes.push({ resourceId: id, changeType: delta.length === 0 ? 'NoChange' : 'Modify', delta });
  });
  return changes;
};

/** With everything in it or on it. */
export const removed = ({ held }: Subscription, id: string): boolean => {
  const key = id.toLowerCase();
  const going = [...held.keys()].filter((one) => one === key || one.startsWith(`${key}/`));
  for (const one of going) held.delete(one);
  return going.length > 0;
};

/** Groups of other owners, which existed before the deployment. */
export const withGroups = (scope: string, groups: readonly string[]): Map<string, Held> =>
  new Map(
    groups.map((name) => {
      const id = `${scope}/resourceGroups/${name}`;
      return [
        id.toLowerCase(),
        { id, type: 'Microsoft.Resources/resourceGroups', name, wanted: null, tags: {}, added: {}, properties: {} },
      ];
    }),
  );
