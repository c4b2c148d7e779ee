import { z } from 'zod';
import {
  type ByHandAnswer,
  runFenceRequest,
  fenceRequestFields,
  parseFenceRequest,
  type TimeLimit,
} from '../invocation.ts';
import type { Wiring } from '../wiring.ts';
import { messagesIn } from './on-event.ts';
import { fencing } from './lambda.ts';
import { wireOnce } from './wire.ts';

const order = z.strictObject({ instanceId: z.string(), ...fenceRequestFields });

/** Fences one machine that a person names: `{"instanceId": "i-…", "dryRun": true}`. */
export const fence =
  (wired: () => Promise<Wiring>) =>
  async (event: unknown, limit: TimeLimit): Promise<ByHandAnswer> => {
    const { instanceId, ...wanted } = parseFenceRequest(event, order, '{"instanceId": "i-…"}');
    return runFenceRequest(messagesIn({ instanceId }), wanted, await wired(), limit);
  };

export const handler = fencing(wireOnce(), fence);
