import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { neededPermissions } from '../../kubernetes/doctor.ts';

const role = z.object({
  kind: z.enum(['Role', 'ClusterRole']),
  metadata: z.object({ name: z.string(), namespace: z.string().default('') }),
  rules: z.array(
    z.object({
      apiGroups: z.array(z.string()),
      resources: z.array(z.string()),
      verbs: z.array(z.string()),
      resourceNames: z.array(z.string()).default(['']),
    }),
  ),
});

const documents = parseAllDocuments(readFileSync(new URL('../../infra/kubernetes/rbac.yaml', import.meta.url), 'utf8'));

const granted = documents
  .map((document) => role.safeParse(document.toJS()))
  .flatMap((read) => (read.success ? [read.data] : []))
  .flatMap(({ metadata, rules }) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.flatMap((verb) =>
            resourceNames.map((name) => [verb, group, resource, metadata.namespace, name].join(' ')),
          ),
        ),
      ),
    ),
  );

const needed = neededPermissions.map(({ verb, group, resource, subresource, namespace = '', name = '' }) =>
  [verb, group, subresource === undefined ? resource : `${resource}/${subresource}`, namespace, name].join(' '),
);

it('the manifest grants exactly the verbs that are called', () => {
  expect(granted.length).toBeGreaterThan(15);
  expect(granted.toSorted()).toEqual(needed.toSorted());
});

const holders = [
  { kind: 'ServiceAccount', name: 'cloudfence', namespace: 'kube-system' },
  { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'cloudfence' },
];

it('every role is bound to the one service account and the one group', () => {
  const bindings = documents
    .map((document): unknown => document.toJS())
    .filter((object) => JSON.stringify(object).includes('RoleBinding"'));
  expect(bindings).toHaveLength(3);
  for (const binding of bindings) expect(binding).toMatchObject({ roleRef: { name: 'cloudfence' }, subjects: holders });
});
