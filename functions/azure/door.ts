import { app } from '@azure/functions';
import { webhook as webhookOver } from './webhook.ts';
import { wireOnce } from './wire.ts';

/**
 * What is open to the outside is an app of its own, whose identity may put a message into the queue of events and
 * nothing else.
 */

export const webhook = webhookOver(wireOnce());

app.http('webhook', { methods: ['POST', 'OPTIONS'], authLevel: 'function', handler: webhook });
