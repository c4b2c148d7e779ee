import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** Lambda keeps an asynchronous request for up to six hours, and repeats it if the function fails. */

const functions = readFileSync(new URL('../../../serverless.yml', import.meta.url), 'utf8').split(
  /^ {2}(?=[a-z-]+:$)/m,
);

it.each(['sweep', 'fence'])('the request to `%s` is not repeated later: it is about the present', (name) => {
  const definition = functions.find((text) => text.startsWith(`${name}:\n`));
  expect(definition).toContain('    maximumRetryAttempts: 0\n');
  expect(definition).toContain('    maximumEventAge: 60\n');
});
