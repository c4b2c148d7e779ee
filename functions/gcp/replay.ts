import { replayByHand } from '../replay.ts';
import { answering } from './by-hand.ts';
import { httpFunction, type Answering } from './http.ts';
import { deliveryIn } from './push.ts';
import { wireOnce, type GcpWiring } from './wire.ts';

/** Takes any event, a list of them, or `{"instance": "projects/…", "dryRun": true}`, as if it had just arrived. */
export const replay = (wired: () => Promise<GcpWiring>): Answering =>
  answering(wired, (event, wiring, limit) => replayByHand([deliveryIn(event).delivery], wiring, limit));

export const handler = httpFunction(replay(wireOnce()));
