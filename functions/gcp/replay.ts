import { replayByHand } from '../invocation.ts';
import { answering, type Answering, httpFunction } from './http.ts';
import { messageIn } from './on-event.ts';
import { type GcpWiring, wireOnce } from './wire.ts';

/** Takes any event, a list of them, or `{"instance": "projects/…", "dryRun": true}`, as if it had just arrived. */
export const replay = (wired: () => Promise<GcpWiring>): Answering =>
  answering(wired, (event, wiring, limit) => replayByHand([messageIn(event).message], wiring, limit));

export const handler = httpFunction(replay(wireOnce()));
