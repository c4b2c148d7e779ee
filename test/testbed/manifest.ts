import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { Api } from './api.ts';
import { until } from './until.ts';

/** The kinds of objects in a manifest of permissions. */
const plurals = {
  ConfigMap: 'configmaps',
  ServiceAccount: 'serviceaccounts',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
} as const;

const rule = z.strictObject({
  apiGroups: z.tuple([z.string()]),
  resources: z.array(z.string()),
  resourceNames: z.array(z.string()).exactOptional(),
  verbs: z.array(z.string()),
});

const object = z.strictObject({
  apiVersion: z.string(),
  kind: z.enum(['ConfigMap', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']),
  metadata: z.strictObject({ name: z.string(), namespace: z.string().exactOptional() }),
  rules: z.array(rule).exactOptional(),
  roleRef: z.strictObject({ apiGroup: z.string(), kind: z.string(), name: z.string() }).exactOptional(),
  subjects: z
    .array(
      z.strictObject({
        kind: z.string(),
        apiGroup: z.string().exactOptional(),
        name: z.string(),
        namespace: z.string().exactOptional(),
      }),
    )
    .exactOptional(),
});

export type Grant = z.infer<typeof object>;
export type GrantRule = z.infer<typeof rule>;

/** The objects of a manifest of permissions. */
export const readGrants = async (path: string): Promise<readonly Grant[]> => {
  const documents = parseAllDocuments(await readFile(path, 'utf8'));
  return documents
    .map((document): unknown => document.toJS())
    .filter((content) => content !== null)
    .map((content) => object.parse(content));
};

const pathOf = ({ apiVersion, kind, metadata: { namespace } }: Grant): string => {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${group}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plurals[kind]}`;
};

/** Creates them, as `kubectl create` would, and waits for their namespaces. */
export const createGrants = async (api: Api, grants: readonly Grant[]): Promise<void> => {
  const namespaces = new Set(grants.flatMap(({ metadata }) => metadata.namespace ?? []));
  for (const namespace of namespaces)
    await until(`the namespace ${namespace} is there`, () => api.get(`/api/v1/namespaces/${namespace}`));
  for (const grant of grants) await api.write('POST', pathOf(grant), grant);
};
