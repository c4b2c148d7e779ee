import { z } from 'zod';
import { InvalidInput } from '../../fencing/errors.ts';
import { deliveriesIn } from './batch.ts';
import { answerByHand, type ByHandAnswer } from './by-hand.ts';
import type { LambdaContext } from './invocation.ts';
import { wireOnce, type Wiring } from './wire.ts';

const order = z
  .strictObject({
    instanceId: z.string(),
    dryRun: z.boolean().default(false),
    /** A person vouches that the machine is off; the configuration has to allow it. */
    assertOff: z.boolean().default(false),
    reason: z.string().min(1).optional(),
  })
  .refine(({ assertOff, reason }) => !assertOff || reason !== undefined, { path: ['reason'], error: 'say what you checked: assertOff needs a reason' });

/** Fences one machine that a person names: `{"instanceId": "i-…", "dryRun": true}`. */
export const fence =
  (wired: () => Promise<Wiring>) =>
  async (event: unknown, context: LambdaContext): Promise<ByHandAnswer> => {
    const read = order.safeParse(event);
    if (!read.success) throw new InvalidInput(`the order is not understood: ${z.prettifyError(read.error)}; send {"instanceId": "i-…"}`);
    const { instanceId, dryRun, assertOff, reason = null } = read.data;
    const wiring = await wired();
    const policy = { ...wiring.policy, dryRun: wiring.policy.dryRun || dryRun };
    return answerByHand(deliveriesIn({ instanceId }), { policy, vouched: assertOff ? reason : null }, wiring, context);
  };

export const handler = fence(wireOnce());
