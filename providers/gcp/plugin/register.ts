import { randomUUID } from 'node:crypto';
import { diskOf, immutableIdsOf, INSTANCE_PATH, machineOf, identityRulesFor } from '../identity.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import {
  readUrl,
  type ReadVariable,
  type CloudPlugin,
  type OpenIncidentPlace,
  type OpenTestChain,
} from '../../plugin.ts';

/** Returns the URL of another endpoint. Google's SDK has no variable for it. */
export const readGcpEndpoint = (variable: ReadVariable): string | null => readUrl(variable, 'CLOUDFENCE_GCP_ENDPOINT');

const BUCKET = /^gs:\/\/([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:\/incidents)?\/?$/;

const openBucket =
  (bucket: string): OpenIncidentPlace =>
  async ({ variable }) => {
    const { objectsIn } = await import('../incidents.ts');
    const options = { endpoint: readGcpEndpoint(variable) };
    return { where: `the bucket ${bucket}`, objects: objectsIn(bucket, options) };
  };

const TOPIC = /^projects\/[a-z0-9.:-]+\/topics\/[\w.~+%-]+$/i;

const chainBehind =
  (topic: string): OpenTestChain =>
  async ({ variable }) => {
    const [{ createPublisher }, { chainOf }] = await Promise.all([import('../publish.ts'), import('../test-chain.ts')]);
    return chainOf(topic, createPublisher({ endpoint: readGcpEndpoint(variable) }));
  };

export const gcp: CloudPlugin = {
  name: 'gcp',
  machineOf,
  immutableIdsOf,
  diskOf,
  identityRulesFor,
  readHints,
  driverFaultOf,
  ownsId: (id) => INSTANCE_PATH.test(id),
  incidents: {
    form: 'gs://<bucket>',
    at: (address) => {
      const bucket = BUCKET.exec(address)?.[1];
      return bucket === undefined ? null : openBucket(bucket);
    },
  },
  testChains: {
    form: 'projects/<project>/topics/<service>-<stage>-events',
    at: (entrance) => (TOPIC.test(entrance) ? chainBehind(entrance) : null),
  },
  access: async ({ variable }) => (await import('./access.ts')).gcpAccess({ endpoint: readGcpEndpoint(variable) }),
  open: async ({ variable, onRequestsSent }) =>
    (await import('./open.ts')).openGcp({
      endpoint: readGcpEndpoint(variable),
      newRequestId: randomUUID,
      onRequestsSent,
    }),
  stageWriter: async () => (await import('./stage.ts')).stage,
};
