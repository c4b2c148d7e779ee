import { app } from '@azure/functions';
import {
  diagnose as diagnoseOver,
  doctor as doctorOver,
  fence as fenceOver,
  replay as replayOver,
  sweep as sweepOver,
} from './handlers.ts';
import { onEvent as onEventOver } from './on-event.ts';
import { lazyDependencies } from './dependencies.ts';

/**
 * Registers the functions that run under the identity that fences. Azure runs all functions of an app in one process.
 * https://learn.microsoft.com/azure/azure-functions/functions-reference-node
 */

const getDependencies = lazyDependencies();

export const onEvent = onEventOver(getDependencies);
export const sweep = sweepOver(getDependencies);
export const replay = replayOver(getDependencies);
export const fence = fenceOver(getDependencies);
export const doctor = doctorOver(getDependencies);
export const diagnose = diagnoseOver(getDependencies);

/** Azure replaces a name between percent signs with the app setting of that name. */
app.serviceBusQueue('on-event', {
  connection: 'CLOUDFENCE_BUS',
  queueName: '%CLOUDFENCE_EVENTS_QUEUE%',
  cardinality: 'many',
  handler: onEvent,
});
app.timer('sweep', {
  schedule: '%CLOUDFENCE_SWEEP%',
  handler: async (timer, context) => {
    await sweep(timer, context);
  },
});
app.http('replay', { methods: ['POST'], authLevel: 'function', handler: replay });
app.http('fence', { methods: ['POST'], authLevel: 'function', handler: fence });
app.http('doctor', { methods: ['POST'], authLevel: 'function', handler: doctor });
app.http('diagnose', { methods: ['POST'], authLevel: 'function', handler: diagnose });
