import { diskOf, INSTANCE_ID, machineOf } from '../identity.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import { type CloudPlugin, type OpenIncidentPlace, readUrl } from '../../plugin.ts';

const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/incidents)?\/?$/;

/** Opens a bucket with the credentials of all other calls. The functions read the same variable. */
const openBucket =
  (bucket: string): OpenIncidentPlace =>
  async ({ region: given, variable }) => {
    const endpoint = readUrl(variable, 'AWS_ENDPOINT_URL');
    const [{ requireRegion }, { ec2Clients }, { objectsIn }] = await Promise.all([
      import('./open.ts'),
      import('../client.ts'),
      import('../incidents.ts'),
    ]);
    const region = await requireRegion(given);
    const signing = { region, endpoint, credentials: ec2Clients({ region }).reads.config.credentials };
    return { where: `the bucket ${bucket}`, objects: objectsIn(bucket, signing) };
  };

export const aws: CloudPlugin = {
  name: 'aws',
  machineOf,
  immutableIdsOf: () => [],
  diskOf,
  readHints,
  driverFaultOf,
  ownsId: (id) => INSTANCE_ID.test(id),
  incidents: {
    form: 's3://<bucket>',
    at: (address) => {
      const bucket = BUCKET.exec(address)?.[1];
      return bucket === undefined ? null : openBucket(bucket);
    },
  },
  access: async (options) => (await (await import('./open.ts')).openAws(options)).access,
  open: async (options) => (await import('./open.ts')).openAws(options),
  stageWriter: async () => (await import('./stage.ts')).stage,
};
