import { z } from 'zod';
import { type KubeConfigText, mergedKubeConfig } from './access.ts';

/** A context of a kubeconfig, with what its names and its credential plugin say about the cluster. Has no credentials. */
export interface KubeContext {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  /** The host name of the API server. Empty if its URL cannot be read. */
  readonly host: string;
  /** Arguments of the program that gets the credentials, such as `aws eks get-token`. */
  readonly programArgs: readonly string[];
}

export interface KubeContexts {
  /** The name of the current context. Null if none is current. */
  readonly current: string | null;
  readonly contexts: readonly KubeContext[];
}

const textList = z.array(z.string()).catch([]);

/** Lists the contexts of kubeconfigs, merged in the given order. @throws InvalidConfiguration */
export const contextsOf = (texts: readonly KubeConfigText[]): KubeContexts => {
  const config = mergedKubeConfig(texts);
  const hostOf = (cluster: string): string => {
    const server = config.getCluster(cluster)?.server ?? '';
    return URL.canParse(server) ? new URL(server).host : '';
  };
  const contexts = config.getContexts().map(({ name, cluster, user }) => ({
    name,
    cluster,
    user,
    host: hostOf(cluster),
    programArgs: textList.parse(config.getUser(user)?.exec?.args),
  }));
  return { current: config.getCurrentContext() || null, contexts };
};
