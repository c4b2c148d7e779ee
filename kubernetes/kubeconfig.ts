import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { parse } from 'yaml';
import { z } from 'zod';
import { PermissionDenied, InvalidConfiguration } from '../fencing/model/errors.ts';

/**
 * Reads kubeconfigs: merges them, selects a context, and restricts what a kubeconfig may do. The restrictions limit
 * where a credential may be sent, and what the kubeconfig may make this process do.
 */

/**
 * The content of a kubeconfig, and the file from which it was read. Relative paths in the content are relative to the
 * directory of that file. `file` is null if the content was not read from a file.
 */
export interface KubeConfigText {
  readonly content: string;
  readonly file: string | null;
  /** True if a cloud stores the kubeconfig. Such a kubeconfig must not run programs or name files. */
  readonly fromSecret?: boolean;
}

/**
 * Merges kubeconfigs in the given order and selects a context, or the current one.
 * @throws InvalidConfiguration, also if the credential would be sent unencrypted
 */
export const chosenKubeConfig = (texts: readonly KubeConfigText[], context: string | null): KubeConfig => {
  const config = mergedKubeConfig(texts);
  choose(config, context);
  refuseUserSentInClear(config);
  return config;
};

/**
 * A context of a kubeconfig, with information about the cluster from its names and its credential plugin. Contains no
 * credentials.
 */
export interface KubeContext {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  /** The host name of the API server. Empty if the URL cannot be parsed. */
  readonly host: string;
  /** Arguments of the credential plugin, such as `aws eks get-token`. */
  readonly programArgs: readonly string[];
}

