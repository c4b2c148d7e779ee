import { machineOf } from '../providers/aws/carriers.ts';
import { diskOf } from '../providers/aws/disks.ts';
import { readHints } from '../providers/aws/events/read-hints.ts';
import { INSTANCE_ID } from '../providers/aws/ids.ts';
import type { RegisteredCloud } from './cloud-kit.ts';

export const aws: RegisteredCloud = {
  name: 'aws',
  machineOf,
  incarnationsOf: () => [],
  diskOf,
  readHints,
  owns: (id) => INSTANCE_ID.test(id),
  access: async (options) => (await (await import('./open-aws.ts')).openAws(options)).access,
  open: async (options) => (await import('./open-aws.ts')).openAws(options),
};
