import { z } from 'zod';
import { readVariable } from '../../config/environment.ts';
import { lazyCredential } from '../../providers/azure/rest.ts';
import { readAzureVariables } from '../../providers/azure/plugin/register.ts';
import {
  type DeployableCloud,
  createPollDelay,
  type RawParameters,
  prepareDeployment,
} from '../serverless/deployer.ts';
import { createArm } from './arm.ts';
import { azureDeployer } from './deployer.ts';
import { functionSettings } from './hosting.ts';
import {
  azureParameters,
  type CheckedInstall,
  checkInstall,
  createInstall,
  appOf,
  type Install,
  noPackages,
  resourceNames,
  type Naming,
} from './install.ts';
import { parseConfiguration } from '../../config/configuration-text.ts';
import { installTemplate } from './deployment.ts';

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
const hostJson = {
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

/**
 * Makes the template of a release: the template that a deployment sends, with parameters in place of a stage's file. It
 * starts from an install whose names are tokens, and turns each text with a token into an ARM expression.
 */

interface Parameter {
  readonly type: 'string';
  readonly metadata: { readonly description: string };
  readonly defaultValue?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
}

const text = (description: string, more: Partial<Parameter> = {}): Parameter => ({
  type: 'string',
  metadata: { description },
  ...more,
});

const parameters: Readonly<Record<string, Parameter>> = {
  stage: text('The names of all resources begin with cloudfence-<stage>. Use lowercase letters, digits, and hyphens', {
    defaultValue: 'prod',
    minLength: 1,
    maxLength: 14,
  }),
  location: text('The location of the functions, such as westeurope'),
  machineResourceGroup: text(
    'The resource group with the machines and disks that Cloudfence may change. For AKS, this is the node ' +
      'resource group, MC_…',
  ),
  aksResourceGroup: text('The resource group of the AKS cluster'),
  aksCluster: text('The name of the AKS cluster'),
  settings: text(
    'The configuration as one line of JSON, such as ' +
      '{"clusters":[{"name":"prod","aks":{"resourceGroup":"prod"}}],"shadow":true}',
  ),
};

const TOKEN = /⟦(\d+)⟧/;
const quoted = (literal: string): string => `'${literal.replaceAll("'", "''")}'`;

const tokens = () => {
  const expressions: string[] = [];
  const token = (expression: string): string => `⟦${expressions.push(expression) - 1}⟧`;
  /** Returns a text with tokens as an expression. */
  const expressionOf = (value: string): string => {
    const parts = value
      .split(TOKEN)
      .flatMap((part, at) => (at % 2 === 1 ? [expressions[Number(part)] ?? ''] : part === '' ? [] : [quoted(part)]));
    return parts.length === 1 ? (parts[0] ?? '') : `concat(${parts.join(', ')})`;
  };
  /**
   * Returns the text as the template writes it. In a text that is already an expression, it replaces only the tokens in
   * quoted parts.
   */
  const written = (value: string): string => {
    if (!TOKEN.test(value)) return value;
    if (value.startsWith('[') && !value.startsWith('[['))
      return value.replaceAll(/'([^']*)'/g, (whole, inner: string) =>
        TOKEN.test(inner) ? expressionOf(inner) : whole,
      );
    return `[${expressionOf(value)}]`;
  };
  return { token, expressionOf, written };
};

type Tokens = ReturnType<typeof tokens>;

const namingBy = ({ token, expressionOf }: Tokens): Naming => ({
  short: (...parts) => token(`take(uniqueString(${parts.map(expressionOf).join(', ')}), 6)`),
  guid: (...parts) => token(`guid(${parts.map(expressionOf).join(', ')})`),
  plain: (prefix) => token(`take(replace(${expressionOf(prefix)}, '-', ''), 18)`),
  lower: (id) => token(`toLower(${expressionOf(id)})`),
});

const CLUSTER = 'placeholder';

/** Returns an install that serves one AKS cluster. Everything else comes from `defaults`. */
const installBy = (tokensOf: Tokens, defaults: RawParameters): Install => {
  const own = (name: string): string => tokensOf.token(`parameters('${name}')`);
  const { clusters: _clusters, policy: _policy, pause: _pause, shadow: _shadow, ...rest } = defaults;
  const checked = azureParameters.parse({
    ...rest,
    subscription: '00000000-0000-4000-8000-000000000000',
    resourceGroups: [CLUSTER],
  });
  const subscription = tokensOf.token('subscription().subscriptionId');
  const configuration = {
    ...parseConfiguration('{}', 'configuration'),
    clusters: [{ name: CLUSTER, aks: { resourceGroup: own('aksResourceGroup'), cluster: own('aksCluster') } }],
  };
  const prefix = `cloudfence-${own('stage')}`;
  const given = { ...checked, subscription, location: own('location'), resourceGroups: [own('machineResourceGroup')] };
  const install = createInstall(prefix, { parameters: given, settings: own('settings'), configuration });
  return { ...install, names: resourceNames({ subscription, prefix }, namingBy(tokensOf)), published: noPackages };
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const parametersPassedOn = Object.fromEntries(
  Object.keys(parameters).map((name) => [name, { value: `[parameters('${name}')]` }]),
);
const parameterTypes = Object.fromEntries(Object.keys(parameters).map((name) => [name, { type: 'string' }]));

/** Passes all parameters to a nested template, because it sees only the parameters that it receives. */
const withParameters = (properties: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  isObject(properties['template'])
    ? {
        ...properties,
        parameters: parametersPassedOn,
        template: { ...properties['template'], parameters: parameterTypes },
      }
    : properties;

const withExpressions = (value: unknown, written: Tokens['written']): unknown => {
  if (Array.isArray(value)) return value.map((one) => withExpressions(one, written));
  if (typeof value === 'string') return written(value);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(withParameters(value)).map(([key, inner]) => [written(key), withExpressions(inner, written)]),
  );
};

export const releasedTemplate = (defaults: RawParameters): object => {
  const tokensOf = tokens();
  const install = installBy(tokensOf, defaults);
  const { resources, ...head } = installTemplate(install);
  const output = (value: string): object => ({ type: 'string', value: tokensOf.written(value) });
  return {
    ...head,
    parameters,
    resources: withExpressions(resources, tokensOf.written),
    outputs: {
      resourceGroup: output(install.names.group),
      app: output(install.names.apps.app.site),
      door: output(install.names.apps.door.site),
    },
  };
};
