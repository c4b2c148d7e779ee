import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { InvalidConfiguration } from '../fencing/errors.ts';
import { httpsLink } from './https-link.ts';
import { kubeConfigAgent, kubeConfigAuthentication } from './kubeconfig-access.ts';
import { keepSecretIn, selfContained } from './kubeconfig-trust.ts';
import type { Link } from './link.ts';

/** A kubeconfig's content, and the file that it came from, to whose folder its relative paths refer; null where it came from none. */
export interface KubeConfigText {
  readonly content: string;
  readonly file: string | null;
  /** A cloud keeps it: it may neither run programs nor name files. */
  readonly fromSecret?: boolean;
}

/** The parser's own words may quote a line with a token in it, so that not even the cause has them. */
const notAKubeConfig = (file: string | null): InvalidConfiguration =>
  new InvalidConfiguration([`the kubeconfig${file === null ? '' : ` ${file}`} is none: it must be YAML or JSON with clusters, users and contexts`]);

const loaded = (content: string, file: string | null): KubeConfig => {
  const config = new KubeConfig();
  try {
    config.loadFromString(content);
    if (file !== null) config.makePathsAbsolute(path.dirname(path.resolve(file)));
  } catch {
    throw notAKubeConfig(file);
  }
  return config;
};

const parsed = ({ content, file, fromSecret = false }: KubeConfigText): KubeConfig => {
  const config = loaded(content, file);
  if (fromSecret) selfContained(config);
  return config;
};

/** As kubectl does it, and unlike `mergeConfig`, which throws where two files know one name: the first that says something wins. */
const mergeInto = (merged: KubeConfig, next: KubeConfig): KubeConfig => {
  for (const cluster of next.getClusters()) if (!merged.getCluster(cluster.name)) merged.addCluster(cluster);
  for (const user of next.getUsers()) if (!merged.getUser(user.name)) merged.addUser(user);
  for (const context of next.getContexts()) if (!merged.getContextObject(context.name)) merged.addContext(context);
  if (!merged.getCurrentContext()) merged.setCurrentContext(next.getCurrentContext());
  return merged;
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
    agent: kubeConfigAgent(config),
    unverified: config.getCurrentCluster()?.skipTLSVerify ?? false,
  });

/**
 * A link as kubeconfigs describe it, merged in their order: tokens, client certificates and exec plugins, as the client
 * supports them. https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 * @throws InvalidConfiguration
 */
export const linkFromKubeConfigs = (texts: readonly KubeConfigText[], context: string | null): Link => {
  const [first, ...others] = texts.map(parsed);
  if (!first) throw new InvalidConfiguration(['there is no kubeconfig']);
  const config = others.reduce(mergeInto, first);
  choose(config, context);
  keepSecretIn(config);
  return linkOf(config);
};

/** The same for content that came from no file. @throws InvalidConfiguration */
export const linkFromKubeConfig = (content: string, context: string | null): Link => linkFromKubeConfigs([{ content, file: null }], context);
