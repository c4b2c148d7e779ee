import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Denied, Refused, Unavailable } from '../../../fencing/errors.ts';
import { publisher } from '../../../providers/gcp/publish.ts';

interface Arrived {
  readonly call: string;
  readonly authorization: string | null;
  readonly body: unknown;
}

const TOPIC = 'projects/p/topics/t';

describe('publishing', () => {
  const arrived: Arrived[] = [];
  let server: Server;
  let endpoint = '';
  let status = 200;
  beforeAll(async () => {
    const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      arrived.push({ call: `${request.method} ${request.url}`, authorization: request.headers.authorization ?? null, body: JSON.parse(await text(request)) });
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    };
    server = createServer((request, response) => void take(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  it('sends a text as it is, with its attributes, and no credentials in the clear', async () => {
    await publisher({ endpoint })(TOPIC, { text: '{"größe": 1}', attributes: { reason: 'not JSON' } });
    expect(arrived).toEqual([{ call: 'POST /v1/projects/p/topics/t:publish', authorization: null, body: { messages: [{ data: Buffer.from('{"größe": 1}').toString('base64'), attributes: { reason: 'not JSON' } }] } }]);
  });

  it.each([[401, Denied], [403, Denied], [400, Refused], [404, Refused], [429, Unavailable], [503, Unavailable]])('is told by the status what went wrong (%i)', async (answered, expected) => {
    status = answered;
    await expect(publisher({ endpoint })(TOPIC, { text: '', attributes: {} })).rejects.toBeInstanceOf(expected);
    status = 200;
  });

  it('is unavailable where nobody answers', async () => {
    await expect(publisher({ endpoint: 'http://127.0.0.1:1' })(TOPIC, { text: '', attributes: {} })).rejects.toBeInstanceOf(Unavailable);
  });
});