export interface KubeContexts {
  /** The name of the current context. Null if there is none. */
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

/**
 * Verifies that a credential for this server is not sent unencrypted.
 * @throws InvalidConfiguration if it would be
 */
export const refuseSendingInClear = (server: string, proxied = false): void => {
  if (!isInClear(server, proxied)) return;
  throw new InvalidConfiguration([
    `the kubeconfig uses plain HTTP for the API server ${server}, which would expose the credential: use ` +
      'https, and add the CA of the cluster',
  ]);
};

/** Returns the program of the current user's credential plugin. Its folder is left out, as it helps nobody. */
const pluginNameIn = (config: KubeConfig): string => {
  const { command } = z.object({ command: z.string() }).catch({ command: '' }).parse(config.getCurrentUser()?.exec);
  return command.split('/').at(-1) ?? '';
};

/**
 * Returns an error with Cloudfence's own text and without a cause. A credential plugin may print the credential, and
 * the client quotes its output.
 */
export const redactedKubeconfigError = (
  config: KubeConfig,
  caught: unknown,
): PermissionDenied | InvalidConfiguration => {
  const user = execPluginUserOf(config);
  if (user === null)
    return new InvalidConfiguration([
      `the kubeconfig is not valid: the client does not accept its server, files, or certificates`,
    ]);
  const code = startFailureOf(caught);
  if (code !== null)
    return new InvalidConfiguration([
      `the credential plugin ${pluginNameIn(config)} of kubeconfig user ${user} cannot be started (${code}): ` +
        'install it, or correct `command` in the kubeconfig',
    ]);
  return new PermissionDenied(
    `the credential plugin of kubeconfig user ${user} returned no credential: run the plugin yourself to see ` +
      'its output',
  );
};

// --- Reading and merging ---

/** Omits the parser's message, even in the cause, because it may quote a line with a token. */
const notAKubeConfig = (file: string | null): InvalidConfiguration =>
  new InvalidConfiguration([
    `the kubeconfig${file === null ? '' : ` ${file}`} is not valid: it must be YAML or JSON with clusters, ` +
      'users, and contexts',
  ]);

/**
 * Returns whether all names are strings. The client does not check this. A server name that is a list would end the
 * whole process: Node.js begins to connect, throws, and leaves a socket without a listener.
 */
const hasNames = (config: KubeConfig): boolean =>
  [
    config.getCurrentContext() ?? '',
    ...config
      .getClusters()
      .flatMap(({ name, server, tlsServerName = '', proxyUrl = '' }) => [name, server, tlsServerName, proxyUrl]),
    ...config.getUsers().map(({ name }) => name),
    ...config.getContexts().flatMap(({ name, cluster, user }) => [name, cluster, user]),
  ].every((name: unknown) => typeof name === 'string');

const loaded = (content: string, file: string | null): KubeConfig => {
  const config = new KubeConfig();
  try {
    config.loadFromString(content);
    if (file !== null) config.makePathsAbsolute(path.dirname(path.resolve(file)));
  } catch {
    // The error has no cause, because the cause may quote a token: see notAKubeConfig.
    throw notAKubeConfig(file);
  }
  if (!hasNames(config)) throw notAKubeConfig(file);
  return config;
};

const parsed = ({ content, file, fromSecret = false }: KubeConfigText): KubeConfig => {
  if (!fromSecret) return loaded(content, file);
  const config = loaded(withoutTokenFiles(content), file);
  refuseOutsideReferences(config);
  return config;
};

/**
 * Merges kubeconfigs as kubectl does: the first one that defines a name wins. The client's `mergeConfig` differs,
 * because it throws when two files define the same name.
 */
const mergeInto = (merged: KubeConfig, next: KubeConfig): KubeConfig => {
  for (const cluster of next.getClusters()) if (!merged.getCluster(cluster.name)) merged.addCluster(cluster);
  for (const user of next.getUsers()) if (!merged.getUser(user.name)) merged.addUser(user);
  for (const context of next.getContexts()) if (!merged.getContextObject(context.name)) merged.addContext(context);
  if (!merged.getCurrentContext()) merged.setCurrentContext(next.getCurrentContext());
  return merged;
};

/** Merges kubeconfigs in the given order. @throws InvalidConfiguration */
const mergedKubeConfig = (texts: readonly KubeConfigText[]): KubeConfig => {
  const [first, ...others] = texts.map(parsed);
  if (!first) throw new InvalidConfiguration(['no kubeconfig is given']);
  return others.reduce(mergeInto, first);
};

const MOST_NAMES = 10;

const noContext = (name: string | null, config: KubeConfig): string => {
  const names = config.getContexts().map((context) => context.name);
  const known = names.length === 0 ? 'it has no context at all' : `use one of ${names.slice(0, MOST_NAMES).join(', ')}`;
  return name === null
    ? `the kubeconfig has no current context: ${known}`
    : `the kubeconfig has no context named ${name}: ${known}`;
};

/**
 * Selects the context by name, or uses the file's current one. The kubeconfig must contain the cluster and the user of
 * that context.
 * @throws InvalidConfiguration
 */
const choose = (config: KubeConfig, context: string | null): void => {
  if (context !== null) config.setCurrentContext(context);
  const name = config.getCurrentContext();
  const chosen = name ? config.getContextObject(name) : null;
  const faults = [
    ...(chosen ? [] : [noContext(name || null, config)]),
    ...(chosen && !config.getCurrentCluster() ? [`the kubeconfig has no cluster named ${chosen.cluster}`] : []),
    ...(chosen && !config.getCurrentUser() ? [`the kubeconfig has no user named ${chosen.user}`] : []),
  ];
  if (faults.length > 0) throw new InvalidConfiguration(faults);
};

// --- Trust ---

type User = ReturnType<KubeConfig['getUsers']>[number];

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

const hostOf = (server: string): string => (URL.canParse(server) ? new URL(server).hostname : '');

/**
 * Returns whether others can read what is sent to the server. With plain http, anyone on the network path can. Through
 * a proxy, this is also the case for a server on this machine.
 */
const isInClear = (server: string, proxied: boolean): boolean =>
  /^http:/i.test(server) && (proxied || !LOOPBACK.test(hostOf(server)));

const hasCredential = (user: User | null): boolean =>
  user !== null &&
  [user.token, user.username, user.password, user.exec, user.authProvider].some(
    (credential) => credential !== undefined && credential !== null && credential !== '',
  );

/** Verifies that the credential of the current user is not sent unencrypted. @throws InvalidConfiguration */
const refuseUserSentInClear = (config: KubeConfig): void => {
  const { server, proxyUrl } = config.getCurrentCluster() ?? { server: '' };
  if (hasCredential(config.getCurrentUser())) refuseSendingInClear(server, Boolean(proxyUrl));
};

const usersWithTokenFiles = z.looseObject({
  users: z
    .array(
      z.looseObject({
        name: z.string().optional(),
        user: z.looseObject({ 'token-file': z.unknown().optional(), tokenFile: z.unknown().optional() }).nullish(),
      }),
    )
    .nullish(),
});

const parsedText = (content: string): unknown => {
  try {
    return parse(content);
  } catch {
    // The error has no cause, because the cause may quote a token: see notAKubeConfig.
    throw notAKubeConfig(null);
  }
};

/**
 * Verifies that no user of a kubeconfig from a secret names a file with a token. The client reads such a file while it
 * loads the kubeconfig, so the text is checked before. Returns the checked content as JSON.
 * @throws InvalidConfiguration
 */
const withoutTokenFiles = (content: string): string => {
  const read = usersWithTokenFiles.safeParse(parsedText(content));
  if (!read.success) throw notAKubeConfig(null);
  refuseFaults(
    (read.data.users ?? []).flatMap(({ name, user }) =>
      user?.['token-file'] || user?.tokenFile ? [`user ${name ?? ''} names a file (tokenFile)`] : [],
    ),
  );
  return JSON.stringify(read.data);
};

const userFaults = ({ name, exec, authProvider, certFile, keyFile }: User): readonly string[] => [
  ...(exec || authProvider ? [`user ${name} runs a program (exec, auth-provider)`] : []),
  ...(certFile || keyFile ? [`user ${name} names a file (client-certificate, client-key)`] : []),
];

/**
 * Verifies that a kubeconfig from a secret is self-contained. Others may be able to write such a kubeconfig, so it must
 * not run programs with the rights of this process or read its files.
 * @throws InvalidConfiguration
 */
const refuseOutsideReferences = (config: KubeConfig): void =>
  refuseFaults([
    ...config.getUsers().flatMap(userFaults),
    ...config
      .getClusters()
      .flatMap(({ name, caFile }) => (caFile ? [`cluster ${name} names a file (certificate-authority)`] : [])),
  ]);

const refuseFaults = (faults: readonly string[]): void => {
  if (faults.length === 0) return;
  const remedy =
    'include the data itself (certificate-authority-data, token, client-certificate-data), as `cloudfence ' +
    'kubeconfig` does, or use the access of the cloud (eks, aks, gke)';
  throw new InvalidConfiguration(
    faults.map((fault) => `a kubeconfig from a secret must be self-contained: ${fault}; ${remedy}`),
  );
};

/** Returns the name of the user whose credential a program provides, or null. */
export const execPluginUserOf = (config: KubeConfig): string | null => {
  const user = config.getCurrentUser();
  return user?.exec || user?.authProvider ? user.name : null;
};

const startFailureOf = (caught: unknown): string | null =>
  caught instanceof Error && 'syscall' in caught && 'code' in caught ? String(caught.code) : null;
