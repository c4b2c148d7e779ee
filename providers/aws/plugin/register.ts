import { diskOf, INSTANCE_ID, machineOf } from '../identity.ts';
import { readHints } from '../events/read-hints.ts';
import type { RegisteredCloud } from '../../plugin.ts';

export const aws: RegisteredCloud = {
  name: 'aws',
  machineOf,
  incarnationsOf: () => [],
  diskOf,
  readHints,
  owns: (id) => INSTANCE_ID.test(id),
  access: async (options) => (await (await import('./open.ts')).openAws(options)).access,
  open: async (options) => (await import('./open.ts')).openAws(options),
};
