import { z } from 'zod';
import { notFound, type Azure, type Reply, type Request } from './answers.ts';
import { mayDo } from './refusals.ts';

/** The answers of the apps, and the endpoints that accept their packages. */

/** https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/storage */
const BLOB_OWNER = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b';
const BLOB_CONTRIBUTOR = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe';

export const KEY = 'a-function-key';

const storage = z.looseObject({
  functionAppConfig: z.object({
    deployment: z.object({
      storage: z.object({
        value: z.string(),
        authentication: z.object({ userAssignedIdentityResourceId: z.string() }),
      }),
    }),
  }),
});

/** Whether the identity of the app may write into the container of its packages. */
const mayStore = (azure: Azure, host: string): boolean => {
  const site = [...azure.held.values()].find(
    ({ type, added }) => type === 'Microsoft.Web/sites' && added['defaultHostName'] === host,
  );
  if (!site) return false;
  const { value, authentication } = storage.parse(site.properties).functionAppConfig.deployment.storage;
  const [, account = '', container = ''] = /^https:\/\/(\w+)\.blob\.core\.windows\.net\/([\w-]+)$/.exec(value) ?? [];
  const on =
    [...azure.held.keys()].find((id) =>
      id.endsWith(`/storageaccounts/${account}/blobservices/default/containers/${container}`),
    ) ?? '';
  return on !== '' && mayDo(azure, authentication.userAssignedIdentityResourceId, [BLOB_OWNER, BLOB_CONTRIBUTOR], on);
};

/**
 * The app accepts the package, but its deployment fails. Users report this for Flex Consumption.
 * https://github.com/Azure/azure-functions-host/issues/10620
 */
export const publish = (azure: Azure, { body, headers, url }: Request): Reply => {
  if (headers['content-type'] !== 'application/zip' || body.subarray(0, 2).toString() !== 'PK')
    return { status: 415, body: 'no zip' };
  const denied = azure.roleSpreads > 0 || !mayStore(azure, url.host);
  azure.roleSpreads = Math.max(0, azure.roleSpreads - 1);
  azure.failed = denied
    ? 'InaccessibleStorageException: Failed to access storage account for deployment: ' +
      '403 AuthorizationPermissionMismatch'
    : null;
  if (!denied) azure.packages.push({ host: url.host, zip: body });
  return { status: 202, body: 'deployment-1' };
};

export const published = ({ failed }: Azure): Reply => ({
  status: 200,
  body: failed === null ? { status: 4 } : { status: 3, status_text: failed },
});

/** Without a package, the app has no functions. */
export const keys = (azure: Azure, { url }: Request): Reply => {
  const site = azure.held.get(url.pathname.toLowerCase().split('/functions/')[0] ?? '');
  return site && azure.packages.some(({ host }) => host === site.added['defaultHostName'])
    ? { status: 200, body: { default: KEY } }
    : notFound(url.pathname);
};

export const called = (azure: Azure, { url, headers }: Request): Reply => {
  if (headers['x-functions-key'] !== KEY) return { status: 401 };
  if (!azure.packages.some(({ host }) => host === url.host)) return { status: 404 };
  return { status: 200, body: azure.answers.get(url.pathname.split('/').at(-1) ?? '') ?? {} };
};
