import { randomUUID } from 'node:crypto';
import { diskOf, immutableIdsOf, INSTANCE_PATH, machineOf, identityRulesFor } from '../identity.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import { readUrl, type ReadVariable, type CloudPlugin } from '../../plugin.ts';

/** Returns the URL of another endpoint. Google's SDK has no variable of its own for it. */
export const readGcpEndpoint = (variable: ReadVariable): string | null => readUrl(variable, 'CLOUDFENCE_GCP_ENDPOINT');

export const gcp: CloudPlugin = {
  name: 'gcp',
  machineOf,
  immutableIdsOf,
  diskOf,
  identityRulesFor,
  readHints,
  driverFaultOf,
  ownsId: (id) => INSTANCE_PATH.test(id),
  access: async ({ variable }) => (await import('./access.ts')).gcpAccess({ endpoint: readGcpEndpoint(variable) }),
  open: async ({ variable }) =>
    (await import('./open.ts')).openGcp({ endpoint: readGcpEndpoint(variable), newRequestId: randomUUID }),
};
