import { app } from '@azure/functions';
import { onEvent as onEventOver } from './on-event.ts';
import { lazyDependencies } from './dependencies.ts';

/**
 * Registers the functions that use the identity with the permissions of a fence. Azure runs all functions of an app in
 * one process. https://learn.microsoft.com/azure/azure-functions/functions-reference-node
 */

const getDependencies = lazyDependencies();

/** Loads a function when it is first called, so that a cold start for one function does not load the others. */
const onFirstCall =
  <Args extends readonly unknown[], Answer>(load: () => Promise<(...args: Args) => Promise<Answer>>) =>
  async (...args: Args): Promise<Answer> =>
    (await load())(...args);

export const onEvent = onEventOver(getDependencies);
export const sweep = onFirstCall(async () => (await import('./handlers.ts')).sweep(getDependencies));
export const replay = onFirstCall(async () => (await import('./handlers.ts')).replay(getDependencies));
export const fence = onFirstCall(async () => (await import('./handlers.ts')).fence(getDependencies));
export const doctor = onFirstCall(async () => (await import('./handlers.ts')).doctor(getDependencies));
export const diagnose = onFirstCall(async () => (await import('./handlers.ts')).diagnose(getDependencies));

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
