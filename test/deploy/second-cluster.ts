import { ADMIN_TOKEN, apiOf, createAwsSandbox } from '../../sandbox/aws-sandbox.ts';
import { openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';

/** A second, empty cluster, which still has to be asked. */
export interface SecondCluster {
  /** The short form of a kubeconfig. */
  readonly access: string;
  readonly close: () => Promise<void>;
}

export const openSecondCluster = async (): Promise<SecondCluster> => {
  const { url, caData, close } = await openKubernetesServer(apiOf(createAwsSandbox({ seed: 4, now: Date.now() })));
  return { access: JSON.stringify({ server: url, ca: caData, token: ADMIN_TOKEN }), close };
};
