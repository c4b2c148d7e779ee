import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { InvalidConfiguration } from '../fencing/errors.ts';
import { httpsLink } from './https-link.ts';
import { kubeConfigAuthentication, kubeConfigDispatcher } from './kubeconfig-access.ts';
import type { Link } from './link.ts';

const parsed = (content: string): KubeConfig => {
  const config = new KubeConfig();
  try {
    config.loadFromString(content);
    return config;
  } catch (cause) {
    throw new InvalidConfiguration(['the kubeconfig cannot be read'], { cause });
  }
};

/** The context by name, or the file's current one. What it names must be there too. */
const choose = (config: KubeConfig, context: string | null): void => {
  if (context !== null) config.setCurrentContext(context);
  const name = config.getCurrentContext();
  const chosen = name ? config.getContextObject(name) : null;
  const faults = [
    ...(chosen ? [] : [`the kubeconfig has no context named ${name || '(none is current)'}`]),
    ...(chosen && !config.getCurrentCluster() ? [`the kubeconfig has no cluster named ${chosen.cluster}`] : []),
    ...(chosen && !config.getCurrentUser() ? [`the kubeconfig has no user named ${chosen.user}`] : []),
  ];
  if (faults.length > 0) throw new InvalidConfiguration(faults);
};

const linkOf = (config: KubeConfig): Link =>
  httpsLink({
    server: config.getCurrentCluster()?.server ?? '',
    authentication: kubeConfigAuthentication(config),
    dispatcher: kubeConfigDispatcher(config),
  });

/**
 * A link as a kubeconfig's content describes it: tokens, client certificates and exec plugins, as the client supports them.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 * @throws InvalidConfiguration
 */
export const linkFromKubeConfig = (content: string, context: string | null): Link => {
  const config = parsed(content);
  choose(config, context);
  return linkOf(config);
};
