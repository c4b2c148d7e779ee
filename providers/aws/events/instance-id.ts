import { z } from 'zod';
import { INSTANCE_ID } from '../ids.ts';

export const instanceId = z.string().regex(INSTANCE_ID, 'is no instance id (i- and 8 to 17 lower-case hexadecimal digits)');
