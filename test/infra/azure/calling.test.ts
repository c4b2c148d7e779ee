import { createHttpHeaders, type PipelineRequest } from '@azure/core-rest-pipeline';
import { expect, it } from 'vitest';
import { createArm } from '../../../infra/azure/arm.ts';
import { invokeFunction } from '../../../infra/azure/calling.ts';
import { azureParameters } from '../../../infra/azure/install.ts';
import { installFor } from './packaged-template.ts';
import { plain } from './stage-files.ts';

/** Calls of functions by a person. */

const answers = (request: PipelineRequest): object => {
  if (request.url.includes('/listkeys')) return { default: 'key' };
  return request.url.includes('/api/') ? { outcome: 'fenced' } : { properties: { defaultHostName: 'app.example' } };
};

it('waits for the answer of a function longer than the longest function takes', async () => {
  const sent: PipelineRequest[] = [];
  const arm = createArm({
    credential: { getToken: async () => ({ token: 'token', expiresOnTimestamp: Infinity }) },
    endpoint: null,
    wait: async () => undefined,
    httpClient: {
      sendRequest: async (request) => {
        sent.push(request);
        return { request, status: 200, headers: createHttpHeaders(), bodyAsText: JSON.stringify(answers(request)) };
      },
    },
  });
  const longest = 4 * 60_000;
  const install = installFor('prod', { ...plain, timeout: '4m' });
  expect(azureParameters.shape.timeout.safeParse('5m').success).toBe(false);
  expect(await invokeFunction(arm, install, 'fence', { resourceId: 'any' })).toEqual({ outcome: 'fenced' });
  expect(sent.at(-1)?.timeout).toBeGreaterThan(longest);
});
