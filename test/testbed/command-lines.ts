import { join } from 'node:path';
import { auditFlags } from './audit.ts';
import type { Identities } from './identities.ts';

/** The paths and ports of one control plane. All ports are on 127.0.0.1. */
export interface Site {
  readonly folder: string;
  readonly ports: {
    readonly etcd: number;
    readonly etcdPeer: number;
    readonly api: number;
    readonly controllers: number;
    readonly scheduler: number;
    readonly attacher: number;
    readonly shim: number;
    readonly driver: number;
  };
}

const local = (port: number, scheme = 'http'): string => `${scheme}://127.0.0.1:${port}`;

export const apiUrl = ({ ports }: Site): string => local(ports.api, 'https');
export const shimUrl = ({ ports }: Site): string => local(ports.shim);

export const etcdFlags = ({ folder, ports }: Site): readonly string[] => [
  '--unsafe-no-fsync',
  '--data-dir',
  join(folder, 'etcd'),
  '--listen-client-urls',
  local(ports.etcd),
  '--advertise-client-urls',
  local(ports.etcd),
  '--listen-peer-urls',
  local(ports.etcdPeer),
  '--initial-advertise-peer-urls',
  local(ports.etcdPeer),
  '--initial-cluster',
  `default=${local(ports.etcdPeer)}`,
];

export const apiServerFlags = ({ folder, ports }: Site, { files }: Identities): readonly string[] => [
  '--etcd-servers',
  local(ports.etcd),
  '--bind-address',
  '127.0.0.1',
  '--advertise-address',
  '127.0.0.1',
  '--endpoint-reconciler-type',
  'none',
  '--secure-port',
  String(ports.api),
  '--tls-cert-file',
  files.certificate,
  '--tls-private-key-file',
  files.key,
  '--token-auth-file',
  files.tokens,
  '--service-account-issuer',
  'https://kubernetes.default.svc',
  '--service-account-key-file',
  files.accountPublicKey,
  '--service-account-signing-key-file',
  files.accountKey,
  '--service-cluster-ip-range',
  '10.96.0.0/24',
  '--authorization-mode',
  'Node,RBAC',
  '--enable-admission-plugins',
  'NodeRestriction',
  ...auditFlags(folder),
];

/** What every controller process needs to know about the API server. It has no settings for behavior. */
const clientFlags = (folder: string, kubeconfig: string, port: number): readonly string[] => [
  '--kubeconfig',
  kubeconfig,
  '--authentication-kubeconfig',
  kubeconfig,
  '--authorization-kubeconfig',
  kubeconfig,
  '--bind-address',
  '127.0.0.1',
  '--secure-port',
  String(port),
  '--cert-dir',
  folder,
  '--leader-elect=false',
];

/** All default controllers, with all default timings. */
export const controllerFlags = ({ folder, ports }: Site, { files, kubeconfigs }: Identities): readonly string[] => [
  ...clientFlags(join(folder, 'controllers'), kubeconfigs.controllerManager, ports.controllers),
  '--use-service-account-credentials',
  '--service-account-private-key-file',
  files.accountKey,
  '--root-ca-file',
  files.certificate,
];

export const schedulerFlags = ({ folder, ports }: Site, { kubeconfigs }: Identities): readonly string[] =>
  clientFlags(join(folder, 'scheduler'), kubeconfigs.scheduler, ports.scheduler);

const socketOf = ({ folder }: Site): string => join(folder, 'csi.sock');

export const shimFlags = (
  site: Site,
  ec2: { readonly endpoint: string; readonly region: string },
): readonly string[] => [
  '-socket',
  socketOf(site),
  '-control',
  `127.0.0.1:${site.ports.shim}`,
  '-ec2-endpoint',
  ec2.endpoint,
  '-region',
  ec2.region,
];

const driverSocketOf = ({ folder }: Site): string => join(folder, 'driver.sock');

/** The shim's socket, if the driver itself is behind it. */
export const shimDriverFlags = (site: Site): readonly string[] => ['-driver', driverSocketOf(site)];

/** The driver's own. https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/options.md */
export const driverFlags = (site: Site): readonly string[] => [
  'controller',
  '--endpoint',
  `unix://${driverSocketOf(site)}`,
  '--http-endpoint',
  `127.0.0.1:${site.ports.driver}`,
  '--batching=true',
];

/** The only address, for every service that it calls. */
export const driverEnvironment = (ec2: {
  readonly endpoint: string;
  readonly region: string;
}): Readonly<Record<string, string>> => ({
  AWS_EC2_ENDPOINT: ec2.endpoint,
  AWS_ENDPOINT_URL: ec2.endpoint,
  AWS_REGION: ec2.region,
  AWS_ACCESS_KEY_ID: 'driver',
  AWS_SECRET_ACCESS_KEY: 'driver',
  AWS_EC2_METADATA_DISABLED: 'true',
});

/** The values of the EBS driver's Helm chart. */
export const attacherFlags = (site: Site, { kubeconfigs }: Identities): readonly string[] => [
  '--csi-address',
  socketOf(site),
  '--kubeconfig',
  kubeconfigs.attacher,
  '--http-endpoint',
  `127.0.0.1:${site.ports.attacher}`,
  '--timeout',
  '6m',
  '--worker-threads',
  '100',
  '--retry-interval-max',
  '5m',
  '--kube-api-qps',
  '20',
  '--kube-api-burst',
  '100',
  '--v',
  '2',
];
