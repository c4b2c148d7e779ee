import { handleManualReplay } from '../manual-run.ts';
import { manualHandler, type HttpHandler, httpFunction } from './http.ts';
import { parsePushedMessage } from './on-event.ts';
import { type GcpDependencies, lazyDependencies } from './dependencies.ts';

/**
 * Accepts any event, a list of events, or `{"instance": "projects/…", "dryRun": true}`, and processes it as if it had
 * just arrived.
 */
export const replay = (getDependencies: () => Promise<GcpDependencies>): HttpHandler =>
  manualHandler(getDependencies, (event, dependencies, limit) =>
    handleManualReplay([parsePushedMessage(event).message], dependencies, limit),
  );

export const handler = httpFunction(replay(lazyDependencies()));
