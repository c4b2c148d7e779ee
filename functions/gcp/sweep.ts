import { sweep as sweepAll } from '../sweep.ts';
import { type Answering, httpFunction, isQuestion, turnedAway } from './http.ts';
import { doctor } from './doctor.ts';
import { type GcpWiring, wireOnce } from './wire.ts';

/**
 * Runs the sweep for Cloud Scheduler, which treats any 2xx as success. The doctor function also sends its questions
 * here, because this function runs as the account that fences. The doctor is authorized for its questions only.
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
