import { z } from 'zod';
import { subjectOf } from '../../providers/azure/events/kinds.ts';
import { doctor as diagnose, isFailing } from '../doctor.ts';
import { runFenceRequest, fenceRequestFields, parseFenceRequest, replayByHand } from '../invocation.ts';
import { sweep as sweepAll, type SweepAnswer } from '../sweep.ts';
import { byHand, type HttpFunction, invoked, type Logging } from './http.ts';
import { expanded, sentByHand } from './on-event.ts';
import type { Wired } from './wire.ts';

const ONE = 'names a scale set: name one of its machines, or send the scale set to `replay`';
const resourceId = z.string().refine((id) => subjectOf(id.replace(/^azure:\/\//i, ''))?.kind !== 'set', ONE);
const order = z.strictObject({ resourceId, ...fenceRequestFields });

/** Fences one machine that a person names: `{"resourceId": "/subscriptions/…/virtualMachines/…", "dryRun": true}`. */
export const fence = (wired: Wired): HttpFunction =>
  byHand(wired, (asked, { wiring, limit }) => {
    const { resourceId, ...wanted } = parseFenceRequest(
      asked,
      order,
      '{"resourceId": "/subscriptions/…/virtualMachines/…"}',
    );
    return runFenceRequest([sentByHand({ resourceId })], wanted, wiring, limit);
  });

/**
 * Accepts any event, a list of events, or `{"resourceId": "/subscriptions/…", "dryRun": true}`, and processes it as if
 * it had just arrived.
 */
export const replay = (wired: Wired): HttpFunction =>
  byHand(wired, async (event, { wiring, limit }) =>
    replayByHand([await expanded(sentByHand(event), wiring.expand, limit)], wiring, limit),
  );

/**
 * Runs the sweep for a timer, which ignores the answer. The log has the findings; tests and manual runs use the return
 * value.
 */
export const sweep =
  (wired: Wired) =>
  async (_timer: unknown, context: Logging): Promise<SweepAnswer> => {
    const { wiring, limit } = await invoked(wired, context);
    return sweepAll(async () => wiring)(null, limit);
  };

export const doctor = (wired: Wired): HttpFunction =>
  byHand(
    wired,
    (question, { wiring }) => diagnose(async () => wiring)(question),
    (answer) => (isFailing(answer) ? 500 : 200),
  );
