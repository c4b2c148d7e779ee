import { sweep as sweepAll } from '../sweep.ts';
import { turnedAway } from './door.ts';
import { httpFunction, type Answering } from './http.ts';
import { wireOnce, type GcpWiring } from './wire.ts';

/** For Cloud Scheduler, which takes any 2xx for done. */
export const sweep =
  (wired: () => Promise<GcpWiring>): Answering =>
  async (request, limit) => {
    const wiring = await wired();
    return (await turnedAway(request, wiring)) ?? { status: 200, body: await sweepAll(async () => wiring)(null, limit) };
  };

export const handler = httpFunction(sweep(wireOnce()));
