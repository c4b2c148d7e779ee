import { z } from 'zod';
import { Refused } from '../../fencing/model/errors.ts';
import type { ReportProgress } from '../serverless/deployer.ts';
import { type HttpResponse, type Api, type ApiCall, errorStatusOf, errorFromResponse, isSuccess } from './api.ts';
import { hasAllWanted, type Resource } from './ensure.ts';
import type { Install, ResourceNames } from './install.ts';

/**
 * The accounts of an install, and the permissions of the one that the functions run as. docs/gcp.md gives the reason
 * for each permission.
 */

const account = ({ names, parameters }: Install, email: string, displayName: string): Resource => ({
  what: `service account ${email}`,
  host: 'iam',
  path: `v1/${names.project}/serviceAccounts/${email}`,
  wanted: { displayName },
  create: {
    method: 'POST',
    path: `v1/projects/${parameters.project}/serviceAccounts`,
    body: { accountId: email.slice(0, email.indexOf('@')), serviceAccount: { displayName } },
  },
  change: {
    method: 'PATCH',
    path: `v1/${names.project}/serviceAccounts/${email}`,
    body: { serviceAccount: { displayName }, updateMask: 'displayName' },
  },
});

export const serviceAccounts = (install: Install): readonly Resource[] => [
  account(install, install.names.runner, `${install.prefix}: runs the functions`),
  account(install, install.names.caller, `${install.prefix}: calls the functions for Pub/Sub and Cloud Scheduler`),
  account(install, install.names.doctor, `${install.prefix}: runs the function doctor`),
  account(install, install.names.builder, `${install.prefix}: builds the images of the functions`),
];

/** The permissions in the install's own project. In every other project a person grants them. */
const permissions = ({ configuration: { policy, clusters } }: Pick<Install, 'configuration'>): readonly string[] => [
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
  description: 'Permissions of Cloudfence on machines and disks',
  permissions: permissions(install),
});

/**
 * Manages custom roles. The id of a deleted role stays taken for about five weeks: for seven days the role can be
 * undeleted, and after that, the role is gone, but its id is still taken. Cloudfence therefore never deletes its role.
 * If someone deleted it, Cloudfence undeletes it, and uses another id if that is too late.
 * https://cloud.google.com/iam/docs/creating-custom-roles#deleting-custom-role
 */

interface CustomRole {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly permissions: readonly string[];
}

const existingRole = z.looseObject({ name: z.string(), deleted: z.boolean().default(false) });
const listing = z.looseObject({ roles: z.array(existingRole).default([]), nextPageToken: z.string().default('') });

type ExistingRole = z.infer<typeof existingRole>;

/** Returns the ids to try. A stage contains no dot, so no role of another install has such an id. */
const candidates = (id: string): readonly string[] => [
  id,
  ...[2, 3, 4, 5, 6, 7, 8, 9].map((count) => `${id}.${count}`),
];

const rolesOf = async (api: Api, project: string): Promise<ReadonlyMap<string, ExistingRole>> => {
  const all: ExistingRole[] = [];
  for (let token = ''; ;) {
    const query = new URLSearchParams({
      showDeleted: 'true',
      view: 'FULL',
      pageSize: '1000',
      ...(token !== '' && { pageToken: token }),
    });
    const { roles, nextPageToken } = listing.parse(
      await api.call({ method: 'GET', host: 'iam', path: `v1/${project}/roles?${query.toString()}` }),
    );
    all.push(...roles);
    if (nextPageToken === '' || nextPageToken === token) return new Map(all.map((role) => [role.name, role]));
    token = nextPageToken;
  }
};

const wantedOf = ({ title, description, permissions }: CustomRole) => ({
  title,
  description,
  includedPermissions: permissions,
  stage: 'GA',
});

/** Reports whether the id belongs, or belonged, to another role. Cloudfence then tries the next id. */
const isTaken = (answer: HttpResponse): boolean =>
  ['FAILED_PRECONDITION', 'ALREADY_EXISTS', 'NOT_FOUND'].includes(errorStatusOf(answer));

const callOrNull = async (api: Api, call: ApiCall): Promise<HttpResponse['body'] | null> => {
  const answer = await api.ask(call);
  if (isSuccess(answer)) return answer.body;
  if (isTaken(answer)) return null;
  throw errorFromResponse(call, answer);
};

const updateRole = async (
  api: Api,
  found: unknown,
  name: string,
  role: CustomRole,
  say: ReportProgress,
): Promise<string> => {
  const body = wantedOf(role);
  if (hasAllWanted(found, body)) return name;
  await api.call({
    method: 'PATCH',
    host: 'iam',
    path: `v1/${name}?updateMask=title,description,includedPermissions,stage`,
    body,
  });
  say(`role ${name}: changed`);
  return name;
};

const createRole = async (
  api: Api,
  project: string,
  name: string,
  role: CustomRole,
  say: ReportProgress,
): Promise<string | null> => {
  const roleId = name.slice(name.lastIndexOf('/') + 1);
  if (
    !(await callOrNull(api, {
      method: 'POST',
      host: 'iam',
      path: `v1/${project}/roles`,
      body: { roleId, role: wantedOf(role) },
    }))
  )
    return null;
  say(`role ${name}: created`);
  return name;
};

const restoreRole = async (api: Api, name: string, role: CustomRole, say: ReportProgress): Promise<string | null> => {
  const found = await callOrNull(api, { method: 'POST', host: 'iam', path: `v1/${name}:undelete`, body: {} });
  if (found === null) return null;
  say(`role ${name}: restored`);
  return updateRole(api, found, name, role, say);
};

/** Returns the name of the role: the one that exists, or the first that can be created. */
export const ensureRole = async (
  api: Api,
  { project }: ResourceNames,
  role: CustomRole,
  say: ReportProgress,
): Promise<string> => {
  const there = await rolesOf(api, project);
  const names = candidates(role.id).map((id) => `${project}/roles/${id}`);
  for (const name of names) {
    const found = there.get(name);
    if (found?.deleted === false) return updateRole(api, found, name, role, say);
  }
  for (const name of names) {
    const got = there.has(name)
      ? await restoreRole(api, name, role, say)
      : await createRole(api, project, name, role, say);
    if (got !== null) return got;
  }
  throw new Refused(
    `Cloudfence cannot create a custom role: ${names.join(', ')} are all deleted, and Google Cloud does not ` +
      'free their names yet',
  );
};
