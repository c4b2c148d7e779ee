import { diskOf, INSTANCE_ID, machineOf } from '../identity.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import { type CloudPlugin, type OpenIncidentPlace, type OpenTestChain, readUrl } from '../../plugin.ts';
import type { SignedCalls } from '../signed-calls.ts';

const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/incidents)?\/?$/;

/** Signs with the same credentials as all other calls. The functions read the same variable. */
const signingIn = async ({ region: given, variable }: Parameters<OpenIncidentPlace>[0]): Promise<SignedCalls> => {
  const endpoint = readUrl(variable, 'AWS_ENDPOINT_URL');
  const [{ requireRegion }, { ec2Clients }] = await Promise.all([import('./open.ts'), import('../client.ts')]);
  const region = await requireRegion(given);
  return { region, endpoint, credentials: ec2Clients({ region }).reads.config.credentials };
};

const openBucket =
  (bucket: string): OpenIncidentPlace =>
  async (options) => {
    const [signing, { openObjectStore }] = await Promise.all([signingIn(options), import('../incidents.ts')]);
    return { where: `the bucket ${bucket}`, objects: openObjectStore(bucket, signing) };
  };

/** A service and a stage, which `serverless` uses as the name of an install. */
const INSTALL = /^[a-z][a-z0-9-]{1,60}$/i;

const chainBehind =
  (install: string): OpenTestChain =>
  async (options) => {
    const [signing, { putEventOn }, { testChainOver }] = await Promise.all([
      signingIn(options),
      import('../signed-calls.ts'),
      import('../test-chain.ts'),
    ]);
    return testChainOver(install, putEventOn(signing), Date.now);
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
  testChains: {
    form: '<service>-<stage>',
    at: (entrance) => (INSTALL.test(entrance) ? chainBehind(entrance) : null),
  },
  access: async (options) => (await (await import('./open.ts')).openAws(options)).access,
  open: async (options) => (await import('./open.ts')).openAws(options),
  stageWriter: async () => (await import('./stage.ts')).stage,
};
