import { replayByHand } from '../replay.ts';
import { sentByHand } from './batch.ts';
import { expanded } from './expand.ts';
import { byHand, type HttpFunction } from './http.ts';
import type { Wired } from './wiring.ts';

/** Takes any event, a list of them, or `{"resourceId": "/subscriptions/…", "dryRun": true}`, as if it had just arrived. */
export const replay = (wired: Wired): HttpFunction =>
  byHand(wired, async (event, { wiring, limit }) => replayByHand([await expanded(sentByHand(event), wiring.expand, limit)], wiring, limit));
