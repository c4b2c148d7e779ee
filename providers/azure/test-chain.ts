import type { TestChain } from '../plugin.ts';

/** The chain for test events on Azure, which begins in the queue behind Event Grid. */

/**
 * Returns the chain behind a queue. Only Azure can put events on a system topic, so a test event begins in the queue to
 * which Event Grid delivers.
 */
export const testChainOf = (send: (text: string) => Promise<void>): TestChain => ({
  path: 'queue events → on-event',
  notTried: 'the delivery from Event Grid to the queue, because only Azure can send events of a system topic',
  remedy:
    'look at the log of on-event, whether the event is in the queue dead-letters, and whether the app runs; `serverless deploy` restores all of them',
  next: 'npx serverless logs -c serverless.azure.yml --stage <stage> -f on-event',
  send: (event) => send(JSON.stringify(event)),
});
