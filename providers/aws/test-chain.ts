import { TEST_DETAIL_TYPE, TEST_SOURCE, type TestChain } from '../plugin.ts';
import type { PutEvent } from './signed-calls.ts';

/** The chain for test events on AWS, which begins at the event bus. */

/**
 * Returns the chain of test events. Users cannot put events of `aws.ec2` on the bus, so test events have a separate
 * rule. `install` is the prefix of all names.
 */
export const testChainOver = (install: string, put: PutEvent, now: () => number): TestChain => ({
  path: `event bus → rule ${install}-test-event → queue ${install} → on-event`,
  notTried: `the rule ${install}-state-change, because only EC2 can send its events; it has the same target`,
  remedy:
    `look whether the rule ${install}-test-event is enabled, whether the event is in the queue ` +
    `${install}-dead-letters, and whether the trigger of ${install}-on-event is enabled; ` +
    '`serverless deploy` restores all of them',
  next: `aws lambda list-event-source-mappings --function-name ${install}-on-event`,
  send: (event, signal) =>
    put(
      {
        Source: TEST_SOURCE,
        DetailType: TEST_DETAIL_TYPE,
        Resources: [],
        Time: now() / 1_000,
        Detail: JSON.stringify({ ...event, install }),
      },
      signal,
    ),
});
