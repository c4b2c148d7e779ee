import { z } from 'zod';
import { type FenceForm, fenceOnRequest, fenceRequestFields } from '../fence.ts';
import { manualHandler, type HttpHandler, httpFunction } from './http.ts';
import { parsePushedMessage } from './on-event.ts';
import { type GcpDependencies, lazyDependencies } from './dependencies.ts';

const fenceOrder = z.strictObject({ instance: z.string(), ...fenceRequestFields });

const form: FenceForm<z.infer<typeof fenceOrder>> = {
  field: 'instance',
  schema: fenceOrder,
  example: '{"instance": "projects/…/zones/…/instances/…"}',
  messageOf: ({ instance }) => [parsePushedMessage({ instance }).message],
};

/**
 * Fences one machine that a person names: `{"instance": "projects/…/zones/…/instances/…", "dryRun": true}`, or
 * `{"target": "pod/prod/db-0"}`.
 */
export const fence = (getDependencies: () => Promise<GcpDependencies>): HttpHandler =>
  manualHandler(getDependencies, (asked, dependencies, limit) => fenceOnRequest(asked, form, dependencies, limit));

export const handler = httpFunction(fence(lazyDependencies()));
