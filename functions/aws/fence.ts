import { z } from 'zod';
import {
  type ManualRunResult,
  runFenceRequest,
  fenceRequestFields,
  parseFenceRequest,
  type TimeLimit,
} from '../invocation.ts';
import type { FunctionDependencies } from '../dependencies.ts';
import { messagesIn } from './on-event.ts';
import { fencingHandler } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

const order = z.strictObject({ instanceId: z.string(), ...fenceRequestFields });

/** Fences one machine that a person names: `{"instanceId": "i-…", "dryRun": true}`. */
export const fence =
  (getDependencies: () => Promise<FunctionDependencies>) =>
  async (event: unknown, limit: TimeLimit): Promise<ManualRunResult> => {
    const { instanceId, ...wanted } = parseFenceRequest(event, order, '{"instanceId": "i-…"}');
    return runFenceRequest(messagesIn({ instanceId }), wanted, await getDependencies(), limit);
  };

export const handler = fencingHandler(lazyDependencies(), fence);
