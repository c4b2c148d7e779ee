import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openStandIn, type Answered, type Request, type StandIn } from '../../providers/stand-in.ts';
import { openService, type PackagedService } from '../packaged-service.ts';
import { plain } from './stage-files.ts';

/** `serverless remove` with a stand-in that answers for the function doctor and rejects every removal. */

interface Answer {
  readonly status: number;
  readonly body: object;
  readonly failed?: boolean;
  /** Answered by something in between, without the error code of Lambda. */
  readonly unsaid?: boolean;
}

let service: PackagedService;
let lambda: StandIn;
let answer: Answer;
let removals = 0;

const respond = ({ url, body }: Request): Answered => {
  if (url.endsWith('/invocations')) {
    const headers = {
      ...(answer.status === 404 && answer.unsaid !== true ? { 'x-amzn-errortype': 'ResourceNotFoundException' } : {}),
      ...(answer.failed ? { 'x-amz-function-error': 'Unhandled' } : {}),
    };
    return { status: answer.status, headers, body: answer.body };
  }
  // Every command first asks for its own identity.
  removals += body.includes('GetCallerIdentity') ? 0 : 1;
  return {
    status: 403,
    headers: { 'content-type': 'text/xml' },
    body: '<ErrorResponse><Error><Code>AccessDenied</Code><Message>here the removal begins</Message></Error></ErrorResponse>',
  };
};

beforeAll(async () => {
  [service, lambda] = await Promise.all([
    openService({ prod: { ...plain, region: 'us-east-1' } }),
    openStandIn(respond),
  ]);
});
afterEach(() => {
  removals = 0;
});
afterAll(() => Promise.all([lambda.close(), service.close()]));

const remove = (...options: readonly string[]) =>
  service.run(['remove', '--stage', 'prod', ...options], {
    AWS_ENDPOINT_URL: lambda.url,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_MAX_ATTEMPTS: '1',
  });

describe('serverless remove', () => {
  it('is refused while there are fences, and says how to release them', async () => {
    answer = { status: 200, body: { fences: [{ cluster: 'prod', node: 'node-7', instance: 'i-1' }] } };
    const { code, said } = await remove();
    expect({ code, said, removals }).toEqual({
      code: 1,
      said: expect.stringMatching(/Node node-7 in prod[\s\S]*cloudfence release --all/),
      removals: 0,
    });
  });

  it('is refused while nobody knows whether there are fences', async () => {
    answer = { status: 200, failed: true, body: { errorMessage: 'no answer from the API server' } };
    const { code, said } = await remove();
    expect({ code, said, removals }).toEqual({
      code: 1,
      said: expect.stringMatching(/no answer from the API server[\s\S]*--force-remove/),
      removals: 0,
    });
  });

  it('is refused if something other than Lambda says that there is no such function', async () => {
    answer = { status: 404, unsaid: true, body: { message: 'no such page' } };
    const { code, said } = await remove();
    expect({ code, said, removals }).toEqual({
      code: 1,
      said: expect.stringMatching(/did not say whether Nodes are fenced[\s\S]*--force-remove/),
      removals: 0,
    });
  });

  it.each([
    ['there is no fence', { status: 200, body: { fences: [] } }, []],
    ['there is no function to ask', { status: 404, body: { Message: 'Function not found' } }, []],
    ['it is forced', { status: 200, body: { fences: [{ cluster: 'prod', node: 'node-7' }] } }, ['--force-remove']],
  ])('continues when %s', async (_, said, options) => {
    answer = said;
    expect((await remove(...options)).said).not.toContain('Cloudfence removed nothing');
    expect(removals).toBeGreaterThan(0);
  });
});
