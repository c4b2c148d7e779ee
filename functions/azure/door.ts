import { app } from '@azure/functions';
import { webhook as webhookOver } from './webhook.ts';
import { lazyDependencies } from './dependencies.ts';

/**
 * Registers the endpoint that is open to the internet. It is a separate app, whose identity can only send messages to
 * the events queue.
 */

export const webhook = webhookOver(lazyDependencies());

app.http('webhook', { methods: ['POST', 'OPTIONS'], authLevel: 'function', handler: webhook });
