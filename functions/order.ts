import { z } from 'zod';
import { InvalidInput } from '../fencing/errors.ts';
import type { Delivery } from './errand.ts';
import { answerByHand, type ByHandAnswer } from './by-hand.ts';
import type { TimeLimit } from './invocation.ts';
import type { Wiring } from './wiring.ts';

/** How a person wants one machine fenced; which one, each cloud says in its own way. */
export const manner = {
  dryRun: z.boolean().default(false),
  /** A person vouches that the machine is off; the configuration has to allow it. */
  assertOff: z.boolean().default(false),
  reason: z.string().min(1).optional(),
};

export interface Manner {
  readonly dryRun: boolean;
  readonly assertOff: boolean;
  readonly reason?: string | undefined;
}

/** @throws InvalidInput: `example` is what should have been sent */
export const readOrder = <T extends Manner>(event: unknown, schema: z.ZodType<T>, example: string): T => {
  const reasoned = schema.refine(({ assertOff, reason }) => !assertOff || reason !== undefined, { path: ['reason'], error: 'say what you checked: assertOff needs a reason' });
  const read = reasoned.safeParse(event);
  if (read.success) return read.data;
  throw new InvalidInput(`the order is not understood: ${z.prettifyError(read.error)}; send ${example}`);
};

export const carryOut = (deliveries: readonly Delivery[], { dryRun, assertOff, reason }: Manner, wiring: Wiring, limit: TimeLimit): Promise<ByHandAnswer> => {
  const policy = { ...wiring.policy, dryRun: wiring.policy.dryRun || dryRun };
  return answerByHand(deliveries, { policy, vouched: assertOff ? (reason ?? null) : null }, wiring, limit);
};
