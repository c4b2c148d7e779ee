import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { Api } from './api.ts';
import { until } from './until.ts';

/** The kinds that a manifest of permissions is made of. */
const plurals = {
  ServiceAccount: 'serviceaccounts',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
} as const;

const object = z.looseObject({
  apiVersion: z.string(),
  kind: z.enum(['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().exactOptional() }),
});

const pathOf = ({ apiVersion, kind, metadata: { namespace } }: z.infer<typeof object>): string => {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${group}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plurals[kind]}`;
};

/** Creates what a manifest holds, as `kubectl create` would; its namespaces are waited for. */
export const applyManifest = async (api: Api, path: string): Promise<void> => {
  const documents = parseAllDocuments(await readFile(path, 'utf8'));
  const objects = documents.map((document): unknown => document.toJS()).filter((content) => content !== null).map((content) => object.parse(content));
  const namespaces = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
  for (const namespace of namespaces) await until(`the namespace ${namespace} is there`, () => api.get(`/api/v1/namespaces/${namespace}`));
  for (const one of objects) await api.write('POST', pathOf(one), one);
};
