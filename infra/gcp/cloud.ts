import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { z } from 'zod';
import { readVariable } from '../../config/environment.ts';
import { readGcpEndpoint } from '../../providers/gcp/plugin/register.ts';
import { type DeployableCloud, createPollDelay } from '../serverless/deployer.ts';
import { prepareDeployment } from '../serverless/install-check.ts';
import { createApi } from './api.ts';
import { gcpDeployer } from './deployer.ts';
import { type CheckedInstall, checkInstall, functionEnvironment, createInstall, gcpParameters } from './install.ts';
import { releasedRequests } from './released-requests.ts';

const handler = z.custom<(request: object, response: ServerResponse) => Promise<void>>(
  (value) => typeof value === 'function',
);

/**
 * Replaces the Functions Framework: passes a request with a parsed body, and captures the response before it reaches a
 * socket.
 */
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

const prepareGcp = (prefix: string) => (checked: CheckedInstall) => {
  const install = createInstall(prefix, checked);
  const open = () => {
    const endpoint = readGcpEndpoint(readVariable);
    return gcpDeployer(createApi({ endpoint, wait: createPollDelay(endpoint) }), install);
  };
  return { environmentOf: (name: string) => functionEnvironment(install, name), open };
};

export const deployable: DeployableCloud = {
  parameters: gcpParameters,
  defaults: 'infra/gcp/parameters.yml',
  // The buildpack starts the framework that is listed here:
  // https://cloud.google.com/run/docs/write-functions
  manifest: { type: 'commonjs', main: 'index.js', dependencies: { '@google-cloud/functions-framework': '5.0.5' } },
  released: async (defaults) => ({ file: 'requests.json', content: await releasedRequests(defaults) }),
  prepare: ({ service, stage, written }) =>
    prepareDeployment(checkInstall(stage, written), prepareGcp(`${service}-${stage}`)),
  invokeLocally,
};
