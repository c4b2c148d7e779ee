import { diskOf, INSTANCE_ID, machineOf } from '../identity.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import type { CloudPlugin } from '../../plugin.ts';

export const aws: CloudPlugin = {
  name: 'aws',
  machineOf,
  immutableIdsOf: () => [],
  diskOf,
  readHints,
  driverFaultOf,
  ownsId: (id) => INSTANCE_ID.test(id),
  access: async (options) => (await (await import('./open.ts')).openAws(options)).access,
  open: async (options) => (await import('./open.ts')).openAws(options),
};
