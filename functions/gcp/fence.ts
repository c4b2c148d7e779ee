import { z } from 'zod';
import { runFenceRequest, fenceRequestFields, parseFenceRequest } from '../invocation.ts';
import { manualHandler, type HttpHandler, httpFunction } from './http.ts';
import { parsePushedMessage } from './on-event.ts';
import { type GcpDependencies, lazyDependencies } from './dependencies.ts';

const order = z.strictObject({ instance: z.string(), ...fenceRequestFields });

/** Fences one machine that a person names: `{"instance": "projects/…/zones/…/instances/…", "dryRun": true}`. */
export const fence = (getDependencies: () => Promise<GcpDependencies>): HttpHandler =>
  manualHandler(getDependencies, (asked, dependencies, limit) => {
    const { instance, ...wanted } = parseFenceRequest(asked, order, '{"instance": "projects/…/zones/…/instances/…"}');
    return runFenceRequest([parsePushedMessage({ instance }).message], wanted, dependencies, limit);
  });

export const handler = httpFunction(fence(lazyDependencies()));
