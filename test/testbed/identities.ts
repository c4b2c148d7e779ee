import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { stringify } from 'yaml';

/** Every user of the API server, each with its own token. */
const users = {
  admin: { name: 'admin', groups: ['system:masters'] },
  controllerManager: { name: 'system:kube-controller-manager', groups: [] },
  scheduler: { name: 'system:kube-scheduler', groups: [] },
  attacher: {
    name: 'system:serviceaccount:kube-system:ebs-csi-controller-sa',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system'],
  },
  cloudfence: {
    name: 'system:serviceaccount:kube-system:cloudfence',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system'],
  },
} as const;

export type User = keyof typeof users;
export type Tokens = Readonly<Record<User, string>>;

export interface Identities {
  readonly tokens: Tokens;
  /** The certificate (PEM) that signs the certificate of the API server. */
  readonly ca: string;
  readonly kubeconfigs: Readonly<Record<User, string>>;
  readonly files: {
    readonly tokens: string;
    readonly certificate: string;
    readonly key: string;
    readonly accountKey: string;
    readonly accountPublicKey: string;
  };
}

/** Self-signed, with the names of the API server. */
export const certificate = () =>
  generate([{ name: 'commonName', value: 'kube-apiserver' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 2, value: 'kubernetes.default.svc' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '10.96.0.1' },
        ],
      },
    ],
  });

const names = Object.keys(users).filter((name): name is User => name in users);

const forEach = <T>(make: (user: User) => T): Record<User, T> => ({
  admin: make('admin'),
  controllerManager: make('controllerManager'),
  scheduler: make('scheduler'),
  attacher: make('attacher'),
  cloudfence: make('cloudfence'),
});

/** https://kubernetes.io/docs/reference/access-authn-authz/authentication/#static-token-file */
const tokenFile = (tokens: Tokens): string =>
  names
    .map((user) => `${tokens[user]},${users[user].name},${users[user].name},"${users[user].groups.join(',')}"\n`)
    .join('');

export const kubeconfigOf = (server: string, ca: string, token: string): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'bench',
    clusters: [
      { name: 'bench', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: 'user', user: { token } }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'user' } }],
  });

const accountKeys = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

/** New certificates, keys, and tokens, written where the components read them. */
export const makeIdentities = async (folder: string, server: string): Promise<Identities> => {
  const at = (name: string) => join(folder, name);
  const { cert: ca, private: key } = await certificate();
  const accounts = accountKeys();
  const tokens = forEach(() => randomUUID());
  const kubeconfigs = forEach((user) => at(`${user}.kubeconfig`));
  const files = {
    tokens: at('tokens.csv'),
    certificate: at('apiserver.crt'),
    key: at('apiserver.key'),
    accountKey: at('accounts.key'),
    accountPublicKey: at('accounts.pub'),
  };
  const write = (path: string, text: string) => writeFile(path, text, { mode: 0o600 });
  await mkdir(folder, { recursive: true });
  await Promise.all([
    write(files.tokens, tokenFile(tokens)),
    write(files.certificate, ca),
    write(files.key, key),
    write(files.accountKey, accounts.privateKey),
    write(files.accountPublicKey, accounts.publicKey),
    ...names.map((user) => write(kubeconfigs[user], kubeconfigOf(server, ca, tokens[user]))),
  ]);
  return { tokens, ca, kubeconfigs, files };
};
