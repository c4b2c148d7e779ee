import { z } from 'zod';
import { type ByHandAnswer, carryOut, manner, readOrder, type TimeLimit } from '../invocation.ts';
import type { Wiring } from '../wiring.ts';
import { deliveriesIn } from './on-event.ts';
import { fencing } from './lambda.ts';
import { wireOnce } from './wire.ts';

const order = z.strictObject({ instanceId: z.string(), ...manner });

/** Fences one machine that a person names: `{"instanceId": "i-…", "dryRun": true}`. */
export const fence =
  (wired: () => Promise<Wiring>) =>
  async (event: unknown, limit: TimeLimit): Promise<ByHandAnswer> => {
    const { instanceId, ...wanted } = readOrder(event, order, '{"instanceId": "i-…"}');
    return carryOut(deliveriesIn({ instanceId }), wanted, await wired(), limit);
  };

export const handler = fencing(wireOnce(), fence);
