import { leadingErrands } from '../errand.ts';
import { runErrands } from '../errands.ts';
import { settle } from '../settle.ts';
import { turnedAway } from './door.ts';
import { httpFunction, type Answering } from './http.ts';
import { deliveryIn } from './push.ts';
import { wireOnce, type GcpWiring } from './wire.ts';

/** Pub/Sub and Eventarc take any 2xx for an acknowledgement, and bring everything else again. */
const DONE = { status: 204 };
const TOO_EARLY = { status: 429 };
const AGAIN = { status: 503 };

/**
 * Takes what Pub/Sub pushes: a log entry by the sink, or a message of our own that waited; and CloudEvents of Eventarc. It
 * is acknowledged with a stated end, published again with a time before which nobody need look, or published as a dead
 * letter with its reason; only what failed is given back.
 */
export const onEvent =
  (wired: () => Promise<GcpWiring>): Answering =>
  async (request, limit) => {
    const wiring = await wired();
    const refusal = await turnedAway(request, wiring);
    if (refusal) return refusal;
    const { delivery, notBefore } = deliveryIn(request.body);
    if (notBefore !== null && wiring.ports.clock.now().wall < notBefore) return TOO_EARLY;
    const outcomes = await runErrands(delivery.errands, { policy: wiring.policy, queued: true, vouched: null }, wiring, limit);
    return (await settle(delivery, outcomes, leadingErrands(delivery.errands, wiring.policy), wiring)) ? DONE : AGAIN;
  };

export const handler = httpFunction(onEvent(wireOnce()));
