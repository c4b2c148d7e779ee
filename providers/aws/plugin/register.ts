import { diskOf, INSTANCE_ID, machineOf } from '../identity.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import {
  type CloudPlugin,
  type OpenIncidentPlace,
  type OpenTestChain,
  readUrl,
  TEST_DETAIL_TYPE,
  TEST_SOURCE,
  type TestChain,
} from '../../plugin.ts';
import type { SignedCalls, PutEvent } from '../signed-calls.ts';

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
    const [signing, { objectsIn }] = await Promise.all([signingIn(options), import('../incidents.ts')]);
    return { where: `the bucket ${bucket}`, objects: objectsIn(bucket, signing) };
  };

/** A service and a stage, which `serverless` uses as the name of an install. */
const INSTALL = /^[a-z][a-z0-9-]{1,60}$/i;

const chainBehind =
  (install: string): OpenTestChain =>
  async (options) => {
    const [signing, { putEventOn }] = await Promise.all([signingIn(options), import('../signed-calls.ts')]);
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

/** The chain for test events on AWS, which begins at the event bus. */

/**
 * Returns the chain of test events. Users cannot put events of `aws.ec2` on the bus, so test events have a separate
 * rule. `install` is the prefix of all names.
 */
export const testChainOver = (install: string, put: PutEvent, now: () => number): TestChain => ({
  path: `event bus → rule ${install}-test-event → queue ${install} → on-event`,
  notTried: `the rule ${install}-state-change, because only EC2 can send its events; it has the same target`,
  remedy:
    `look whether the rule ${install}-test-event is enabled, whether the event is in the queue ` +
    `${install}-dead-letters, and whether the trigger of ${install}-on-event is enabled; \`serverless deploy\` ` +
    'restores all of them',
  next: `aws lambda list-event-source-mappings --function-name ${install}-on-event`,
  send: (event, signal) =>
    put(
      {
        Source: TEST_SOURCE,
        DetailType: TEST_DETAIL_TYPE,
        Resources: [],
        Time: now() / 1_000,
        Detail: JSON.stringify({ ...event, install }),
      },
      signal,
    ),
});
