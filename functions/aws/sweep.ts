import { sweep } from '../sweep.ts';
import { fencing } from './lambda.ts';
import { wireOnce } from './wire.ts';

export const handler = fencing(wireOnce(), sweep);
