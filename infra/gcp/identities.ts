import type { Resource } from './ensure.ts';
import type { Install } from './install.ts';
import type { CustomRole } from './roles.ts';

/** The accounts of an install, and what those may do that the functions run as: docs/gcp.md has the reason for each permission. */

const account = ({ names, parameters }: Install, email: string, displayName: string): Resource => ({
  what: `service account ${email}`,
  host: 'iam',
  path: `v1/${names.project}/serviceAccounts/${email}`,
  wanted: { displayName },
  create: { method: 'POST', path: `v1/projects/${parameters.project}/serviceAccounts`, body: { accountId: email.slice(0, email.indexOf('@')), serviceAccount: { displayName } } },
  change: { method: 'PATCH', path: `v1/${names.project}/serviceAccounts/${email}`, body: { serviceAccount: { displayName }, updateMask: 'displayName' } },
});

export const accounts = (install: Install): readonly Resource[] => [
  account(install, install.names.runner, `${install.prefix}: what the functions run as`),
  account(install, install.names.caller, `${install.prefix}: what Pub/Sub and Cloud Scheduler call them as`),
  account(install, install.names.doctor, `${install.prefix}: what the doctor asks as`),
  account(install, install.names.builder, `${install.prefix}: what their images are built as`),
];

/** In our own project, and by hand in each other one. */
export const permissions = ({ configuration: { policy, clusters } }: Pick<Install, 'configuration'>): readonly string[] => [
  'compute.disks.get',
  'compute.disks.use',
  'compute.instances.detachDisk',
  'compute.instances.get',
  'compute.zoneOperations.get',
  ...(policy.unreachable === 'power-off' ? ['compute.instances.stop'] : []),
  ...(clusters.some((cluster) => 'gke' in cluster) ? ['container.clusters.connect', 'container.clusters.get'] : []),
];

export const fencingRole = (install: Install): CustomRole => ({
  id: install.names.roleId,
  title: install.prefix,
  description: 'What Cloudfence does to machines and disks',
  permissions: permissions(install),
});
