import { randomUUID } from 'node:crypto';
import { diskOf, incarnationsOf, INSTANCE_PATH, machineOf, readingFor } from '../identity.ts';
import { readHints } from '../events/read-hints.ts';
import type { ReadVariable, CloudPlugin } from '../../plugin.ts';

/** Returns the URL of another endpoint. Google's SDK has no variable of its own for it. */
export const gcpEndpoint = (variable: ReadVariable): string | null => variable('CLOUDFENCE_GCP_ENDPOINT');

export const gcp: CloudPlugin = {
  name: 'gcp',
  machineOf,
  incarnationsOf,
  diskOf,
  readingFor,
  readHints,
  owns: (id) => INSTANCE_PATH.test(id),
  access: async ({ variable }) => (await import('./access.ts')).gcpAccess({ endpoint: gcpEndpoint(variable) }),
  open: async ({ variable }) =>
    (await import('./open.ts')).openGcp({ endpoint: gcpEndpoint(variable), newRequestId: randomUUID }),
};
