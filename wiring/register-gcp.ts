import { randomUUID } from 'node:crypto';
import { incarnationsOf, machineOf } from '../providers/gcp/carriers.ts';
import { diskOf, readingFor } from '../providers/gcp/disks.ts';
import { readHints } from '../providers/gcp/events/read-hints.ts';
import { INSTANCE_PATH } from '../providers/gcp/paths.ts';
import type { RegisteredCloud } from './cloud-kit.ts';
import { readGcpEndpoint } from './environment.ts';

export const gcp: RegisteredCloud = {
  name: 'gcp',
  machineOf,
  incarnationsOf,
  diskOf,
  readingFor,
  readHints,
  owns: (id) => INSTANCE_PATH.test(id),
  access: async () => (await import('./access-gcp.ts')).gcpAccess({ endpoint: readGcpEndpoint() }),
  open: async () => (await import('./open-gcp.ts')).openGcp({ endpoint: readGcpEndpoint(), newRequestId: randomUUID }),
};
