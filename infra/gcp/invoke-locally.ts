import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { z } from 'zod';

const handler = z.custom<(request: object, response: ServerResponse) => Promise<void>>((value) => typeof value === 'function');

/** Stands for the Functions Framework: a request whose body is parsed, and a response that is caught before the wire. */
export const invokeLocally = async (exported: unknown, body: unknown): Promise<unknown> => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const said = Promise.withResolvers<string>();
  response.end = (text?: unknown) => {
    said.resolve(typeof text === 'string' ? text : '');
    return response;
  };
  await handler.parse(exported)({ headers: {}, body }, response);
  const text = await said.promise;
  return { status: response.statusCode, ...(text !== '' && { body: JSON.parse(text) as unknown }) };
};
