import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openService, type PackagedService } from '../packaged-service.ts';
import { plain } from './stage-files.ts';

/** `serverless remove` before a stand-in that answers for the function doctor and refuses whatever would remove something. */

interface Answer {
  readonly status: number;
  readonly body: object;
  readonly failed?: boolean;
}

let service: PackagedService;
let server: Server;
let endpoint = '';
let answer: Answer;
let removals = 0;

const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const asked = await text(request);
  if (request.url?.endsWith('/invocations')) {
    const headers = { ...(answer.status === 404 ? { 'x-amzn-errortype': 'ResourceNotFoundException' } : {}), ...(answer.failed ? { 'x-amz-function-error': 'Unhandled' } : {}) };
    response.writeHead(answer.status, headers).end(JSON.stringify(answer.body));
    return;
  }
  // Who am I? is asked by every command.
  removals += asked.includes('GetCallerIdentity') ? 0 : 1;
  response.writeHead(403, { 'content-type': 'text/xml' }).end('<ErrorResponse><Error><Code>AccessDenied</Code><Message>here the removal begins</Message></Error></ErrorResponse>');
};

beforeAll(async () => {
  service = await openService({ prod: plain });
  server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});
afterEach(() => {
  removals = 0;
});
afterAll(async () => {
  server.close();
  await service.close();
});

const remove = (...options: readonly string[]) => service.run(['remove', '--stage', 'prod', ...options], { AWS_ENDPOINT_URL: endpoint, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_MAX_ATTEMPTS: '1' });

describe('serverless remove', () => {
  it('is refused while fences stand, and says how to take them back', async () => {
    answer = { status: 200, body: { fences: [{ cluster: 'prod', node: 'node-7', instance: 'i-1' }] } };
    const { code, said } = await remove();
    expect({ code, said, removals }).toEqual({ code: 1, said: expect.stringMatching(/Node node-7 of prod[\s\S]*cloudfence release --all/), removals: 0 });
  });

  it('is refused while nobody can say whether fences stand', async () => {
    answer = { status: 200, failed: true, body: { errorMessage: 'no answer from the API server' } };
    const { code, said } = await remove();
    expect({ code, said, removals }).toEqual({ code: 1, said: expect.stringMatching(/no answer from the API server[\s\S]*--force-remove/), removals: 0 });
  });

  it.each([
    ['no fence stands', { status: 200, body: { fences: [] } }, []],
    ['there is no function left to ask', { status: 404, body: { Message: 'Function not found' } }, []],
    ['it is forced', { status: 200, body: { fences: [{ cluster: 'prod', node: 'node-7' }] } }, ['--force-remove']],
  ])('goes on when %s', async (_, said, options) => {
    answer = said;
    expect((await remove(...options)).said).not.toContain('nothing was removed');
    expect(removals).toBeGreaterThan(0);
  });
});
