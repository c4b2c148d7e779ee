import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { NeededPermission } from '../../../kubernetes/doctor.ts';
import { neededPermissions } from '../../../kubernetes/doctor.ts';
import type { Testbed } from '../../testbed/testbed.ts';
import { kubeconfigOf } from '../../testbed/identities.ts';
import type { TestbedAccess } from '../../testbed/installation.ts';
import { rbac } from '../../testbed/installed.ts';
import { createGrants, readGrants, type Grant, type GrantRule } from '../../testbed/manifest.ts';
import { until } from '../../testbed/until.ts';

const NAMESPACE = 'kube-system';

const resourceOf = ({ resource, subresource }: NeededPermission): string =>
  subresource === undefined ? resource : `${resource}/${subresource}`;

/** One permission in words, such as `patch pods/status` or `get configmaps cloudfence`. */
export const inWords = (permission: NeededPermission): string =>
  [permission.verb, resourceOf(permission), permission.name ?? ''].join(' ').trimEnd();

/** One rule for each verb on each resource. */
const single = (rule: GrantRule): readonly GrantRule[] =>
  rule.resources.flatMap((resource) => rule.verbs.map((verb) => ({ ...rule, resources: [resource], verbs: [verb] })));

const isFor = (
  { apiGroups: [group], resources: [resource], resourceNames: [name] = [], verbs: [verb] }: GrantRule,
  permission: NeededPermission,
): boolean =>
  group === permission.group &&
  resource === resourceOf(permission) &&
  name === permission.name &&
  verb === permission.verb;

/** The shipped permissions without one, for an account with another name. */
const without = (grants: readonly Grant[], permission: NeededPermission, account: string): readonly Grant[] =>
  grants
    .filter(({ kind }) => kind !== 'ConfigMap')
    .map(({ metadata, rules, roleRef, subjects, ...grant }) => ({
      ...grant,
      metadata: { ...metadata, name: account },
      ...(rules && { rules: rules.flatMap(single).filter((rule) => !isFor(rule, permission)) }),
      ...(roleRef && { roleRef: { ...roleRef, name: account } }),
      ...(subjects && {
        subjects: subjects
          .filter(({ kind }) => kind === 'ServiceAccount')
          .map((subject) => ({ ...subject, name: account })),
      }),
    }));

const answer = z.object({ status: z.object({ allowed: z.boolean().default(false) }) });

/** https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access */
const mayDo = async (
  { admin }: Testbed,
  account: string,
  { for: _purpose, ...resourceAttributes }: NeededPermission,
): Promise<boolean> => {
  const spec = { user: `system:serviceaccount:${NAMESPACE}:${account}`, resourceAttributes };
  return answer.parse(await admin.write('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec })).status
    .allowed;
};

/** The authorizer has received all grants, and nothing more. */
const settled = async (testbed: Testbed, account: string, permission: NeededPermission): Promise<void> => {
  const others = neededPermissions.filter((other) => other !== permission);
  await until(`${account} has its grants`, async () =>
    (await Promise.all(others.map((other) => mayDo(testbed, account, other)))).every(Boolean),
  );
  if (await mayDo(testbed, account, permission)) throw new Error(`${account} may ${inWords(permission)} all the same`);
};

const tokenAnswer = z.object({ status: z.object({ token: z.string() }) });

const tokenFor = async ({ admin }: Testbed, account: string): Promise<string> =>
  tokenAnswer.parse(
    await admin.write('POST', `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${account}/token`, {
      spec: { expirationSeconds: 3_600 },
    }),
  ).status.token;

let count = 0;

/** The testbed for an account that has all shipped permissions except one. */
export const accessWithout = async (testbed: Testbed, permission: NeededPermission): Promise<TestbedAccess> => {
  const account = `without-${inWords(permission).replaceAll(/[^a-z]/g, '-')}-${process.pid}-${(count += 1)}`;
  await createGrants(testbed.admin, without(await readGrants(rbac), permission, account));
  await settled(testbed, account, permission);
  const { access } = testbed;
  const cloudfence = join(access.folder, `${account}.kubeconfig`);
  await writeFile(cloudfence, kubeconfigOf(access.server, access.ca, await tokenFor(testbed, account)), {
    mode: 0o600,
  });
  return { ...access, kubeconfigs: { ...access.kubeconfigs, cloudfence } };
};
