import type { Testbed } from '../../testbed/testbed.ts';
import { until } from '../../testbed/until.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CLOUDFENCE = 'system:serviceaccount:kube-system:cloudfence';

const policyOf = (name: string, namespace: string) => ({
  metadata: { name },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['pods'] }],
    },
    validations: [
      {
        expression: `request.userInfo.username != '${CLOUDFENCE}'`,
        message: 'pods here are deleted by their own people',
      },
    ],
  },
});

const bindingOf = (name: string) => ({ metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } });

/**
 * The cluster's own rules forbid Cloudfence to delete pods in that namespace. Resolves once the rules are in force.
 * https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
 */
export const forbidDeletingPods = async ({ admin }: Testbed, namespace: string, pod: string): Promise<void> => {
  await admin.write('POST', `${ADMISSION}/validatingadmissionpolicies`, policyOf(namespace, namespace));
  await admin.write('POST', `${ADMISSION}/validatingadmissionpolicybindings`, bindingOf(namespace));
  const own = admin.as(CLOUDFENCE, 'system:serviceaccounts');
  await until(
    'the policy is in force',
    async () => (await own.call('DELETE', `/api/v1/namespaces/${namespace}/pods/${pod}?dryRun=All`)).status === 422,
  );
};
