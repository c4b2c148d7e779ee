import { fileURLToPath } from 'node:url';
import type { Api } from './api.ts';
import { createGrants, readGrants } from './manifest.ts';
import { until } from './until.ts';

/** What an operator installs into the cluster before the first node joins. */

const DRIVER = 'ebs.csi.aws.com';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

const csiDriver = { metadata: { name: DRIVER }, spec: { attachRequired: true, podInfoOnMount: false } };

/** The rules that the EBS driver's Helm chart grants to the attacher. */
const attacherRules = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'] },
];

const accountOf = (name: string) => [{ kind: 'ServiceAccount', namespace: 'kube-system', name }];
const API_GROUP = 'rbac.authorization.k8s.io';

const grantEverywhere = async (api: Api, account: string, rules: readonly object[]): Promise<void> => {
  await api.write('POST', `${RBAC}/clusterroles`, { metadata: { name: account }, rules });
  const roleRef = { apiGroup: API_GROUP, kind: 'ClusterRole', name: account };
  await api.write('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name: account },
    roleRef,
    subjects: accountOf(account),
  });
};

/** The shipped permissions. */
export const rbac = fileURLToPath(new URL('../../infra/kubernetes/rbac.yaml', import.meta.url));

/** The identity under test may do exactly what the shipped manifest says. */
export const grantCloudfence = async (api: Api): Promise<void> => createGrants(api, await readGrants(rbac));

export const install = async (api: Api): Promise<void> => {
  await api.write('POST', '/apis/storage.k8s.io/v1/csidrivers', csiDriver);
  await grantEverywhere(api, 'ebs-csi-controller-sa', attacherRules);
  await grantCloudfence(api);
  await until('the default service account is there', () =>
    api.get('/api/v1/namespaces/default/serviceaccounts/default'),
  );
};
