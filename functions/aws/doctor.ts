import { doctor } from '../doctor.ts';
import { wireOnce } from './wire.ts';

export const handler = doctor(wireOnce());
