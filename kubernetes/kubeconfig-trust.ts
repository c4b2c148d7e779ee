import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { PermissionDenied, InvalidConfiguration } from '../fencing/model/errors.ts';

/**
 * This module limits what a kubeconfig is trusted with: where a token may go, and what the kubeconfig may make this
 * process do.
 */

type User = ReturnType<KubeConfig['getUsers']>[number];

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

const hostOf = (server: string): string => (URL.canParse(server) ? new URL(server).hostname : '');

/**
 * Reports whether others can read what is sent to the server. Over plain http, anyone on the network path can. Through
 * a proxy, this is true even for a server on this machine.
 */
const isInClear = (server: string, proxied: boolean): boolean =>
  /^http:/i.test(server) && (proxied || !LOOPBACK.test(hostOf(server)));

/**
 * Verifies that a credential for this server is not sent in the clear.
 * @throws InvalidConfiguration when it would be
 */
export const refuseSendingInClear = (server: string, proxied = false): void => {
  if (!isInClear(server, proxied)) return;
  throw new InvalidConfiguration([
    `the kubeconfig uses plain HTTP for the API server ${server}, which would expose the credential: use https, and add the CA of the cluster`,
  ]);
};

const hasCredential = (user: User | null): boolean =>
  user !== null &&
  [user.token, user.username, user.password, user.exec, user.authProvider].some(
    (credential) => credential !== undefined && credential !== null && credential !== '',
  );

/** Verifies that the credential of the current user is not sent in the clear. @throws InvalidConfiguration */
export const refuseUserSentInClear = (config: KubeConfig): void => {
  const { server, proxyUrl } = config.getCurrentCluster() ?? { server: '' };
  if (hasCredential(config.getCurrentUser())) refuseSendingInClear(server, Boolean(proxyUrl));
};

const userFaults = ({ name, exec, authProvider, certFile, keyFile }: User): readonly string[] => [
  ...(exec || authProvider ? [`user ${name} runs a program (exec, auth-provider)`] : []),
  ...(certFile || keyFile ? [`user ${name} names a file (client-certificate, client-key)`] : []),
];

/**
 * Verifies that a kubeconfig from a secret is self-contained. Others may be able to write such a text, so it must not
 * run programs with the rights of this process, and must not read its files.
 * @throws InvalidConfiguration
 */
export const refuseOutsideReferences = (config: KubeConfig): void => {
  const faults = [
    ...config.getUsers().flatMap(userFaults),
    ...config
      .getClusters()
      .flatMap(({ name, caFile }) => (caFile ? [`cluster ${name} names a file (certificate-authority)`] : [])),
  ];
  if (faults.length === 0) return;
  const remedy =
    'include the data itself (certificate-authority-data, token, client-certificate-data), as `cloudfence kubeconfig` does, or use the access of the cloud (eks, aks, gke)';
  throw new InvalidConfiguration(
    faults.map((fault) => `a kubeconfig from a secret must be self-contained: ${fault}; ${remedy}`),
  );
};

const programOf = (config: KubeConfig): string | null => {
  const user = config.getCurrentUser();
  return user?.exec || user?.authProvider ? user.name : null;
};

const notStarted = (caught: unknown): string | null =>
  caught instanceof Error && 'syscall' in caught && 'code' in caught ? String(caught.code) : null;

/**
 * Returns an error in Cloudfence's own words and without a cause. A credential plugin may print the credential itself,
 * and the client quotes that output.
 */
export const redactedKubeconfigError = (
  config: KubeConfig,
  caught: unknown,
): PermissionDenied | InvalidConfiguration => {
  const user = programOf(config);
  if (user === null)
    return new InvalidConfiguration([
      `the kubeconfig is not valid: the client does not accept its server, files, or certificates`,
    ]);
  const code = notStarted(caught);
  if (code !== null)
    return new InvalidConfiguration([`the credential plugin of kubeconfig user ${user} cannot be started (${code})`]);
  return new PermissionDenied(
    `the credential plugin of kubeconfig user ${user} returned no credential: run the plugin yourself to see its output`,
  );
};
