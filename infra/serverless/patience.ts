import { setTimeout as delay } from 'node:timers/promises';

/** How long (ms) to wait between two looks at a deployment. A stand-in on this machine does not take minutes. */
export const patienceAt = (endpoint: string | null) => (ms: number) => delay(endpoint === null ? ms : 5);
