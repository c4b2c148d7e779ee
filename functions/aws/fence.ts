import { z } from 'zod';
import type { NamingDependencies } from '../dependencies.ts';
import { type FenceForm, fenceOnRequest, fenceRequestFields } from '../fence.ts';
import type { TimeLimit } from '../invocation.ts';
import type { ManualRunResult } from '../manual-run.ts';
import { messagesIn } from './on-event.ts';
import { handlerWithDoctor } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

const fenceOrder = z.strictObject({ instanceId: z.string(), ...fenceRequestFields });

const form: FenceForm<z.infer<typeof fenceOrder>> = {
  field: 'instanceId',
  schema: fenceOrder,
  example: '{"instanceId": "i-…"}',
  messageOf: ({ instanceId }) => messagesIn({ instanceId }),
};

/**
 * Fences one machine that a person names: `{"instanceId": "i-…", "dryRun": true}`, or `{"target": "pod/prod/db-0"}`.
 */
export const fence =
  (getDependencies: () => Promise<NamingDependencies>) =>
  async (event: unknown, limit: TimeLimit): Promise<ManualRunResult> =>
    fenceOnRequest(event, form, await getDependencies(), limit);

export const handler = handlerWithDoctor(lazyDependencies(), fence);
