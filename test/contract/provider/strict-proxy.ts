import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { EC2Client } from '@aws-sdk/client-ec2';
import { XMLBuilder } from 'fast-xml-parser';
import { strictAnswers, type StrictAnswers } from './strict-answers.ts';
import { refusalOf, type Refusal } from './strict-refusals.ts';

/**
 * A proxy in front of moto. It rejects what EC2 rejects and moto accepts, and adds to the answers of moto what EC2
 * would say.
 */
export interface StrictProxy {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** Longer than a test waits between two calls. So no call is sent on a connection that is being closed. */
const IDLE_LASTS_MS = 600_000;

export const openStrictProxy = async (moto: string, region: string): Promise<StrictProxy> => {
  const client = new EC2Client({
    endpoint: moto,
    region,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  const answers = strictAnswers(() => new Date());
  // If moto closes its connection, the client sees the same, and tries again.
  const server = createServer({ keepAliveTimeout: IDLE_LASTS_MS }, (request, response) => {
    pass(moto, client, answers, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the proxy has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      client.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
};

const pass = async (
  moto: string,
  client: EC2Client,
  answers: StrictAnswers,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const body = await text(request);
  const params = new URLSearchParams(body);
  const refusal = await refusalOf(client, params);
  if (refusal) return void response.writeHead(400, { 'content-type': 'text/xml' }).end(refusalXml(refusal));
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    authorization: request.headers.authorization ?? '',
  };
  const answer = await fetch(moto, { method: 'POST', headers, body });
  if (answer.ok) answers.heed(params);
  response.writeHead(answer.status, { 'content-type': 'text/xml' }).end(answers.mended(await answer.text()));
};

const refusalXml = ({ code, message }: Refusal): string =>
  new XMLBuilder().build({
    Response: { Errors: { Error: { Code: code, Message: message } }, RequestID: 'strict-proxy' },
  });
