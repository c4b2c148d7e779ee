import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** What Lambda does by itself: it repeats requests that failed, and stops functions that invoke themselves. */

const service = readFileSync(new URL('../../../serverless.yml', import.meta.url), 'utf8');
const functions = service.split(/^ {2}(?=[a-z-]+:$)/m);

/** Lambda keeps an asynchronous request for up to six hours, and repeats it if the function fails. */
it.each(['sweep', 'fence'])('the request to `%s` is not repeated later: it is about the present', (name) => {
  const definition = functions.find((text) => text.startsWith(`${name}:\n`));
  expect(definition).toContain('    maximumRetryAttempts: 0\n');
  expect(definition).toContain('    maximumEventAge: 60\n');
});

/** https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html */
it('Lambda does not stop on-event, which sends messages about waiting machines to its own queue', () => {
  expect(service).toContain('OnDasheventLambdaFunction: { Properties: { RecursiveLoop: Allow } }');
});
