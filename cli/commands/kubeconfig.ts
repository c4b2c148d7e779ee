import { stringify } from 'yaml';
import { linkFromFiles } from '../../config/connect-cluster.ts';
import { readEnvironment } from '../../config/environment.ts';
import { kubeconfigFiles } from '../../config/settings.ts';
import { callClock } from '../../kubernetes/connection.ts';
import { openConnection } from '../../kubernetes/cluster.ts';
import { accountToken, type AccountToken } from '../../kubernetes/service-account.ts';
import type { Output } from '../answer.ts';

export interface KubeconfigOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly name: string;
  readonly server?: string;
  /** In ms. */
  readonly timeout: number;
}

/** Prints only a kubeconfig of the service account that infra/kubernetes/rbac.yaml creates. */
export const kubeconfig = async (
  { context, name, server, timeout, ...flags }: KubeconfigOptions,
  output: Output,
): Promise<number> => {
  const wanted = {
    kubeconfig: kubeconfigFiles(readEnvironment(), flags),
    context: context ?? null,
    name,
    server: server ?? null,
  };
  output.line((await accountKubeconfig(wanted, AbortSignal.timeout(timeout))).trimEnd());
  return 0;
};

export interface AccountKubeconfig {
  /** Paths of the kubeconfig files of a person who may create Secrets in kube-system, in the format of KUBECONFIG. */
  readonly kubeconfig: string;
  readonly context: string | null;
  /** The name of the cluster in the new kubeconfig. */
  readonly name: string;
  /** The address at which the functions reach the API server, if it differs from this person's address. */
  readonly server: string | null;
}

const kubeconfigYaml = (name: string, server: string, { token, ca }: AccountToken): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'cloudfence', user: { token } }],
    contexts: [{ name, context: { cluster: name, user: 'cloudfence' } }],
  });

/**
 * Returns a kubeconfig for Cloudfence's own service account. Anyone who has the kubeconfig has the rights of the
 * account.
 * @throws InvalidConfiguration, Unavailable, PermissionDenied, Refused
 */
export const accountKubeconfig = async (
  { kubeconfig, context, name, server }: AccountKubeconfig,
  signal: AbortSignal,
): Promise<string> => {
  const link = await linkFromFiles(kubeconfig, context);
  try {
    return kubeconfigYaml(
      name,
      server ?? link.server,
      await accountToken(openConnection({ name, link, clock: callClock }), signal),
    );
  } finally {
    await link.close();
  }
};
