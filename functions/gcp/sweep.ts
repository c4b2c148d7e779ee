import { sweep as sweepAll } from '../sweep.ts';
import { type Answering, httpFunction, isQuestion, turnedAway } from './http.ts';
import { doctor } from './doctor.ts';
import { type GcpWiring, wireOnce } from './wire.ts';

/**
 * For Cloud Scheduler, which takes any 2xx for done. The function doctor asks here as well, because what it asks is to
 * be judged as the account that fences: it is let in for its questions, and for nothing else.
 */
export const sweep =
  (wired: () => Promise<GcpWiring>): Answering =>
  async (request, limit) => {
    const wiring = await wired();
    if (isQuestion(request.body))
      return (await turnedAway(request, { ...wiring, letIn: wiring.letAsk })) ?? doctor(wired)(request, limit);
    return (
      (await turnedAway(request, wiring)) ?? { status: 200, body: await sweepAll(async () => wiring)(null, limit) }
    );
  };

export const handler = httpFunction(sweep(wireOnce()));
