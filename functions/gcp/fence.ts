import { z } from 'zod';
import { runFenceRequest, fenceRequestFields, parseFenceRequest } from '../invocation.ts';
import { answering, type Answering, httpFunction } from './http.ts';
import { messageIn } from './on-event.ts';
import { type GcpWiring, wireOnce } from './wire.ts';

const order = z.strictObject({ instance: z.string(), ...fenceRequestFields });

/** Fences one machine that a person names: `{"instance": "projects/…/zones/…/instances/…", "dryRun": true}`. */
export const fence = (wired: () => Promise<GcpWiring>): Answering =>
  answering(wired, (asked, wiring, limit) => {
    const { instance, ...wanted } = parseFenceRequest(asked, order, '{"instance": "projects/…/zones/…/instances/…"}');
    return runFenceRequest([messageIn({ instance }).message], wanted, wiring, limit);
  });

export const handler = httpFunction(fence(wireOnce()));
