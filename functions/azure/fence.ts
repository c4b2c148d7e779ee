import { z } from 'zod';
import { carryOut, manner, readOrder } from '../order.ts';
import { sentByHand } from './batch.ts';
import { expanded } from './expand.ts';
import { byHand, type HttpFunction } from './http.ts';
import type { Wired } from './wiring.ts';

const order = z.strictObject({ resourceId: z.string(), ...manner });

/** Fences one machine that a person names: `{"resourceId": "/subscriptions/…/virtualMachines/…", "dryRun": true}`. */
export const fence = (wired: Wired): HttpFunction =>
  byHand(wired, async (asked, { wiring, limit }) => {
    const { resourceId, ...wanted } = readOrder(asked, order, '{"resourceId": "/subscriptions/…/virtualMachines/…"}');
    const delivery = await expanded(sentByHand({ resourceId }), wiring.expand, limit);
    return carryOut([delivery], wanted, wiring, limit);
  });
