import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/**
 * What Lambda does by itself: it repeats requests that failed, and stops functions that invoke themselves. And what a
 * function learns about its install.
 */

const service = readFileSync(new URL('../../../serverless.yml', import.meta.url), 'utf8');
const functions = service.split(/^ {2}(?=[a-z-]+:$)/m);

/** Lambda keeps an asynchronous request for up to six hours, and repeats it if the function fails. */
it.each(['sweep', 'fence'])('the request to `%s` is not repeated later: it is about the present', (name) => {
  const definition = functions.find((text) => text.startsWith(`${name}:\n`));
  expect(definition).toContain('    maximumRetryAttempts: 0\n');
  expect(definition).toContain('    maximumEventAge: 60\n');
});

/** Without its account, a function would serve the events of every account. */
it('each function gets every variable that a function reads, and the account of the install', () => {
  const reader = readFileSync(new URL('../../../functions/aws/dependencies.ts', import.meta.url), 'utf8');
  const read = new Set(reader.match(/(?<=read(?:Variable|List)\(')CLOUDFENCE_\w+/g));
  expect(read.size).toBeGreaterThan(10);
  expect([...read].filter((name) => !service.includes(`    ${name}: `))).toEqual([]);
  expect(service).toContain('    CLOUDFENCE_ACCOUNT: !Ref AWS::AccountId\n');
});

/** https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html */
it('Lambda does not stop on-event, which sends messages about waiting machines to its own queue', () => {
  expect(service).toContain('OnDasheventLambdaFunction: { Properties: { RecursiveLoop: Allow } }');
});
