import { ArmRefusal } from './refusal.ts';

/** The API that ARM supports: each type has its own versions, and accepts only some values. */

/** The published versions that can detach data disks: https://learn.microsoft.com/rest/api/compute */
export const usualVersions = {
  machines: ['2024-03-01', '2024-07-01', '2024-11-01', '2025-04-01', '2026-04-01'],
  disks: ['2024-03-02', '2025-01-02', '2026-03-02'],
} as const;

/**
 * Of another provider, which has versions of its own. https://learn.microsoft.com/rest/api/authorization/permissions
 */
const PERMISSIONS = '/microsoft.authorization/permissions';
const permissionsVersions: readonly string[] = ['2015-07-01', '2018-07-01', '2022-04-01'];

/** A sovereign cloud supports fewer versions. */
export interface KnownVersions {
  readonly machines: readonly string[];
  readonly disks: readonly string[];
}

/** @param rest the path below the provider, in lower case */
export const checkApiVersion = (known: KnownVersions, rest: string, version: string | null): void => {
  if (version === null)
    throw new ArmRefusal('MissingApiVersionParameter', 'The api-version query parameter is required.');
  if (!/^\d{4}-\d{2}-\d{2}(?:-[a-z]+)?$/.test(version))
    throw new ArmRefusal('InvalidApiVersionParameter', `The api-version '${version}' is invalid.`);
  const [, type = ''] = rest.split('/');
  const versions = rest.endsWith(PERMISSIONS) ? permissionsVersions : type === 'disks' ? known.disks : known.machines;
  if (versions.includes(version)) return;
  throw new ArmRefusal(
    'NoRegisteredProviderFound',
    `No registered resource provider found for API version '${version}' for type '${type}'. The supported ` +
      `api-versions are '${versions.join(', ')}'.`,
  );
};

const valuesOf: Readonly<Record<string, readonly string[]>> = {
  $expand: ['instanceview', 'userdata'],
  hibernate: ['true', 'false'],
  skipshutdown: ['true', 'false'],
};

/** The query string. */
export const checkQuery = (query: URLSearchParams): void => {
  for (const [name, value] of query) {
    const known = valuesOf[name.toLowerCase()];
    if (known && !known.includes(value.toLowerCase()))
      throw new ArmRefusal('InvalidParameter', `The value '${value}' of parameter ${name} is invalid.`);
  }
};

/** The only kind of detach besides the plain one. */
export const isForced = (detachOption: string | undefined): boolean => {
  if (detachOption === undefined) return false;
  if (detachOption === 'ForceDetach') return true;
  throw new ArmRefusal('InvalidParameter', `The value '${detachOption}' of parameter detachOption is invalid.`);
};
