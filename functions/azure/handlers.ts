import { z } from 'zod';
import { subjectOf } from '../../providers/azure/events/kinds.ts';
import { diagnose as diagnoseWith } from '../diagnose.ts';
import { doctor as runDoctor, isFailing } from '../doctor.ts';
import { type FenceForm, fenceOnRequest, fenceRequestFields } from '../fence.ts';
import { handleManualReplay } from '../manual-run.ts';
import { sweep as sweepAll, type SweepResult } from '../sweep.ts';
import { manualHandler, type HttpFunction, invocationContext, type PlatformLogger } from './http.ts';
import { expandMessage, parseManualMessage } from './on-event.ts';
import type { GetDependencies } from './dependencies.ts';

const NAMES_SCALE_SET = 'names a scale set: name one of its machines, or send the scale set to `replay`';
const resourceId = z
  .string()
  .refine((id) => subjectOf(id.replace(/^azure:\/\//i, ''))?.kind !== 'set', NAMES_SCALE_SET);
const fenceOrder = z.strictObject({ resourceId, ...fenceRequestFields });

const form: FenceForm<z.infer<typeof fenceOrder>> = {
  field: 'resourceId',
  schema: fenceOrder,
  example: '{"resourceId": "/subscriptions/…/virtualMachines/…"}',
  messageOf: ({ resourceId }) => [parseManualMessage({ resourceId })],
};

/**
 * Fences one machine that a person names: `{"resourceId": "/subscriptions/…/virtualMachines/…", "dryRun": true}`, or
 * `{"target": "pod/prod/db-0"}`.
 */
export const fence = (getDependencies: GetDependencies): HttpFunction =>
  manualHandler(getDependencies, (asked, { dependencies, limit }) => fenceOnRequest(asked, form, dependencies, limit));

/**
 * Accepts any event, a list of events, or `{"resourceId": "/subscriptions/…", "dryRun": true}`, and processes it as if
 * it had just arrived.
 */
export const replay = (getDependencies: GetDependencies): HttpFunction =>
  manualHandler(getDependencies, async (event, invocation) =>
    handleManualReplay(
      [await expandMessage(parseManualMessage(event), invocation)],
      invocation.dependencies,
      invocation.limit,
    ),
  );

/**
 * Runs the sweep for a timer, which ignores the answer. The log has the findings; tests and manual runs use the return
 * value.
 */
export const sweep =
  (getDependencies: GetDependencies) =>
  async (_timer: unknown, context: PlatformLogger): Promise<SweepResult> => {
    const { dependencies, limit } = await invocationContext(getDependencies, context);
    return sweepAll(async () => dependencies)(null, limit);
  };

export const doctor = (getDependencies: GetDependencies): HttpFunction =>
  manualHandler(
    getDependencies,
    (question, { dependencies, limit }) => runDoctor(async () => dependencies)(question, limit),
    (answer) => (isFailing(answer) ? 500 : 200),
  );

/** Says why pods wait for their volumes: `{"target": "pod/prod/db-0"}`. */
export const diagnose = (getDependencies: GetDependencies): HttpFunction =>
  manualHandler(getDependencies, (asked, { dependencies, limit }) =>
    diagnoseWith(async () => dependencies)(asked, limit),
  );
