import { apiVersionOf, kinds, type ServedKind } from './kinds.ts';
import { OLDER_EVENTS } from './older-events.ts';
import { json, type ApiResponse } from './wire.ts';

/**
 * The API discovery, with which kubectl translates names such as `pods` into paths:
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#unaggregated-discovery
 */

const all: readonly ServedKind[] = Object.values(kinds);
const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'watch'];

/** Other names that kubectl accepts. */
const SHORT_NAMES: Readonly<Record<string, readonly string[]>> = {
  nodes: ['no'],
  pods: ['po'],
  persistentvolumes: ['pv'],
  persistentvolumeclaims: ['pvc'],
  configmaps: ['cm'],
  statefulsets: ['sts'],
  deployments: ['deploy'],
  events: ['ev'],
};

/** Shows kubectl that it can evict pods. */
const EVICTION = {
  name: 'pods/eviction',
  singularName: '',
  namespaced: true,
  group: 'policy',
  version: 'v1',
  kind: 'Eviction',
  verbs: ['create'],
};

const resourcesIn = (groupVersion: string): ApiResponse | undefined => {
  const served = all.filter((kind) => apiVersionOf(kind) === groupVersion);
  if (served.length === 0) return undefined;
  return json(200, {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion,
    resources: [
      ...served.map(({ resource, kind, namespaced }) => ({
        name: resource,
        singularName: kind.toLowerCase(),
        namespaced,
        kind,
        verbs: VERBS,
        shortNames: SHORT_NAMES[resource] ?? [],
      })),
      ...(groupVersion === 'v1' ? [EVICTION, OLDER_EVENTS] : []),
    ],
  });
};

const version = (group: string) => ({ groupVersion: `${group}/v1`, version: 'v1' });

const groups = (): ApiResponse => {
  const names = [...new Set(all.map(({ group }) => group))].filter((name) => name !== '');
  return json(200, {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: names.map((name) => ({ name, versions: [version(name)], preferredVersion: version(name) })),
  });
};

/** Answers a request for discovery. Returns undefined for any other path. */
export const discoveryAnswer = (path: string): ApiResponse | undefined => {
  if (path === '/api') return json(200, { kind: 'APIVersions', apiVersion: 'v1', versions: ['v1'] });
  if (path === '/apis') return groups();
  const [, groupVersion] = /^\/apis?\/([^/]+(?:\/[^/]+)?)$/.exec(path) ?? [];
  return groupVersion === undefined ? undefined : resourcesIn(groupVersion);
};
