import { doctor as diagnose } from '../doctor.ts';
import { answering } from './by-hand.ts';
import { httpFunction, type Answering } from './http.ts';
import { wireOnce, type GcpWiring } from './wire.ts';

export const doctor = (wired: () => Promise<GcpWiring>): Answering => answering(wired, (question, wiring) => diagnose(async () => wiring)(question));

export const handler = httpFunction(doctor(wireOnce()));
