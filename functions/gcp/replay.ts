import { replayByHand } from '../invocation.ts';
import { answering, type Answering, httpFunction } from './http.ts';
import { messageIn } from './on-event.ts';
import { type GcpWiring, wireOnce } from './wire.ts';

/**
 * Accepts any event, a list of events, or `{"instance": "projects/…", "dryRun": true}`, and processes it as if it had
 * just arrived.
 */
export const replay = (wired: () => Promise<GcpWiring>): Answering =>
  answering(wired, (event, wiring, limit) => replayByHand([messageIn(event).message], wiring, limit));

export const handler = httpFunction(replay(wireOnce()));
