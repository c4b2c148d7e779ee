import { z } from 'zod';
import { readVariable } from '../../config/environment.ts';
import { lazyCredential } from '../../providers/azure/rest.ts';
import { readAzureVariables } from '../../providers/azure/plugin/register.ts';
import { type DeployableCloud, createPollDelay } from '../serverless/deployer.ts';
import { prepareDeployment } from '../serverless/install-check.ts';
import { createArm } from './arm.ts';
import { azureDeployer } from './deployer.ts';
import { functionSettings } from './hosting.ts';
import { azureParameters, type CheckedInstall, checkInstall, createInstall, appOf } from './install.ts';
import { releasedTemplate } from './released-template.ts';

const handler = z.custom<(request: object, context: object) => Promise<unknown>>(
  (value) => typeof value === 'function',
);
const functionAnswer = z.object({ status: z.int(), body: z.string() });

const context = { log: console.error, warn: console.error, error: console.error };

/**
 * Replaces the Functions host: calls the handler with a request that has the payload as its body. Log lines go to
 * standard error.
 */
export const invokeLocally = async (exported: unknown, payload: unknown): Promise<unknown> => {
  const text = JSON.stringify(payload);
  const request = { method: 'POST', headers: [['content-type', 'application/json']], text: async () => text };
  const said = functionAnswer.safeParse(await handler.parse(exported)(request, context));
  if (!said.success) return null;
  const { status, body } = said.data;
  return { status, ...(body !== '' && { body: JSON.parse(body) as unknown }) };
};

/**
 * The content of host.json, with which the Functions host starts.
 * https://learn.microsoft.com/azure/azure-functions/functions-host-json
 */
export const hostJson = {
  version: '2.0',
  extensionBundle: { id: 'Microsoft.Azure.Functions.ExtensionBundle', version: '[4.*, 5.0.0)' },
  // CLOUDFENCE_TIMEOUT_SECONDS ends each invocation well before this limit.
  functionTimeout: '00:05:00',
  extensions: {
    serviceBus: { maxMessageBatchSize: 10, maxConcurrentCalls: 1, maxAutoLockRenewalDuration: '00:05:00' },
    http: { routePrefix: 'api' },
  },
  logging: {
    logLevel: { default: 'Warning', 'Host.Results': 'Information', Function: 'Information' },
    // No sampling, because each line is a decision.
    applicationInsights: { samplingSettings: { isEnabled: false } },
  },
};

const prepareAzure = (prefix: string) => (checked: CheckedInstall) => {
  const install = createInstall(prefix, checked);
  const open = () => {
    const { endpoint } = readAzureVariables(readVariable);
    return azureDeployer(
      createArm({ credential: lazyCredential(), endpoint, wait: createPollDelay(endpoint) }),
      install,
      endpoint,
    );
  };
  return { environmentOf: (name: string) => functionSettings(install, appOf(name) ?? 'app'), open };
};

export const deployable: DeployableCloud = {
  parameters: azureParameters,
  defaults: 'infra/azure/parameters.yml',
  // The worker loads the file in `main`:
  // https://learn.microsoft.com/azure/azure-functions/functions-reference-node
  manifest: { type: 'commonjs', main: 'index.js' },
  files: { 'host.json': `${JSON.stringify(hostJson)}\n` },
  released: async (defaults) => ({ file: 'template.json', content: releasedTemplate(defaults) }),
  prepare: ({ service, stage, written }) =>
    prepareDeployment(checkInstall(stage, written), prepareAzure(`${service}-${stage}`)),
  invokeLocally,
};
