import { z } from 'zod';
import { carryOut, manner, readOrder } from '../invocation.ts';
import { answering, type Answering, httpFunction } from './http.ts';
import { deliveryIn } from './on-event.ts';
import { type GcpWiring, wireOnce } from './wire.ts';

const order = z.strictObject({ instance: z.string(), ...manner });

/** Fences one machine that a person names: `{"instance": "projects/…/zones/…/instances/…", "dryRun": true}`. */
export const fence = (wired: () => Promise<GcpWiring>): Answering =>
  answering(wired, (asked, wiring, limit) => {
    const { instance, ...wanted } = readOrder(asked, order, '{"instance": "projects/…/zones/…/instances/…"}');
    return carryOut([deliveryIn({ instance }).delivery], wanted, wiring, limit);
  });

export const handler = httpFunction(fence(wireOnce()));
