import { accountKubeconfig } from '../../wiring/account-kubeconfig.ts';
import { readEnvironment } from '../../wiring/environment.ts';
import { kubeconfigFiles } from '../../wiring/settings.ts';
import type { Output } from '../answer.ts';

export interface KubeconfigOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly name: string;
  readonly server?: string;
  /** In ms. */
  readonly timeout: number;
}

/** Prints a kubeconfig of the service account that infra/kubernetes/rbac.yaml makes, and nothing beside it. */
export const kubeconfig = async ({ context, name, server, timeout, ...flags }: KubeconfigOptions, output: Output): Promise<number> => {
  const wanted = { kubeconfig: kubeconfigFiles(readEnvironment(), flags), context: context ?? null, name, server: server ?? null };
  output.line((await accountKubeconfig(wanted, AbortSignal.timeout(timeout))).trimEnd());
  return 0;
};
