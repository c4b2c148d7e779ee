import { z } from 'zod';
import { Refused } from '../../fencing/model/errors.ts';
import type { Api } from './api.ts';
import { findResource, type Resource } from './ensure.ts';
import { projectNumberOf } from './grants.ts';
import type { Install } from './install.ts';

/**
 * The bucket that stores incidents. Nobody outside the project can read it, it deletes old objects, and it is kept when
 * the install is removed. https://cloud.google.com/storage/docs/json_api/v1/buckets
 */

/** Test events of the doctor are kept there for a day. */
const TEST_EVENTS = 'test-events/';

const deletionRule = (condition: object): object => ({ action: { type: 'Delete' }, condition });

/** Returns the bucket, or nothing if the parameters name another one. */
export const incidentBuckets = ({ names, parameters }: Install): readonly Resource[] => {
  if (parameters.incidentBucket !== null) return [];
  const path = `storage/v1/b/${names.incidentBucket}`;
  const wanted = {
    iamConfiguration: { uniformBucketLevelAccess: { enabled: true }, publicAccessPrevention: 'enforced' },
    lifecycle: {
      rule: [deletionRule({ age: parameters.incidentDays }), deletionRule({ age: 1, matchesPrefix: [TEST_EVENTS] })],
    },
  };
  return [
    {
      what: `bucket ${names.incidentBucket}`,
      host: 'storage',
      path,
      wanted,
      create: {
        method: 'POST',
        path: `storage/v1/b?project=${parameters.project}`,
        body: { name: names.incidentBucket, location: parameters.region, ...wanted },
      },
      change: { method: 'PATCH', path, body: wanted },
    },
  ];
};

const bucketOwner = z.looseObject({ projectNumber: z.string() });

/**
 * Verifies that the bucket does not belong to another project. Bucket names are global, and anyone can guess this one.
 * @throws Refused if it belongs to another project
 */
export const refuseForeignBucket = async (api: Api, install: Install): Promise<void> => {
  for (const { what, host, path } of incidentBuckets(install)) {
    const found = await findResource(api, host, path);
    if (found === null) continue;
    if (bucketOwner.safeParse(found).data?.projectNumber === (await projectNumberOf(api, install))) continue;
    throw new Refused(
      `${what} belongs to another project: name a bucket of your own as \`incidentBucket\` (docs/gcp.md)`,
    );
  }
};
