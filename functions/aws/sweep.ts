import { sweep } from '../sweep.ts';
import { wireOnce } from './wire.ts';

export const handler = sweep(wireOnce());
